#include "simulate/collective_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

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

}  // namespace assay::simulate
