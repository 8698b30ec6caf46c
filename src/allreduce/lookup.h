// Answers questions about messages: the strategy that a table gives each, and the time that it
// takes where the table was made of measurements. Commands and libassay show the same columns.
#pragma once

#include <memory>
#include <vector>

#include "allreduce/tuning.h"
#include "core/result.h"
#include "model/table.h"

namespace assay::allreduce {

// A table of strategies that is open for questions. Any number of threads may ask it.
class StrategySource {
 public:
  // A table by itself knows no times.
  explicit StrategySource(StrategyTable table);

  explicit StrategySource(TunedTables tables);

  [[nodiscard]] const StrategyTable& table() const { return tables_->table; }

  // Returns the table "lookup" with a row for each message, in their order. `time` and what belongs
  // to it are columns where times are known. Fails only when it is interrupted.
  [[nodiscard]] core::Result<model::Table> lookup(const std::vector<Cell>& messages) const;

 private:
  std::shared_ptr<const TunedTables> tables_;
};

}  // namespace assay::allreduce
