// The rows of a table of answers, one after the other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "store/answers/query.h"

namespace assay::store {

// Asks one family; the answer's estimate may be a refusal.
Answer answer_of(const WorkIndex& index,
                 std::size_t family,
                 std::vector<double> sizes,
                 Beyond beyond);

// "exact", "same work", "own curve", "across curves", "past its curve"; "extrapolated" where the
// sizes lie past the measured ones.
std::string_view method_name(const WorkEstimate& estimate);

// What a table of answers shows of each.
struct ShownColumns {
  KeyColumns keys = KeyColumns::kAll;
  std::vector<std::size_t> exact = {};
  std::vector<std::size_t> sizes = {};
  bool estimates = true;   // whether any answer is none of a row
  bool is_single = false;  // whether there is one answer, which then has room
  bool roofline = true;
  bool interval = true;
  bool throttled = true;

  [[nodiscard]] bool all() const { return keys == KeyColumns::kAll; }
};

// Returns whether AnswerRows has a column of this name that says nothing of what was asked.
bool is_answer_column(std::string_view name);

// All key columns, with the line of a question in front and the reason of a refusal at the end.
class AnswerRows {
 public:
  explicit AnswerRows(const WorkIndex& index);
  AnswerRows(AnswerRows&&) noexcept;
  AnswerRows& operator=(AnswerRows&&) = delete;
  ~AnswerRows();

  // `refusal` is empty for what has an answer.
  void add(std::int64_t line, const Answer& answer, const std::string& refusal);

  // Adds a question that means no row, with what it asked as far as the columns can have it.
  void refuse(std::int64_t line, std::span<const Condition> asked, const std::string& refusal);

  [[nodiscard]] model::Table table() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::store
