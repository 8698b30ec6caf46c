// The answers of a query as a table.
#include "store/answers/answers_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/text.h"
#include "store/answers/query.h"

namespace assay::store {
namespace {

constexpr const char* kLine = "line";
constexpr const char* kRefusal = "refusal";
constexpr std::string_view kOurs = "answer_";

// Shows 4096 rather than 4096.0.
model::Cell size_cell(double size) {
  if (size == std::floor(size) && std::abs(size) < 1e15) return static_cast<std::int64_t>(size);
  return size;
}

// Makes the number 128 of "128", and 1.2 of "1.2".
model::Cell exact_cell(const ExactColumn& column, const std::string& text) {
  if (column.kind == ValueKind::kText) return text;
  if (text.empty()) return {};
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? size_cell(number) : model::Cell(text);
}

// A text that is no number leaves its cell empty, so that a column of numbers stays one.
model::Cell asked_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(number)) return {};
  return size_cell(number);
}

// The rows that the answer comes from: none where it is the row itself.
std::vector<std::uint32_t> ends_of(const WorkEstimate& estimate) {
  if (estimate.is_measured()) return {};
  if (estimate.low == estimate.high) return {estimate.low};
  return {estimate.low, estimate.high};
}

const std::string& exact_value(const WorkRows& rows, const Answer& answer, std::size_t column) {
  return rows.exact[column].values[rows.codes_of(answer.family)[column]];
}

// A table of several answers has a column of few characters for their methods.
std::string short_method(const WorkEstimate& estimate) {
  const std::string name(method_name(estimate));
  return estimate.is_beyond() ? fmt::format("{} x{:.3g}", name, estimate.beyond) : name;
}

void add_error_columns(model::Table& table) {
  table.columns.push_back({.name = "uncertainty",
                           .unit = "%",
                           .better = model::Better::kLower,
                           .description = "one sigma, as points that were left out tell it"});
  table.columns.push_back(
      {.name = "low_80", .unit = "ms", .description = "the 80 % interval of the latency"});
  table.columns.push_back({.name = "high_80", .unit = "ms"});
}

void add_end_columns(model::Table& table, const ShownColumns& shown) {
  if (!shown.all()) {
    if (shown.is_single) table.columns.push_back({.name = "bracket", .unit = "ms"});
    return;
  }
  for (const char* end : {"low", "high"}) {
    table.columns.push_back({.name = end, .description = "row that the answer comes from"});
    table.columns.push_back({.name = std::string(end) + "_latency", .unit = "ms"});
  }
}

void add_interval_columns(model::Table& table, const ShownColumns& shown) {
  table.columns.push_back({.name = "interval_low",
                           .unit = "ms",
                           .description = "of the measured row's median; interpolated: none"});
  table.columns.push_back({.name = "interval_high", .unit = "ms"});
  // The confidence is the same for almost all rows, so that people get it as a note.
  if (!shown.all()) return;
  table.columns.push_back({.name = "interval_confidence",
                           .unit = "%",
                           .description = "with which the interval holds the median"});
}

void add_estimate_columns(model::Table& table, const ShownColumns& shown) {
  table.columns.push_back({.name = "latency", .unit = "ms", .better = model::Better::kLower});
  if (shown.estimates) add_error_columns(table);
  table.columns.push_back({.name = "method"});
  if (shown.estimates) add_end_columns(table, shown);
  if (shown.roofline) {
    table.columns.push_back({.name = "roofline",
                             .unit = "ms",
                             .description = "the least time that bytes and operations take"});
  }
  if (shown.interval) add_interval_columns(table, shown);
  if (shown.throttled) {
    table.columns.push_back(
        {.name = "throttled",
         .description = "rows that the answer comes from, measured at lowered clocks"});
  }
}

