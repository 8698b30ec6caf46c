#include "library/questions.h"

#include <fmt/core.h>

namespace assay::library {

core::Result<QuestionColumns> question_columns(const assay_questions& questions) {
  QuestionColumns columns;
  for (std::size_t i = 0; i < questions.num_columns; ++i) {
    const assay_column& column = questions.columns[i];
    if (column.name == nullptr) return core::Error{"a column has no name"};
    if ((column.numbers == nullptr) == (column.texts == nullptr))
      return core::Error{fmt::format("column '{}' has either numbers or texts", column.name)};
    store::QuestionColumn& made = columns.emplace_back();
    made.name = column.name;
    if (column.numbers != nullptr) made.numbers = {column.numbers, column.count};
    if (column.texts != nullptr) made.texts = {column.texts, column.count};
  }
  return columns;
}

}  // namespace assay::library
