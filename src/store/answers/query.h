// Asks a performance table for a latency.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "store/answers/table_index.h"

namespace assay::store {

// "dtype" stands for the table's own column of data types ("gemm_dtype").
struct Condition {
  std::string column;
  std::string value;
};

struct Answer {
  const Group* group = nullptr;
  Estimate estimate;
  // The measured row has one. An interpolated answer has none: its error is that of the
  // interpolation, which no interval of the bracket's ends tells.
  std::optional<MedianInterval> interval = {};
};

struct Refusal {
  const Group* group = nullptr;
  std::string reason;
};

// There is one answer for each combination of the exact values that the conditions leave open.
struct QueryResult {
  std::vector<double> sizes;  // as asked, in the order of the table's sizes
  std::vector<Answer> answers;
  std::vector<Refusal> refused;
};

// Errors: the table does not have a column or an exact value, a size has no value, or a combination
// was not measured. The index must outlive the result.
core::Result<QueryResult> query(const TableIndex& index,
                                const std::vector<Condition>& conditions,
                                Beyond beyond);

// kVarying puts columns whose value is the same in all rows into a note.
enum class KeyColumns { kVarying, kAll };

model::Table answers_table(const TableIndex& index, const QueryResult& result, KeyColumns keys);

}  // namespace assay::store
