#include "library/questions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace assay::library {
namespace {

core::Status check_column(const assay_column& column, const QuestionColumns& before) {
  if (column.name == nullptr) return core::Error{"a column has no name"};
  if ((column.numbers == nullptr) == (column.texts == nullptr))
    return core::Error{fmt::format("column '{}' has either numbers or texts", column.name)};
  const auto is_same = [&](const auto& other) { return other.name == column.name; };
  if (std::any_of(before.begin(), before.end(), is_same))
    return core::Error{fmt::format("{} is given twice", column.name)};
  return {};
}

}  // namespace

core::Result<QuestionColumns> question_columns(const assay_questions& questions) {
  // Callers that were built with the first header have no more than these members.
  constexpr std::size_t kFirstBytes =
      offsetof(assay_questions, extrapolate) + sizeof(questions.extrapolate);
  if (questions.size < kFirstBytes) {
    return core::Error{
        "the size of assay_questions is less than its members take; set it to "
        "sizeof(assay_questions)"};
  }
  if (questions.columns == nullptr && questions.num_columns > 0)
    return core::Error{fmt::format("the questions' {} columns are null", questions.num_columns)};
  QuestionColumns columns;
  for (std::size_t i = 0; i < questions.num_columns; ++i) {
    const assay_column& column = questions.columns[i];
    ASSAY_TRY(check_column(column, columns));
    store::QuestionColumn& made = columns.emplace_back();
    made.name = column.name;
    if (column.numbers != nullptr) made.numbers = {column.numbers, column.count};
    if (column.texts != nullptr) made.texts = {column.texts, column.count};
  }
  return columns;
}

}  // namespace assay::library