void add_bracket_cells(std::vector<model::Cell>& row,
                       const Family& family,
                       const Answer& answer,
                       const ShownColumns& shown) {
  const std::vector<std::uint32_t> ends = ends_of(answer.estimate);
  if (shown.all()) {
    for (const std::uint32_t end : ends) {
      row.emplace_back(family.place(end, answer.sizes));
      row.emplace_back(family.latency(end));
    }
    return row.resize(row.size() + 2 * (2 - ends.size()));
  }
  if (!shown.is_single) return;
  // "m=256: 0.0201, m=512: 0.0241"
  std::vector<std::string> parts;
  for (const std::uint32_t end : ends)
    parts.push_back(
        fmt::format("{}: {:.4g}", family.place(end, answer.sizes), family.latency(end)));
  row.emplace_back(core::join(parts, ", "));
}

void add_interval_cells(std::vector<model::Cell>& row,
                        const Answer& answer,
                        const ShownColumns& shown) {
  const std::size_t cells = shown.all() ? 3 : 2;
  if (!answer.interval) return row.resize(row.size() + cells);
  row.emplace_back(answer.interval->low);
  row.emplace_back(answer.interval->high);
  if (cells > 2) row.emplace_back(answer.interval->confidence() * 100);
}

void add_key_cells(std::vector<model::Cell>& row,
                   const WorkRows& rows,
                   const Answer& answer,
                   const ShownColumns& shown) {
  for (const std::size_t column : shown.exact)
    row.push_back(exact_cell(rows.exact[column], exact_value(rows, answer, column)));
  for (const std::size_t size : shown.sizes)
    row.push_back(size_cell(answer.sizes[size]));
}

void add_estimate_cells(std::vector<model::Cell>& row,
                        const Family& family,
                        const Answer& answer,
                        const ShownColumns& shown) {
  const WorkEstimate& estimate = answer.estimate;
  row.emplace_back(estimate.latency);
  if (shown.estimates && estimate.is_measured()) {
    row.resize(row.size() + 3);
  } else if (shown.estimates) {
    row.emplace_back(estimate.uncertainty() * 100);
    row.emplace_back(estimate.low_80());
    row.emplace_back(estimate.high_80());
  }
  const bool is_long = shown.all() || shown.is_single;
  row.emplace_back(is_long ? family.method(estimate, answer.sizes) : short_method(estimate));
  if (shown.estimates) add_bracket_cells(row, family, answer, shown);
  if (shown.roofline)
    row.emplace_back(estimate.roofline > 0 ? model::Cell(estimate.roofline) : model::Cell());
  if (shown.interval) add_interval_cells(row, answer, shown);
  if (shown.throttled)
    row.push_back(answer.throttled.empty() ? model::Cell() : model::Cell(answer.throttled));
}

// A table may have a key that is called as one of our columns: ours then have kOurs before them.
void keep_names_apart(const WorkRows& rows, std::size_t begin, model::Table& table) {
  const auto is_key = [&](const std::string& name) {
    const auto is_it = [&](const ExactColumn& column) { return column.name == name; };
    return std::any_of(rows.exact.begin(), rows.exact.end(), is_it) ||
           std::find(rows.sizes.begin(), rows.sizes.end(), name) != rows.sizes.end();
  };
  for (std::size_t i = begin; i < table.columns.size(); ++i) {
    if (is_key(table.columns[i].name)) table.columns[i].name.insert(0, kOurs);
  }
}

class AnswersTable {
 public:
  AnswersTable(const WorkIndex& index, const QueryResult& result, KeyColumns keys)
      : index_(index), rows_(index.rows()), result_(result), shown_{.keys = keys} {}

