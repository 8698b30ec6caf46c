// Where prices of operators come from, as callers offer it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/serving/uses.h"
#include "store/answers/work_index.h"

namespace assay::plan {

// How near a price is to what the engine runs; the nearest first.
enum class Fidelity : std::uint8_t {
  kEngine,        // the engine's own tables, of the version that is asked for or one it reuses
  kOtherVersion,  // the engine's own tables of another version
  kKernels,       // assay's own measurements of the best kernels: what the hardware allows
  kOtherEngine,   // another engine's tables
  kFormula,       // bytes over bandwidth, for operators that no table has
};

std::string_view name_of(Fidelity fidelity);

struct TableSource {
  const store::WorkIndex* index = nullptr;
  std::string name;  // "trtllm 1.3.0rc20"
  Fidelity fidelity = Fidelity::kEngine;
};

class Tables {
 public:
  virtual ~Tables() = default;

  // The rows that may answer for a table, in the order in which they are asked; empty if there are
  // none. They stay as long as this. Error: a file does not read.
  [[nodiscard]] virtual core::Result<std::vector<TableSource>> sources(
      const std::string& table) = 0;

  // The work that rows of this use hold beside it, to be taken off; std::nullopt: none.
  [[nodiscard]] virtual std::optional<serving::OperatorUse> held_beside(
      const serving::OperatorUse& use) const {
    static_cast<void>(use);
    return std::nullopt;
  }

  // The time in ms that memory takes for rows of the table; null where there is no formula.
  [[nodiscard]] virtual store::RooflineBinder formula(const std::string& table) = 0;

 protected:
  Tables() = default;
  Tables(const Tables&) = default;
  Tables& operator=(const Tables&) = default;
};

}  // namespace assay::plan
