// Tables of one operator that other versions and other engines measured on the same system, and
// what the rules of quarantine.h and doubts.h share: how families and rows are named and compared.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "store/answers/work_rows.h"

namespace assay::store {

// Another table of the same kind and the same system.
struct SiblingTable {
  std::string name;  // for users: "vllm 0.19.0"
  const WorkRows* rows = nullptr;
};

// Rows that a rule has something against.
struct Quarantined {
  std::size_t family = 0;
  std::size_t begin = 0;  // its rows, [begin, end), by their number in the table
  std::size_t end = 0;
  std::string reason;    // for users, with figures
  std::string fallback;  // the sibling that has these rows and is sound; "": none
};

Quarantined whole_family(const WorkRows& rows,
                         std::size_t family,
                         std::string reason,
                         std::string fallback);

// The families of a table that compute what a family of another does, by whomever and with whatever
// kernel.
std::vector<std::size_t> alike(const WorkRows& rows, std::size_t family, const WorkRows& others);

// The name of the first sibling with a family of the same work that is sound; "": none.
std::string sound_sibling(
    const WorkRows& rows,
    std::size_t family,
    std::span<const SiblingTable> siblings,
    const std::function<bool(const WorkRows& others, std::size_t other)>& is_sound);

// "m=1 n=128 k=128"
std::string row_text(const WorkRows& rows, std::size_t row);

// The data types of a family: "fp8_block".
std::string work_text(const WorkRows& rows, std::size_t family);

// Rows of a family: all, or `most` of them by the golden ratio, which meets no period of the rows
// (every step would meet the same sizes of some curves).
std::vector<std::size_t> sample_of(const WorkRows& rows, std::size_t family, std::size_t most);

}  // namespace assay::store
