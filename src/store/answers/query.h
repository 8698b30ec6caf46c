// Asks a performance table for a latency.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "store/answers/work_index.h"

namespace assay::store {

// "dtype" stands for the table's own column of data types ("gemm_dtype").
struct Condition {
  std::string column;
  std::string value;
};

// Returns how messages call a column: of a command, as its option. Null: by its name.
using ColumnShown = std::string (*)(const std::string& column);

// Fails where the conditions ask nothing, whatever rows there are: as Matcher::check(), and
// check_question() also where a size is missing.
core::Status check_conditions(const WorkIndex& index,
                              const std::vector<Condition>& conditions,
                              ColumnShown shown = nullptr);
core::Status check_question(const WorkIndex& index,
                            const std::vector<Condition>& conditions,
                            ColumnShown shown = nullptr);

struct Answer {
  std::size_t family = 0;
  std::vector<double> sizes;  // asked, or of the rows where the query leaves them open
  WorkEstimate estimate = {};
  // The measured row has one. Another answer has none: its error is that of the interpolation,
  // which no interval of the bracket's ends tells.
  std::optional<MedianInterval> interval = {};
  // The rows that it comes from that were measured at lowered clocks: "this row", "m=256, m=512".
  std::string throttled = {};
};

struct Refusal {
  std::size_t family = 0;
  std::vector<double> sizes;
  std::string reason;
  bool is_final = false;  // these sizes cannot be, so that nothing answers them
};

// There is one answer for each combination of the values that the conditions leave open.
struct QueryResult {
  std::vector<std::string> open_sizes = {};  // those that the conditions leave open
  std::vector<Answer> answers = {};
  std::vector<Refusal> refused = {};
};

// Errors: the table does not have a column or an exact value, a size has no value, or a combination
// was not measured.
core::Result<QueryResult> query(const WorkIndex& index,
                                const std::vector<Condition>& conditions,
                                Beyond beyond);

// kVarying puts columns whose value is the same in all rows into a note.
enum class KeyColumns { kVarying, kAll };

model::Table answers_table(const WorkIndex& index, const QueryResult& result, KeyColumns keys);

}  // namespace assay::store
