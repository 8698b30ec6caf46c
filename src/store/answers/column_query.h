// Asks a performance table for very many latencies: questions come by columns, as programs hold
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/answers/query.h"

namespace assay::store {

// A column of questions, of numbers or of texts. One value stands for all questions.
struct QuestionColumn {
  std::string name;
  std::span<const double> numbers = {};
  std::span<const char* const> texts = {};

  [[nodiscard]] std::size_t size() const { return numbers.size() + texts.size(); }
};

// Returns how many questions there are: what all columns have that are not of one value.
core::Result<std::size_t> num_questions(std::span<const QuestionColumn> columns);

struct RefusedQuestion {
  std::size_t question = 0;
  std::string reason;
};

// By question. Times are ms, and NaN where there is no answer.
struct ColumnAnswers {
  std::vector<double> latency;
  std::vector<double> uncertainty;  // %, one sigma; NaN where the row was measured
  std::vector<double> low_80;
  std::vector<double> high_80;
  std::vector<double> roofline;                // NaN: unknown
  std::vector<std::string_view> methods = {};  // of method_name(); "" where there is no answer
  std::vector<RefusedQuestion> refused = {};   // in their order
};

// Each question has one answer. `threads`: 0 for one a processor. Errors: the table has no such
// column; columns of other lengths than 1 and the questions'; a size is missing; a text where a
// size is asked. What is wrong with one question alone (an unknown value, several kinds of rows) is
// a refusal.
core::Result<ColumnAnswers> query_columns(const WorkIndex& index,
                                          std::span<const QuestionColumn> columns,
                                          Beyond beyond,
                                          unsigned threads = 0);

}  // namespace assay::store
