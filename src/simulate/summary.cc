#include "simulate/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "core/statistics.h"
#include "simulate/stuck.h"

namespace assay::simulate {
namespace {

core::Status check_fit(const model::Schedule& schedule, const model::ScheduleNotes& notes) {
  const std::size_t num_ranks = schedule.ranks().size();
  if (notes.spans.size() != num_ranks || notes.ranks.size() != num_ranks) {
    return core::Error{fmt::format("the notes tell of {} ranks, the schedule has {}",
                                   notes.spans.size(), num_ranks)};
  }
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    for (const model::OperationSpan& span : notes.spans[rank]) {
      const std::uint64_t end = std::uint64_t{span.first_op} + span.num_ops;
      const bool fits =
          span.operation < notes.operations.size() && end <= schedule.ranks()[rank].ops.size();
      if (!fits) {
        return core::Error{fmt::format(
            "the notes tell of operations {} to {} of rank {}, which are not in the schedule",
            span.first_op, end, rank)};
      }
    }
  }
  return {};
}

constexpr std::uint32_t kNoClock = 0xFFFFFFFF;

void add_measured(const model::OperationSpan& span,
                  std::uint32_t clock,
                  std::uint32_t& clock_of_others,
                  CollectiveTime& time) {
  time.measured_start_ns = std::min(time.measured_start_ns, span.measured_start_ns);
  time.measured_end_ns = std::max(time.measured_end_ns, span.measured_end_ns);
  if (clock_of_others == kNoClock) clock_of_others = clock;
  time.measured =
      time.measured && clock == clock_of_others && span.measured_end_ns > span.measured_start_ns;
}

}  // namespace

core::Result<std::vector<CollectiveTime>> collective_times(const Outcome& outcome,
                                                           const model::ScheduleNotes& notes) {
  const Record& record = outcome.record();
  ASSAY_TRY(check_fit(record.schedule(), notes));
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::vector<CollectiveTime> times(notes.operations.size());
  for (std::uint32_t i = 0; i < times.size(); ++i)
    times[i] = {.operation = i, .start_ns = kNever, .measured_start_ns = kNever, .measured = true};
  std::vector<std::uint32_t> clocks(times.size(), kNoClock);
  for (std::uint32_t rank = 0; rank < notes.spans.size(); ++rank) {
    for (const model::OperationSpan& span : notes.spans[rank]) {
      CollectiveTime& time = times[span.operation];
      add_measured(span, notes.ranks[rank].clock, clocks[span.operation], time);
      for (std::uint32_t i = 0; i < span.num_ops; ++i) {
        const OpTimes op = record.times({rank, span.first_op + i});
        time.start_ns = std::min(time.start_ns, op.start_ns);
        time.end_ns = std::max(time.end_ns, op.end_ns);
      }
    }
  }
  const auto absent = [&](const CollectiveTime& time) { return time.start_ns == kNever; };
  times.erase(std::remove_if(times.begin(), times.end(), absent), times.end());
  return times;
}

model::Table operation_table(const std::vector<CollectiveTime>& times,
                             const model::ScheduleNotes& notes) {
  model::Table table{.name = "operations",
                     .title = "NCCL operations, from the first start on any rank to the last end",
                     .columns = {{.name = "function"},
                                 {.name = "algorithm"},
                                 {.name = "protocol"},
                                 {.name = "parallelism"},
                                 {.name = "communicator"},
                                 {.name = "sequence"},
                                 {.name = "bytes", .unit = "B"},
                                 {.name = "ranks"},
                                 {.name = "simulated_start_ns", .unit = "ns"},
                                 {.name = "simulated_end_ns", .unit = "ns"},
                                 {.name = "measured_start_ns", .unit = "ns"},
                                 {.name = "measured_end_ns", .unit = "ns"}}};
  for (const CollectiveTime& time : times) {
    const model::ScheduleOperation& operation = notes.operations[time.operation];
    const auto measured = [&](std::int64_t ns) {
      return time.measured ? model::Cell(ns) : model::Cell();
    };
    table.add_row(
        {std::string(name_of(operation.function)), std::string(name_of(operation.algorithm)),
         std::string(name_of(operation.protocol)), operation.parallelism, operation.communicator,
         static_cast<std::int64_t>(operation.sequence), static_cast<std::int64_t>(operation.bytes),
         std::int64_t{operation.num_ranks}, time.start_ns, time.end_ns,
         measured(time.measured_start_ns), measured(time.measured_end_ns)});
  }
  return table;
}

namespace {

using model::Better;
using model::Cell;
using model::Column;
using model::Table;

double us(std::int64_t ns) {
  return static_cast<double>(ns) / 1000;
}

Cell count(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

Column time_column(const char* name, const char* description = "") {
  return {.name = name, .unit = "us", .better = Better::kLower, .description = description};
}

// Returns the smallest value that at most a tenth of the values exceed.
double ninetieth_percentile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(values.size())));
  return values[rank - 1];
}

}  // namespace

