// Performance tables behind the C interface.
#include <assay/assay.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "library/database.h"
#include "library/error.h"
#include "library/questions.h"
#include "library/result.h"
#include "store/answers/surface.h"

struct assay_database {
  std::unique_ptr<assay::library::Database> open;
};

struct assay_surface {
  std::shared_ptr<const assay::store::WorkIndex> index;  // which the surface refers to
  assay::store::Surface surface;
  std::size_t num_free;
};

namespace assay::library {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

core::Result<QuestionColumns> columns_of_table(const assay_questions& questions) {
  if (questions.table == nullptr) return core::Error{"the questions name no table"};
  return question_columns(questions);
}

store::Beyond beyond_of(const assay_questions& questions) {
  return questions.extrapolate != 0 ? store::Beyond::kExtrapolate : store::Beyond::kRefuse;
}

Column number_column(model::Column about, std::vector<double> numbers) {
  Column column{.about = std::move(about)};
  column.present =
      Bits::of(numbers.size(), [&](std::size_t row) { return !std::isnan(numbers[row]); });
  column.values = std::move(numbers);
  return column;
}

// A text for each row, "" for none.
template <class TextOfRow>
Column text_column(model::Column about, std::size_t rows, const TextOfRow& text_of) {
  Column column{.about = std::move(about)};
  TextsMaker texts;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view text = text_of(row);
    column.present.add(!text.empty());
    if (text.empty()) {
      texts.add_empty();
    } else {
      texts.add(text);
    }
  }
  column.values = std::move(texts).finish();
  return column;
}

std::shared_ptr<const Columns> answer_columns(const std::string& table,
                                              store::ColumnAnswers answers) {
  const std::size_t rows = answers.latency.size();
  auto columns = std::make_shared<Columns>(Columns{.name = "answers",
                                                   .title = "Answers of " + table,
                                                   .num_rows = static_cast<std::int64_t>(rows)});
  const auto add = [&](model::Column about, std::vector<double>& numbers) {
    columns->columns.push_back(number_column(std::move(about), std::move(numbers)));
  };
  add({.name = "latency",
       .unit = "ms",
       .better = model::Better::kLower,
       .description = "of one launch"},
      answers.latency);
  add({.name = "uncertainty",
       .unit = "%",
       .better = model::Better::kLower,
       .description = "one sigma, as points that were left out tell it; null: measured"},
      answers.uncertainty);
  add({.name = "low_80", .unit = "ms", .description = "the 80 % interval of the latency"},
      answers.low_80);
  add({.name = "high_80", .unit = "ms"}, answers.high_80);
  add({.name = "roofline",
       .unit = "ms",
       .description = "the least time that bytes and operations take"},
      answers.roofline);
  columns->columns.push_back(
      text_column({.name = "method"}, rows, [&](std::size_t row) { return answers.methods[row]; }));
  auto refused = answers.refused.begin();
  columns->columns.push_back(
      text_column({.name = "refused", .description = "why there is no answer"}, rows,
                  [&](std::size_t row) -> std::string_view {
                    if (refused == answers.refused.end() || refused->question != row) return "";
                    return (refused++)->reason;
                  }));
  return columns;
}

// Says how many of the answers are refused, and why the first one is.
std::string refusals(const store::ColumnAnswers& answers) {
  const std::size_t count = answers.refused.size();
  const store::RefusedQuestion& first = answers.refused.front();
  return fmt::format("{} of {} questions {} refused; question {}: {}", count,
                     answers.latency.size(), count == 1 ? "is" : "are", first.question,
                     first.reason);
}

int query(Database& database, const assay_questions& questions, Result& result) {
  const auto columns = columns_of_table(questions);
  if (!columns.ok()) return ended(ASSAY_WRONG_USAGE, columns.error().message);
  const auto index = database.table(questions.table);
  if (!index.ok()) return ended(ASSAY_FAILED, index.error().message);
  auto found = store::query_columns(*index.value(), columns.value(), beyond_of(questions));
  if (result.stopped()) return ended(ASSAY_STOPPED, "interrupted");
  if (!found.ok()) return ended(ASSAY_WRONG_USAGE, found.error().message);
  const bool all = found.value().refused.empty();
  std::string refused = all ? "" : refusals(found.value());
  result.take_columns(answer_columns(index.value()->rows().table, std::move(found.value())));
  return ended(all ? ASSAY_OK : ASSAY_FOUND, std::move(refused));
}

int list_columns(Database& database, const char* table, Result& result) {
  auto columns = table == nullptr ? database.columns() : database.columns(table);
  if (!columns.ok()) return ended(ASSAY_FAILED, columns.error().message);
  result.take_columns(columns_of(columns.value()));
  return ended(ASSAY_OK, "");
}

std::string text_of(const store::QuestionColumn& column) {
  if (column.numbers.empty()) return column.texts[0] == nullptr ? "" : column.texts[0];
  return fmt::format("{}", column.numbers[0]);
}

