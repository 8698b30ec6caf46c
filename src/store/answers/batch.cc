#include "store/answers/batch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/counted.h"
#include "core/csv.h"
#include "store/answers/answers_table.h"
#include "store/answers/matcher.h"
#include "store/files/csv_frame.h"

namespace assay::store {
namespace {

// "--batch-size" and "batch-size" are batch_size.
std::string column_named(std::string_view name) {
  while (name.starts_with("-"))
    name.remove_prefix(1);
  std::string column(name);
  std::replace(column.begin(), column.end(), '-', '_');
  return column;
}

// Returns whether a column is one of results, which files of measured rows and our own answers have
// beside what was asked. A unit, as in "latency (ms)", is of results alone: sizes have none.
bool is_result(std::string_view column) {
  return is_answer_column(column) || column.ends_with("_ms") || column.ends_with(')');
}

class Batch {
 public:
  // `matcher` has taken the conditions of all questions.
  Batch(const WorkIndex& index, Matcher matcher, std::vector<Condition> common, Beyond beyond)
      : index_(index),
        matcher_(std::move(matcher)),
        common_(std::move(common)),
        beyond_(beyond),
        rows_(index) {}

  // Adds the answers to one question.
  void ask(std::int64_t line, const core::Result<std::vector<Condition>>& question) {
    if (!question.ok()) return refuse(line, {}, question.error().message);
    const core::Result<Matcher> matcher = settled(question.value());
    if (!matcher.ok()) return refuse(line, question.value(), matcher.error().message);
    const std::vector<std::size_t> families = matcher.value().families();
    if (families.empty()) return refuse(line, question.value(), "no row has these values together");
    for (const std::size_t number : families) {
      for (std::vector<double>& sizes : matcher.value().sizes(number)) {
        const Answer answer = answer_of(index_, number, std::move(sizes), beyond_);
        const bool is_refused = answer.estimate.refused != Refused::kNo;
        rows_.add(line, answer,
                  is_refused ? index_.family(number).refusal(answer.estimate, answer.sizes) : "");
        ++(is_refused ? refused_ : answered_);
      }
    }
  }

  BatchAnswers finish(std::vector<std::string> passed_over) && {
    return {.table = std::move(rows_).table(),
            .answered = answered_,
            .refused = refused_,
            .passed_over = std::move(passed_over)};
  }

 private:
  [[nodiscard]] core::Result<Matcher> settled(const std::vector<Condition>& question) const {
    Matcher matcher = matcher_;
    for (const Condition& condition : question)
      ASSAY_TRY(matcher.take(condition));
    ASSAY_TRY(matcher.settle());
    return matcher;
  }

  void refuse(std::int64_t line, std::vector<Condition> asked, const std::string& reason) {
    asked.insert(asked.end(), common_.begin(), common_.end());
    for (Condition& condition : asked)
      condition.column = matcher_.resolved(condition.column);
    rows_.refuse(line, asked, reason);
    ++refused_;
  }

  const WorkIndex& index_;
  Matcher matcher_;
  std::vector<Condition> common_;
  Beyond beyond_;
  AnswerRows rows_;
  std::int64_t answered_ = 0;
  std::int64_t refused_ = 0;
};

// The columns of a file of questions.
class Questions {
 public:
  static core::Result<Questions> make(const Matcher& matcher,
                                      const std::vector<std::string_view>& header) {
    Questions questions;
    for (const std::string_view field : header) {
      std::string column = column_named(field);
      if (!matcher.has_column(column) && is_result(column)) {
        if (column == "refusal" || column == "answer_refusal")
          questions.refusal_ = questions.columns_.size();
        questions.passed_over_.emplace_back(field);
        column.clear();
      } else {
        ASSAY_TRY(matcher.check_column(column));
      }
      questions.columns_.push_back(std::move(column));
    }
    return questions;
  }

  [[nodiscard]] core::Result<std::vector<Condition>> conditions(
      const std::vector<std::string_view>& fields) const {
    if (fields.size() != columns_.size()) {
      return core::Error{fmt::format("{}, but {}", core::counted(fields.size(), "field"),
                                     core::counted(columns_.size(), "column"))};
    }
    std::vector<Condition> asked;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (!fields[i].empty() && !columns_[i].empty())
        asked.push_back({columns_[i], std::string(core::csv_meaning(fields[i]))});
    // A line that could not be read left an answer that asks for nothing.
    if (asked.empty() && refusal_ < fields.size() && !fields[refusal_].empty())
      return core::Error{std::string(core::csv_meaning(fields[refusal_]))};
    return asked;
  }

  [[nodiscard]] const std::vector<std::string>& passed_over() const { return passed_over_; }

 private:
  std::vector<std::string> columns_;  // "" for one that is passed over
  std::vector<std::string> passed_over_;
  std::size_t refusal_ = std::numeric_limits<std::size_t>::max();  // its place
};

}  // namespace

core::Result<BatchAnswers> query_batch(const WorkIndex& index,
                                       std::string_view questions,
                                       const std::vector<Condition>& common,
                                       Beyond beyond) {
  Matcher matcher(index.rows());
  for (const Condition& condition : common)
    ASSAY_TRY(matcher.take(condition));
  LineCutter lines(questions);
  std::vector<std::string_view> fields;
  if (!ASSAY_TRY(lines.next(fields))) return core::Error{"no line of names"};
  const Questions asked = ASSAY_TRY(Questions::make(matcher, fields));
  Batch batch(index, matcher, common, beyond);
  while (ASSAY_TRY(lines.next(fields)))
    batch.ask(lines.line(), asked.conditions(fields));
  return std::move(batch).finish(asked.passed_over());
}

}  // namespace assay::store
