// Builds configurations by hand, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/table.h"
#include "trace/compare/answer.h"
#include "trace/compare/configuration.h"

namespace assay::trace::testing {

// A type of the timeline with its time in each step of one rank, in milliseconds.
struct StepTimes {
  std::string type;
  std::vector<double> step_ms;
};

// Percentages are shares of `total_time`, which must be among the types. Steps are numbered from 3.
inline RankReport rank_report(int rank, const std::vector<StepTimes>& types) {
  RankReport report{.rank = rank, .book = {}};
  model::Table whole{.name = "gpu_timeline",
                     .title = "",
                     .columns = {{.name = "type"}, {.name = "time ms"}, {.name = "percent"}}};
  model::Table steps{
      .name = "gpu_timeline_steps",
      .title = "",
      .columns = {{.name = "step"}, {.name = "type"}, {.name = "time ms"}, {.name = "percent"}}};
  const auto sum = [](const std::vector<double>& values) {
    double total = 0;
    for (const double value : values)
      total += value;
    return total;
  };
  const StepTimes* total = nullptr;
  for (const StepTimes& type : types)
    if (type.type == "total_time") total = &type;
  for (const StepTimes& type : types) {
    const double time = sum(type.step_ms);
    whole.add_row({type.type, time, 100 * time / sum(total->step_ms)});
    for (std::size_t i = 0; i < type.step_ms.size(); ++i)
      steps.add_row({static_cast<std::int64_t>(i + 3), type.type, type.step_ms[i],
                     100 * type.step_ms[i] / total->step_ms[i]});
  }
  report.book.tables.push_back(std::move(whole));
  report.book.tables.push_back(std::move(steps));
  return report;
}

inline void drop_steps(Configuration& configuration) {
  for (RankReport& report : configuration.ranks)
    report.book.tables.pop_back();
}

// Instances of collectives with latency and bus bandwidth (GB/s), one row each.
struct Instance {
  std::string name;
  std::int64_t elements = 0;
  double latency_us = 0;
  double bus_gbps = 0;
  std::int64_t channels = 0;
};

inline model::Table implicit_sync(const std::vector<Instance>& instances,
                                  const std::string& group_ranks = "[0, 1]") {
  model::Table table{.name = "nccl_implicit_sync",
                     .title = "",
                     .columns = {{.name = "Process Group Name"},
                                 {.name = "Process Group Ranks"},
                                 {.name = "Collective name"},
                                 {.name = "Group size"},
                                 {.name = "dtype"},
                                 {.name = "In msg nelems"},
                                 {.name = "comm_latency"},
                                 {.name = "skew in start time"},
                                 {.name = "bus bw (GB/s)"},
                                 {.name = "bus bw (GiB/s)"},
                                 {.name = "channels"},
                                 {.name = "threads"}}};
  for (const Instance& i : instances)
    table.add_row({std::string("0"), group_ranks, i.name, std::int64_t{2}, std::string("BFloat16"),
                   i.elements, i.latency_us, 1.5, i.bus_gbps, i.bus_gbps / 1.073741824, i.channels,
                   std::int64_t{512}});
  return table;
}

inline model::Book book_of(model::Table table) {
  model::Book book;
  book.tables.push_back(std::move(table));
  return book;
}

// Returns every question with its answer.
inline std::string all_words(const Answer& answer) {
  std::string result;
  for (const AnswerLine& line : answer.lines)
    result += line.question + " " + line.answer + "\n";
  return result;
}

// Returns the cell in `wanted` of the row whose cell in `column` is `text`.
inline model::Cell cell_where(const model::Table& table,
                              const std::string& column,
                              const std::string& text,
                              const std::string& wanted) {
  const auto key = table.column(column);
  const auto value = table.column(wanted);
  if (!key || !value) return std::string("no such column");
  for (std::size_t row = 0; row < table.row_count(); ++row)
    if (model::text(table.at(row, *key)) == text) return table.at(row, *value);
  return std::string("no such row");
}

}  // namespace assay::trace::testing