core::Status check_free(const std::vector<std::string>& free) {
  for (auto name = free.begin(); name != free.end(); ++name) {
    if (std::find(free.begin(), name, *name) != name)
      return core::Error{fmt::format("the free size '{}' is given twice", *name)};
  }
  return {};
}

core::Result<std::vector<store::Condition>> conditions_of(const assay_questions& bound,
                                                          const std::vector<std::string>& free) {
  ASSAY_TRY(check_free(free));
  std::vector<store::Condition> conditions;
  for (const store::QuestionColumn& column : ASSAY_TRY(columns_of_table(bound))) {
    if (column.size() != 1)
      return core::Error{fmt::format("column '{}' has {} values; a surface takes one", column.name,
                                     column.size())};
    if (std::find(free.begin(), free.end(), column.name) != free.end())
      return core::Error{fmt::format("column '{}' is bound, and a free size, too", column.name)};
    conditions.push_back({column.name, text_of(column)});
  }
  return conditions;
}

int bind(Database& database,
         const assay_questions& bound,
         const std::vector<std::string>& free,
         assay_surface** surface) {
  const auto conditions = conditions_of(bound, free);
  if (!conditions.ok()) return ended(ASSAY_WRONG_USAGE, conditions.error().message);
  auto index = database.table(bound.table);
  if (!index.ok()) return ended(ASSAY_FAILED, index.error().message);
  auto made = store::Surface::bind(*index.value(), conditions.value(), free, beyond_of(bound));
  if (!made.ok()) {
    std::vector<store::Condition> asked = conditions.value();
    for (const std::string& name : free)
      asked.push_back({name, "1"});
    const bool is_question = store::check_question(*index.value(), asked).ok();
    return ended(is_question ? ASSAY_FAILED : ASSAY_WRONG_USAGE, made.error().message);
  }
  *surface = new assay_surface{std::move(index.value()), std::move(made.value()), free.size()};
  return ended(ASSAY_OK, "");
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;  // NOLINT: what follows is C's

int assay_database_open(const char* name, assay_database** database) {
  return guarded([&] {
    if (database != nullptr) *database = nullptr;
    if (name == nullptr || database == nullptr)
      return ended(ASSAY_WRONG_USAGE, "name and database must not be null");
    auto opened = Database::open(name);
    if (!opened.ok()) return ended(ASSAY_FAILED, opened.error().message);
    *database = new assay_database{std::move(opened.value())};
    return ended(ASSAY_OK, "");
  });
}

void assay_database_close(assay_database* database) {
  delete database;
}

int assay_database_columns(assay_database* database, const char* table, assay_result** result) {
  return guarded([&] {
    if (result != nullptr) make_result(nullptr, result);
    if (database == nullptr || result == nullptr)
      return ended(ASSAY_WRONG_USAGE, "database and result must not be null");
    const assay::core::WorkingFor working(&(*result)->taken);
    return list_columns(*database->open, table, (*result)->taken);
  });
}

int assay_database_query(assay_database* database,
                         const assay_questions* questions,
                         const assay_call* call,
                         assay_result** result) {
  return guarded([&] {
    if (result != nullptr) make_result(call, result);
    if (database == nullptr || questions == nullptr || result == nullptr)
      return ended(ASSAY_WRONG_USAGE, "database, questions and result must not be null");
    if (!is_whole(call)) return ended(ASSAY_WRONG_USAGE, kCallWithoutSize);
    const assay::core::WorkingFor working(&(*result)->taken);
    return query(*database->open, *questions, (*result)->taken);
  });
}

int assay_surface_bind(assay_database* database,
                       const assay_questions* bound,
                       const char* const* free_sizes,
                       size_t num_free,
                       assay_surface** surface) {
  return guarded([&] {
    if (surface != nullptr) *surface = nullptr;
    if (database == nullptr || bound == nullptr || surface == nullptr ||
        (free_sizes == nullptr && num_free > 0))
      return ended(ASSAY_WRONG_USAGE, "an argument is null");
    if (std::find(free_sizes, free_sizes + num_free, nullptr) != free_sizes + num_free)
      return ended(ASSAY_WRONG_USAGE, "a free size is null");
    Result unheard;
    const assay::core::WorkingFor working(&unheard);
    return bind(*database->open, *bound, {free_sizes, free_sizes + num_free}, surface);
  });
}

int assay_surface_ask(assay_surface* surface,
                      const double* sizes,
                      size_t count,
                      double* latency_ms,
                      double* uncertainty) {
  if (surface == nullptr || latency_ms == nullptr || (sizes == nullptr && surface->num_free > 0))
    return ended(ASSAY_WRONG_USAGE, "an argument is null");
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const double> asked(sizes + i * surface->num_free, surface->num_free);
    const assay::store::WorkEstimate estimate = surface->surface.at_any(asked);
    const bool has_answer = estimate.refused == assay::store::Refused::kNo;
    latency_ms[i] = has_answer ? estimate.latency : kNone;
    if (uncertainty != nullptr) uncertainty[i] = has_answer ? estimate.uncertainty() : kNone;
  }
  return ended(ASSAY_OK, "");
}

void assay_surface_free(assay_surface* surface) {
  delete surface;
}
