// The answers of a query as a table.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.h"
#include "store/answers/query.h"

namespace assay::store {
namespace {

// Shows 4096 rather than 4096.0.
model::Cell size_cell(double size) {
  if (size == std::floor(size) && size < 1e15) return static_cast<std::int64_t>(size);
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

class AnswersTable {
 public:
  AnswersTable(const WorkIndex& index, const QueryResult& result, KeyColumns keys)
      : index_(index), rows_(index.rows()), result_(result), keys_(keys) {}

  model::Table make() {
    table_.name = rows_.table.substr(0, 31);
    table_.title = rows_.table + title_end();
    add_exact_columns();
    add_size_columns();
    add_estimate_columns();
    for (const Answer& answer : result_.answers)
      add(answer);
    return std::move(table_);
  }

 private:
  [[nodiscard]] bool shows_all() const { return keys_ == KeyColumns::kAll; }

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

  [[nodiscard]] const std::string& value_of(const Answer& answer, std::size_t column) const {
    return rows_.exact[column].values[rows_.codes_of(answer.family)[column]];
  }

  // Adds the columns that tell the families apart; what all of them share becomes a note.
  void add_exact_columns() {
    std::vector<std::string> same;
    const Answer& first = result_.answers.front();
    for (std::size_t i = 0; i < rows_.exact.size(); ++i) {
      const bool varies =
          std::any_of(result_.answers.begin(), result_.answers.end(),
                      [&](const Answer& a) { return value_of(a, i) != value_of(first, i); });
      if (shows_all() || varies) {
        exact_.push_back(i);
        table_.columns.push_back({.name = rows_.exact[i].name});
      } else if (!value_of(first, i).empty()) {
        same.push_back(rows_.exact[i].name + " " + value_of(first, i));
      }
    }
    if (!same.empty()) table_.notes.push_back("of all rows: " + core::join(same, ", "));
  }

  void add_size_columns() {
    for (std::size_t i = 0; i < rows_.sizes.size(); ++i) {
      if (!shows_all() && !is_open(rows_.sizes[i])) continue;
      sizes_.push_back(i);
      table_.columns.push_back({.name = rows_.sizes[i]});
    }
  }

  void add_estimate_columns() {
    table_.columns.push_back({.name = "latency", .unit = "ms", .better = model::Better::kLower});
    table_.columns.push_back({.name = "uncertainty",
                              .unit = "%",
                              .better = model::Better::kLower,
                              .description = "one sigma of the latency"});
    table_.columns.push_back(
        {.name = "low_80", .unit = "ms", .description = "the 80 % interval of the latency"});
    table_.columns.push_back({.name = "high_80", .unit = "ms"});
    table_.columns.push_back({.name = "method"});
    add_bracket_columns();
    shows_roofline_ = any([](const Answer& answer) { return answer.estimate.roofline > 0; });
    if (shows_roofline_) {
      table_.columns.push_back({.name = "roofline",
                                .unit = "ms",
                                .description = "the least time that bytes and operations take"});
    }
    shows_interval_ =
        shows_all() || any([](const Answer& answer) { return answer.interval.has_value(); });
    if (shows_interval_) add_interval_columns();
  }

  void add_bracket_columns() {
    if (!shows_all()) {
      table_.columns.push_back({.name = "bracket", .unit = "ms"});
      return;
    }
    for (const char* end : {"low", "high"}) {
      table_.columns.push_back({.name = end, .description = "row that the answer comes from"});
      table_.columns.push_back({.name = std::string(end) + "_latency", .unit = "ms"});
    }
  }

  // The confidence is the same for almost all rows, so that people get it as a note.
  void add_interval_columns() {
    table_.columns.push_back({.name = "interval_low",
                              .unit = "ms",
                              .description = "of the measured row's median; interpolated: none"});
    table_.columns.push_back({.name = "interval_high", .unit = "ms"});
    if (shows_all()) {
      table_.columns.push_back({.name = "interval_confidence",
                                .unit = "%",
                                .description = "with which the interval holds the median"});
      return;
    }
    double least = 1;
    for (const Answer& answer : result_.answers) {
      if (answer.interval) least = std::min(least, answer.interval->confidence());
    }
    table_.notes.push_back(
        fmt::format("interval: holds the median of the row's run with at least {:.4g} %, if its "
                    "samples are independent",
                    least * 100));
  }

  // The rows that the answer comes from: none where it is the row itself.
  [[nodiscard]] static std::vector<std::uint32_t> ends_of(const WorkEstimate& estimate) {
    if (estimate.is_measured()) return {};
    if (estimate.low == estimate.high) return {estimate.low};
    return {estimate.low, estimate.high};
  }

  void add_bracket_cells(std::vector<model::Cell>& row, const Answer& answer) const {
    const Family& family = index_.family(answer.family);
    const std::vector<std::uint32_t> ends = ends_of(answer.estimate);
    if (shows_all()) {
      for (const std::uint32_t end : ends) {
        row.emplace_back(family.place(end, answer.sizes));
        row.emplace_back(family.latency(end));
      }
      row.resize(row.size() + 2 * (2 - ends.size()));
      return;
    }
    // "m=256: 0.0201, m=512: 0.0241"
    std::vector<std::string> parts;
    for (const std::uint32_t end : ends)
      parts.push_back(
          fmt::format("{}: {:.4g}", family.place(end, answer.sizes), family.latency(end)));
    row.emplace_back(core::join(parts, ", "));
  }

  void add_interval_cells(std::vector<model::Cell>& row, const Answer& answer) const {
    const std::size_t cells = shows_all() ? 3 : 2;
    if (!answer.interval) return row.resize(row.size() + cells);
    row.emplace_back(answer.interval->low);
    row.emplace_back(answer.interval->high);
    if (cells > 2) row.emplace_back(answer.interval->confidence() * 100);
  }

  void add(const Answer& answer) {
    std::vector<model::Cell> row;
    for (const std::size_t column : exact_)
      row.push_back(exact_cell(rows_.exact[column], value_of(answer, column)));
    for (const std::size_t size : sizes_)
      row.push_back(size_cell(answer.sizes[size]));
    const WorkEstimate& estimate = answer.estimate;
    row.emplace_back(estimate.latency);
    if (estimate.is_measured()) {
      row.resize(row.size() + 3);
    } else {
      row.emplace_back(estimate.sigma * 100);
      row.emplace_back(estimate.low_80());
      row.emplace_back(estimate.high_80());
    }
    row.emplace_back(index_.family(answer.family).method(estimate, answer.sizes));
    add_bracket_cells(row, answer);
    if (shows_roofline_)
      row.emplace_back(estimate.roofline > 0 ? model::Cell(estimate.roofline) : model::Cell());
    if (shows_interval_) add_interval_cells(row, answer);
    table_.add_row(std::move(row));
  }

  const WorkIndex& index_;
  const WorkRows& rows_;
  const QueryResult& result_;
  KeyColumns keys_;
  model::Table table_;
  std::vector<std::size_t> exact_;
  std::vector<std::size_t> sizes_;
  bool shows_roofline_ = false;
  bool shows_interval_ = false;
};

}  // namespace

model::Table answers_table(const WorkIndex& index, const QueryResult& result, KeyColumns keys) {
  return AnswersTable(index, result, keys).make();
}

}  // namespace assay::store