  model::Table make() {
    table_.name = rows_.table.substr(0, 31);
    table_.title = rows_.table + title_end();
    add_exact_columns();
    for (std::size_t i = 0; i < rows_.sizes.size(); ++i) {
      if (!shown_.all() && !is_open(rows_.sizes[i])) continue;
      shown_.sizes.push_back(i);
      table_.columns.push_back({.name = rows_.sizes[i]});
    }
    shown_.estimates =
        shown_.all() || any([](const Answer& answer) { return !answer.estimate.is_measured(); });
    shown_.is_single = result_.answers.size() == 1;
    shown_.roofline = any([](const Answer& answer) { return answer.estimate.roofline > 0; });
    shown_.interval =
        shown_.all() || any([](const Answer& answer) { return answer.interval.has_value(); });
    const bool any_throttled = any([](const Answer& answer) { return !answer.throttled.empty(); });
    shown_.throttled = shown_.all() || any_throttled;
    const std::size_t keys = table_.columns.size();
    add_estimate_columns(table_, shown_);
    keep_names_apart(rows_, keys, table_);
    if (shown_.interval && !shown_.all()) add_confidence_note();
    add_scatter_note();
    if (any_throttled) {
      table_.notes.emplace_back(
          "throttled: the rows that answers come from, measured while the GPU had lowered its "
          "clocks");
    }
    for (const Answer& answer : result_.answers) {
      std::vector<model::Cell> row;
      add_key_cells(row, rows_, answer, shown_);
      add_estimate_cells(row, index_.family(answer.family), answer, shown_);
      table_.add_row(std::move(row));
    }
    return std::move(table_);
  }

 private:
  [[nodiscard]] bool is_open(const std::string& size) const {
    return std::find(result_.open_sizes.begin(), result_.open_sizes.end(), size) !=
           result_.open_sizes.end();
  }

  [[nodiscard]] std::string title_end() const {
    std::vector<std::string> asked;
    for (std::size_t i = 0; i < rows_.sizes.size(); ++i) {
      if (!is_open(rows_.sizes[i]))
        asked.push_back(fmt::format("{}={}", rows_.sizes[i], result_.answers.front().sizes[i]));
    }
    return asked.empty() ? "" : " at " + core::join(asked, " ");
  }

  [[nodiscard]] bool any(bool (*holds)(const Answer&)) const {
    return std::any_of(result_.answers.begin(), result_.answers.end(), holds);
  }

  // Adds the columns that tell the families apart; what all of them share becomes a note.
  void add_exact_columns() {
    std::vector<std::string> same;
    const Answer& first = result_.answers.front();
    for (std::size_t i = 0; i < rows_.exact.size(); ++i) {
      const bool varies =
          std::any_of(result_.answers.begin(), result_.answers.end(), [&](const Answer& answer) {
            return exact_value(rows_, answer, i) != exact_value(rows_, first, i);
          });
      if (shown_.all() || varies) {
        shown_.exact.push_back(i);
        table_.columns.push_back({.name = rows_.exact[i].name});
      } else if (!exact_value(rows_, first, i).empty()) {
        same.push_back(rows_.exact[i].name + " " + exact_value(rows_, first, i));
      }
    }
    if (!same.empty()) table_.notes.push_back("of all rows: " + core::join(same, ", "));
  }

  void add_confidence_note() {
    double least = 1;
    for (const Answer& answer : result_.answers) {
      if (answer.interval) least = std::min(least, answer.interval->confidence());
    }
    table_.notes.push_back(
        fmt::format("interval: holds the median of the row's run with at least {:.4g} %, if its "
                    "samples are independent",
                    least * 100));
  }

  // The errors of answers are those between rows, which are taken to be right.
  void add_scatter_note() {
    constexpr double kMuch = 0.5;
    double worst = 0;
    for (const Answer& answer : result_.answers)
      for (const std::uint32_t row : ends_of(answer.estimate))
        worst = std::max(worst, scatter_of(rows_.begins[answer.family] + row));
    if (worst <= kMuch) return;
    table_.notes.push_back(
        fmt::format("rows that answers come from have intervals of up to ±{:.3g} % of their "
                    "own, since their samples scattered; low_80 and high_80 leave that out",
                    worst * 100));
  }

  // Returns half of the row's interval, as a part of its latency.
  [[nodiscard]] double scatter_of(std::size_t row) const {
    if (rows_.intervals.empty() || rows_.intervals[row].samples == 0) return 0;
    return (rows_.intervals[row].high - rows_.intervals[row].low) / 2 / rows_.latencies[row];
  }

