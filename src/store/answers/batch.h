// Asks a performance table for many latencies at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "store/answers/query.h"

namespace assay::store {

struct BatchAnswers {
  // As answers_table() with KeyColumns::kAll, with the line of the question in front and, last, why
  // there is no answer.
  model::Table table;
  std::int64_t answered = 0;
  std::int64_t refused = 0;
  std::vector<std::string> passed_over;  // columns of the questions that are no part of them
};

// `questions` is CSV: names of columns, as options spell them ("batch-size", "dtype"), and a line
// for each question; an empty field leaves its column open. Columns that the table lacks and that
// hold results are passed over: latency, names that end in _ms, and those of the answers of an
// earlier batch, so that these can be asked again. Each question has also the conditions of
// `common`. Answers come in the order of the questions; one that leaves something open has several.
// Errors: the CSV is damaged, or names a column that the table does not have.
core::Result<BatchAnswers> query_batch(const WorkIndex& index,
                                       std::string_view questions,
                                       const std::vector<Condition>& common,
                                       Beyond beyond);

}  // namespace assay::store