Table overview(const Outcome& outcome) {
  std::vector<double> ends;
  for (const std::int64_t end : outcome.finish_ns)
    ends.push_back(us(end));
  Table table{.name = "simulation",
              .title = "When the ranks are done",
              .columns = {{.name = "ranks"},
                          {.name = "operations"},
                          {.name = "messages"},
                          {.name = "events", .description = "operations and messages"},
                          time_column("finish", "of the rank that ends last"),
                          time_column("mean finish"),
                          time_column("first finish", "of the rank that ends first")}};
  table.add_row({count(ends.size()), count(outcome.operations_done), count(outcome.messages),
                 count(outcome.events), model::cell_of(core::maximum(ends)),
                 model::cell_of(core::mean(ends)), model::cell_of(core::minimum(ends))});
  return table;
}

Table rank_table(const Outcome& outcome, std::size_t most) {
  std::vector<std::size_t> order(outcome.finish_ns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool all = most >= order.size();
  if (!all) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return outcome.finish_ns[a] > outcome.finish_ns[b];
    });
    order.resize(most);
  }
  Table table{
      .name = "ranks",
      .title = all ? "When each rank is done" : "The ranks that are done last",
      .columns = {
          {.name = "rank"}, time_column("finish"), {.name = "before the last", .unit = "us"}}};
  const std::int64_t last = outcome.longest_ns();
  for (const std::size_t rank : order) {
    const std::int64_t end = outcome.finish_ns[rank];
    table.add_row({count(rank), us(end), us(last - end)});
  }
  return table;
}

Table critical_path_table(const Outcome& outcome, const CriticalPath& path) {
  Table table{.name = "critical_path",
              .title = "What the end hangs on: the time of the critical path",
              .columns = {{.name = "spent on"},
                          time_column("time"),
                          {.name = "share", .unit = "%"},
                          {.name = "segments"}}};
  const std::int64_t total =
      std::accumulate(path.total_ns.begin(), path.total_ns.end(), std::int64_t{0});
  for (std::size_t i = 0; i < kNumSpent; ++i) {
    const auto spent = static_cast<Spent>(i);
    if (spent == Spent::kContention && outcome.transfers() == nullptr) continue;
    const auto segments =
        std::count_if(path.segments.begin(), path.segments.end(),
                      [&](const Segment& segment) { return segment.spent == spent; });
    const double share = 100.0 * us(path.total_ns[i]) / us(std::max<std::int64_t>(total, 1));
    table.add_row(
        {std::string(name_of(spent)), us(path.total_ns[i]), share, std::int64_t{segments}});
  }
  table.notes.push_back(
      fmt::format("It goes through {} messages and {} ranks.", path.messages, path.ranks.size()));
  return table;
}

Table segment_table(const Outcome& outcome, const CriticalPath& path, std::size_t most) {
  Table table{.name = "critical_path_segments",
              .title = "The longest segments of the critical path",
              .columns = {{.name = "rank"},
                          {.name = "operation"},
                          {.name = "spent on"},
                          {.name = "start", .unit = "us"},
                          time_column("time"),
                          {.name = "what"}}};
  for (const Segment& segment : path.longest(most)) {
    table.add_row({count(segment.id.rank), count(segment.id.op),
                   std::string(name_of(segment.spent)), us(segment.start_ns),
                   us(segment.end_ns - segment.start_ns), describe(outcome.record(), segment.id)});
  }
  return table;
}

Table collective_table(const std::vector<CollectiveTime>& times,
                       const model::ScheduleNotes& notes) {
  using Key = std::tuple<std::string, std::string, std::string>;

  struct Group {
    std::vector<double> simulated;
    std::vector<double> measured;
  };

  std::map<Key, Group> groups;
  for (const CollectiveTime& time : times) {
    const model::ScheduleOperation& operation = notes.operations[time.operation];
    const Key key{std::string(name_of(operation.function)),
                  std::string(name_of(operation.algorithm)),
                  std::string(name_of(operation.protocol))};
    Group& group = groups[key];
    group.simulated.push_back(us(time.end_ns - time.start_ns));
    if (time.measured) group.measured.push_back(us(time.measured_end_ns - time.measured_start_ns));
  }
  Table table{.name = "collectives",
              .title =
                  "NCCL operations, from the first start on any rank to the last end, and what was "
                  "measured of them (median)",
              .columns = {{.name = "function"},
                          {.name = "algorithm"},
                          {.name = "protocol"},
                          {.name = "count"},
                          time_column("median"),
                          time_column("p90", "nine of ten take no longer"),
                          time_column("sum", "may overlap"),
                          time_column("measured"),
                          time_column("measured sum")}};
  for (const auto& [key, group] : groups) {
    const std::vector<double>& values = group.simulated;
    const auto& [function, algorithm, protocol] = key;
    table.add_row(
        {function, algorithm, protocol, count(values.size()), core::median(values),
         ninetieth_percentile(values), core::sum(values),
         model::cell_of(core::median(group.measured)),
         group.measured.empty() ? model::Cell() : model::Cell(core::sum(group.measured))});
  }
  return table;
}

}  // namespace assay::simulate
