// A table in columns: what CSV and Parquet files hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/perf.h"
#include "model/string_pool.h"

namespace assay::store {

// Each text once; rows hold its number. There may be words that no row has.
struct TextColumn {
  std::vector<std::uint32_t> codes;
  std::vector<std::string> words;
};

// Of a TextColumn whose codes are ids of the pool.
std::vector<std::string> words_of(const model::StringPool& pool);

struct FrameColumn {
  std::string name;
  std::variant<std::vector<std::int64_t>, std::vector<double>, TextColumn> values;
  std::vector<bool> missing = {};  // by row; empty: none is

  [[nodiscard]] std::size_t size() const;

  [[nodiscard]] bool is_missing(std::size_t row) const { return !missing.empty() && missing[row]; }

  // Of a row that is not missing.
  [[nodiscard]] model::PerfValue value(std::size_t row) const;
};

struct Frame {
  std::vector<FrameColumn> columns;  // all of one length

  [[nodiscard]] std::size_t num_rows() const {
    return columns.empty() ? 0 : columns.front().size();
  }

  // Null: there is none.
  [[nodiscard]] const FrameColumn* find(std::string_view name) const;
};

}  // namespace assay::store