  const WorkIndex& index_;
  const WorkRows& rows_;
  const QueryResult& result_;
  ShownColumns shown_;
  model::Table table_;
};

}  // namespace

std::string_view method_name(const WorkEstimate& estimate) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "exact", "same work", "own curve", "across curves", "own curve", "past its curve"};
  return estimate.is_beyond() ? "extrapolated" : kNames[static_cast<std::size_t>(estimate.how)];
}

bool is_answer_column(std::string_view name) {
  static const model::Table answers = [] {
    model::Table table;
    add_estimate_columns(table, {});
    return table;
  }();
  if (name.starts_with(kOurs)) name.remove_prefix(kOurs.size());
  return name == kLine || name == kRefusal || answers.column(name).has_value();
}

struct AnswerRows::State {
  const WorkIndex& index;
  ShownColumns shown = {};
  model::Table table = {};
};

AnswerRows::AnswerRows(const WorkIndex& index)
    : state_(std::make_unique<State>(State{.index = index})) {
  const WorkRows& rows = index.rows();
  model::Table& table = state_->table;
  table.name = rows.table.substr(0, 31);
  table.title = "Answers of " + rows.table;
  table.columns.push_back({.name = kLine, .description = "of the question"});
  keep_names_apart(rows, 0, table);
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    state_->shown.exact.push_back(i);
    table.columns.push_back({.name = rows.exact[i].name});
  }
  for (std::size_t i = 0; i < rows.sizes.size(); ++i) {
    state_->shown.sizes.push_back(i);
    table.columns.push_back({.name = rows.sizes[i]});
  }
  const std::size_t end = table.columns.size();
  add_estimate_columns(table, state_->shown);
  table.columns.push_back({.name = kRefusal, .description = "why there is no answer"});
  keep_names_apart(rows, end, table);
}

AnswerRows::AnswerRows(AnswerRows&&) noexcept = default;
AnswerRows::~AnswerRows() = default;

void AnswerRows::add(std::int64_t line, const Answer& answer, const std::string& refusal) {
  model::Table& table = state_->table;
  std::vector<model::Cell> row;
  row.reserve(table.columns.size());
  row.emplace_back(line);
  add_key_cells(row, state_->index.rows(), answer, state_->shown);
  if (refusal.empty())
    add_estimate_cells(row, state_->index.family(answer.family), answer, state_->shown);
  row.resize(table.columns.size() - 1);
  row.push_back(refusal.empty() ? model::Cell() : model::Cell(refusal));
  table.add_row(std::move(row));
}

void AnswerRows::refuse(std::int64_t line,
                        std::span<const Condition> asked,
                        const std::string& refusal) {
  const WorkRows& rows = state_->index.rows();
  std::vector<model::Cell> row = {line};
  row.resize(state_->table.columns.size() - 1);
  for (const Condition& one : asked) {
    const auto is_it = [&](const ExactColumn& column) { return column.name == one.column; };
    const auto exact = std::find_if(rows.exact.begin(), rows.exact.end(), is_it);
    const auto size = std::find(rows.sizes.begin(), rows.sizes.end(), one.column);
    if (exact != rows.exact.end()) {
      const bool is_text = exact->kind == ValueKind::kText;
      row[static_cast<std::size_t>(exact - rows.exact.begin()) + 1] =
          is_text ? model::Cell(one.value) : asked_number(one.value);
    } else if (size != rows.sizes.end()) {
      row[static_cast<std::size_t>(size - rows.sizes.begin()) + rows.exact.size() + 1] =
          asked_number(one.value);
    }
  }
  row.emplace_back(refusal);
  state_->table.add_row(std::move(row));
}

model::Table AnswerRows::table() && {
  return std::move(state_->table);
}

model::Table answers_table(const WorkIndex& index, const QueryResult& result, KeyColumns keys) {
  return AnswersTable(index, result, keys).make();
}

}  // namespace assay::store
