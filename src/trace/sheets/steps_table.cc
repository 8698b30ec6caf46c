#include "trace/sheets/steps_table.h"

#include <string>

#include "trace/sheets/operator_table.h"
#include "trace/step_periods.h"

namespace assay::trace {
namespace {

constexpr std::size_t kLaunchColumns = 4;  // from kHostColumn on: empty without launch records

const char* end_in_words(PeriodEnd end) {
  switch (end) {
    case PeriodEnd::kNextStep:
      return "the next step";
    case PeriodEnd::kCompleted:
      return "the usual wait";
    case PeriodEnd::kLaterStep:
      return kHoldsNext;
    case PeriodEnd::kOwnWork:
      break;
  }
  return "its own work";
}

std::vector<model::Column> steps_columns() {
  using model::Better;
  std::vector<model::Column> columns = {
      {"step", "", Better::kNeither, "N of ProfilerStep#N"},
      {kPeriodColumn, "ms", Better::kLower, "from its first GPU work to that of the next step"},
      {kEndColumn, "", Better::kNeither,
       "the last step has no next one: it gets the usual wait between steps. One that may hold the "
       "work of the next, which lost its launch records, is not compared"}};
  for (const std::string_view row : kTimelineRows)
    if (row != "total_time")
      columns.push_back({std::string(row) + " ms", "ms", Better::kNeither, "within the period"});
  columns.push_back({kWaitColumn, "ms", Better::kNeither, "without GPU work, before the step"});
  columns.push_back({kHostColumn, "ms", Better::kLower, "the GPU is idle and nothing is launched"});
  columns.push_back({kHostShareColumn, "%", Better::kLower, "of the period"});
  columns.push_back({kDelayColumn, "us", Better::kNeither,
                     "median time from a launching call to the start of its work"});
  columns.push_back({kQueueColumn, "", Better::kNeither,
                     "launched work that has not started, mean over the period"});
  columns.push_back({kEventsColumn, "", Better::kNeither, "kernels, copies and fills of the step"});
  return columns;
}

std::vector<model::Cell> steps_row(const RankAnalysis& rank, const StepPeriod& step) {
  const auto ms = [&rank](std::int64_t ticks) { return rank.time.milliseconds(ticks); };
  const LaunchFigures& launches = step.launches;
  std::vector<model::Cell> row = {step.number, ms(step.period.length()), end_in_words(step.end)};
  const auto times = step.times.rows();
  for (std::size_t i = 0; i < times.size(); ++i)
    if (kTimelineRows[i] != "total_time") row.emplace_back(ms(times[i]));
  row.push_back(step.wait_ns ? model::Cell(ms(*step.wait_ns)) : model::Cell{});
  if (!launches.are_known) {
    row.resize(row.size() + kLaunchColumns);
  } else {
    row.emplace_back(ms(launches.host_ns));
    row.emplace_back(
        percent(static_cast<double>(launches.host_ns), static_cast<double>(step.period.length())));
    row.push_back(model::cell_of(launches.delay_ns / 1000));
    row.emplace_back(launches.queue_length);
  }
  row.emplace_back(step.events);
  return row;
}

}  // namespace

model::Table steps_table(const RankAnalysis& rank, const BusyIntervals& busy) {
  model::Table table{kStepsSheet, "Each step's period on the GPU, and the launches behind it",
                     steps_columns()};
  for (const StepPeriod& step : step_periods(rank, busy))
    table.add_row(steps_row(rank, step));
  return table;
}

}  // namespace assay::trace
