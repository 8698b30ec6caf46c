#include "simulate/collective_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace assay::simulate {
namespace {

core::Status check_fit(const model::Schedule& schedule, const model::ScheduleNotes& notes) {
  const std::size_t num_ranks = schedule.ranks().size();
  if (notes.spans.size() != num_ranks) {
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

}  // namespace

core::Result<std::vector<CollectiveTime>> collective_times(const Outcome& outcome,
                                                           const model::ScheduleNotes& notes) {
  const Record& record = outcome.record();
  ASSAY_TRY(check_fit(record.schedule(), notes));
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::vector<CollectiveTime> times(notes.operations.size());
  for (std::uint32_t i = 0; i < times.size(); ++i)
    times[i] = {i, kNever, 0};
  for (std::uint32_t rank = 0; rank < notes.spans.size(); ++rank) {
    for (const model::OperationSpan& span : notes.spans[rank]) {
      CollectiveTime& time = times[span.operation];
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

}  // namespace assay::simulate
