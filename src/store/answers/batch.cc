#include "store/answers/batch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

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
  Batch(const WorkIndex& index, Beyond beyond) : index_(index), beyond_(beyond), rows_(index) {}

  // Adds the answers to one question.
  void ask(std::int64_t line, core::Result<Matcher> matcher) {
    const core::Status settled = matcher.ok() ? matcher.value().settle() : core::Status();
    if (!matcher.ok()) return refuse(line, nullptr, matcher.error().message);
    if (!settled.ok()) return refuse(line, nullptr, settled.error().message);
    const std::vector<std::size_t> families = matcher.value().families();
    if (families.empty()) return refuse(line, nullptr, "no row has these values together");
    for (const std::size_t number : families) {
      for (std::vector<double>& sizes : matcher.value().sizes(number)) {
        Answer answer = answer_of(index_, number, std::move(sizes), beyond_);
        const Family& family = index_.family(number);
        if (answer.estimate.refused == Refused::kNo) {
          rows_.add(line, &answer, "");
          ++answered_;
        } else {
          refuse(line, &answer, family.refusal(answer.estimate, answer.sizes));
        }
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
  void refuse(std::int64_t line, const Answer* asked, const std::string& reason) {
    rows_.add(line, asked, reason);
    ++refused_;
  }

  const WorkIndex& index_;
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

  [[nodiscard]] core::Result<Matcher> with_fields(
      Matcher matcher, const std::vector<std::string_view>& fields) const {
    if (fields.size() != columns_.size()) {
      return core::Error{fmt::format("{}, but {}", core::counted(fields.size(), "field"),
                                     core::counted(columns_.size(), "column"))};
    }
    bool asks = false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].empty() || columns_[i].empty()) continue;
      asks = true;
      ASSAY_TRY(matcher.take({columns_[i], std::string(core::csv_meaning(fields[i]))}));
    }
    // An answer that was refused before its keys were known has none, and asks for nothing.
    if (!asks && refusal_ < fields.size() && !fields[refusal_].empty())
      return core::Error{std::string(core::csv_meaning(fields[refusal_]))};
    return matcher;
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
  Batch batch(index, beyond);
  while (ASSAY_TRY(lines.next(fields)))
    batch.ask(lines.line(), asked.with_fields(matcher, fields));
  return std::move(batch).finish(asked.passed_over());
}

}  // namespace assay::store
