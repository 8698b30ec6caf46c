#include "simulate/operations.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "core/counted.h"
#include "core/statistics.h"

namespace assay::simulate {
namespace {

using model::OperationSpan;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

core::Status check_fit(const model::Schedule& schedule, const model::ScheduleNotes& notes) {
  const std::size_t num_ranks = schedule.ranks().size();
  if (notes.spans.size() != num_ranks || notes.ranks.size() != num_ranks) {
    return core::Error{fmt::format("the notes tell of {}, the schedule has {}",
                                   core::counted(notes.spans.size(), "rank"), num_ranks)};
  }
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    for (const OperationSpan& span : notes.spans[rank]) {
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

// Returns for every operation of the notes the first operation of its launch.
std::vector<std::uint32_t> first_of_launch(const model::ScheduleNotes& notes) {
  std::vector<std::uint32_t> first(notes.operations.size());
  std::iota(first.begin(), first.end(), 0U);
  const auto root = [&](std::uint32_t i) {
    while (first[i] != i)
      i = first[i] = first[first[i]];
    return i;
  };
  for (const std::vector<OperationSpan>& spans : notes.spans) {
    for (std::size_t i = 1; i < spans.size(); ++i) {
      const OperationSpan& before = spans[i - 1];
      if (std::uint64_t{before.first_op} + before.num_ops != spans[i].first_op) continue;
      const std::uint32_t a = root(before.operation);
      const std::uint32_t b = root(spans[i].operation);
      first[std::max(a, b)] = std::min(a, b);
    }
  }
  for (std::uint32_t i = 0; i < first.size(); ++i)
    first[i] = root(i);
  return first;
}

// Adds up the parts of one launch.
class LaunchSum {
 public:
  void add(const Record& record,
           std::uint32_t rank,
           const model::ScheduleNotes& notes,
           const OperationSpan& span) {
    Part& part = parts_[rank];
    part.bytes += notes.operations[span.operation].bytes;
    part.measured_start_ns = std::min(part.measured_start_ns, span.measured_start_ns);
    part.start_ns = std::min(part.start_ns, begin_ns(record, rank, span));
    operations_.insert(span.operation);
    clocks_.insert(notes.ranks[rank].clock);
    timed_ = timed_ && span.measured_end_ns > span.measured_start_ns;
    time_.measured_end_ns = std::max(time_.measured_end_ns, span.measured_end_ns);
    for (std::uint32_t i = 0; i < span.num_ops; ++i) {
      const OpId id{rank, span.first_op + i};
      const OpTimes op = record.times(id);
      time_.end_ns = std::max(time_.end_ns, op.end_ns);
      if (record.op(id).kind == model::OpKind::kSend) {
        time_.source = rank;
        time_.destination = record.op(id).peer;
      }
    }
  }

  [[nodiscard]] bool empty() const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part.second.start_ns == kNever; });
  }

  [[nodiscard]] LaunchTime finish(const model::ScheduleNotes& notes) const {
    LaunchTime time = time_;
    time.operations.assign(operations_.begin(), operations_.end());
    time.num_ranks = static_cast<std::uint32_t>(parts_.size());
    time.start_ns = time.measured_start_ns = kNever;
    time.measured_last_start_ns = -kNever;
    for (const auto& [rank, part] : parts_) {
      time.bytes = std::max(time.bytes, part.bytes);
      time.start_ns = std::min(time.start_ns, part.start_ns);
      if (part.start_ns != kNever) time.last_start_ns = std::max(time.last_start_ns, part.start_ns);
      time.measured_start_ns = std::min(time.measured_start_ns, part.measured_start_ns);
      time.measured_last_start_ns = std::max(time.measured_last_start_ns, part.measured_start_ns);
    }
    const bool pair = operations_.size() == 1 && notes.operations[*operations_.begin()].function ==
                                                     model::NcclFunction::kSendRecv;
    if (!pair) time.source = time.destination = -1;
    if (clocks_.size() > 1) time.measured = Measured::kSeveralClocks;
    if (!timed_) time.measured = Measured::kNoTimes;
    return time;
  }

 private:
  struct Part {
    std::uint64_t bytes = 0;
    std::int64_t start_ns = kNever;
    std::int64_t measured_start_ns = kNever;
  };

  // A receive starts late, when its message is there, but the kernel that waits for it has begun.
  static std::int64_t begin_ns(const Record& record,
                               std::uint32_t rank,
                               const OperationSpan& span) {
    if (span.num_ops == 0) return kNever;
    const std::int64_t start_ns = record.times({rank, span.first_op}).start_ns;
    if (span.first_op == 0) return start_ns;
    const OpId before{rank, span.first_op - 1};
    if (record.op(before).kind != model::OpKind::kCalc) return start_ns;
    return std::min(start_ns, record.times(before).end_ns);
  }

  LaunchTime time_;
  std::map<std::uint32_t, Part> parts_;  // by rank
  std::set<std::uint32_t> operations_;
  std::set<std::uint32_t> clocks_;
  bool timed_ = true;
};

}  // namespace

core::Result<std::vector<LaunchTime>> launch_times(const Outcome& outcome,
                                                   const model::ScheduleNotes& notes) {
  const Record& record = outcome.record();
  ASSAY_TRY(check_fit(record.schedule(), notes));
  const std::vector<std::uint32_t> first = first_of_launch(notes);
  std::map<std::uint32_t, LaunchSum> sums;
  for (std::uint32_t rank = 0; rank < notes.spans.size(); ++rank) {
    for (const OperationSpan& span : notes.spans[rank])
      sums[first[span.operation]].add(record, rank, notes, span);
  }
  std::vector<LaunchTime> times;
  for (const auto& [operation, sum] : sums) {
    if (!sum.empty()) times.push_back(sum.finish(notes));
  }
  return times;
}

namespace {

std::string reason_of(Measured measured) {
  switch (measured) {
    case Measured::kYes:
      return "";
    case Measured::kNoTimes:
      return "no kernel times in the recording";
    case Measured::kSeveralClocks:
      return "ranks on several clocks";
  }
  return "";
}

// What the operations of a launch are: "AllGather + AllReduce" for a group of both.
template <class Name>
std::string names(const LaunchTime& time, const model::ScheduleNotes& notes, const Name& name) {
  std::set<std::string> found;
  for (const std::uint32_t operation : time.operations)
    found.insert(std::string(name(notes.operations[operation])));
  return fmt::format("{}", fmt::join(found, " + "));
}

std::string function_of(const LaunchTime& time, const model::ScheduleNotes& notes) {
  return names(time, notes, [](const auto& operation) { return name_of(operation.function); });
}

std::string algorithm_of(const LaunchTime& time, const model::ScheduleNotes& notes) {
  return names(time, notes, [](const auto& operation) { return name_of(operation.algorithm); });
}

std::string protocol_of(const LaunchTime& time, const model::ScheduleNotes& notes) {
  return names(time, notes, [](const auto& operation) { return name_of(operation.protocol); });
}

double in_us(std::int64_t ns) {
  return static_cast<double>(ns) / 1000;
}

// Returns the smallest value that at most a tenth of the values exceed.
double ninetieth_percentile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(values.size())));
  return values[rank - 1];
}

// Says why launches have no measured time.
void add_reasons(const std::vector<LaunchTime>& times, model::Table& table) {
  for (const Measured why : {Measured::kNoTimes, Measured::kSeveralClocks}) {
    const auto count = std::count_if(times.begin(), times.end(),
                                     [&](const LaunchTime& time) { return time.measured == why; });
    if (count == 0) continue;
    table.notes.push_back(fmt::format("{} of {} {} not measured: {}.", count,
                                      core::counted(times.size(), "launch", "launches"),
                                      count == 1 ? "is" : "are", reason_of(why)));
  }
}

}  // namespace

model::Table operation_table(const std::vector<LaunchTime>& times,
                             const model::ScheduleNotes& notes) {
  model::Table table{.name = "operations",
                     .title = "Launches of NCCL, from the first start on any rank to the last end",
                     .columns = {{.name = "function"},
                                 {.name = "algorithm"},
                                 {.name = "protocol"},
                                 {.name = "parallelism"},
                                 {.name = "communicator"},
                                 {.name = "sequence"},
                                 {.name = "operations"},
                                 {.name = "bytes", .unit = "B"},
                                 {.name = "ranks"},
                                 {.name = "source"},
                                 {.name = "destination"},
                                 {.name = "simulated_start_ns", .unit = "ns"},
                                 {.name = "simulated_last_start_ns", .unit = "ns"},
                                 {.name = "simulated_end_ns", .unit = "ns"},
                                 {.name = "measured_start_ns", .unit = "ns"},
                                 {.name = "measured_last_start_ns", .unit = "ns"},
                                 {.name = "measured_end_ns", .unit = "ns"},
                                 {.name = "not_measured"}}};
  for (const LaunchTime& time : times) {
    const model::ScheduleOperation& first = notes.operations[time.operations.front()];
    const auto known = [](bool is_known, std::int64_t value) {
      return is_known ? model::Cell(value) : model::Cell();
    };
    const bool measured = time.measured == Measured::kYes;
    table.add_row(
        {function_of(time, notes), algorithm_of(time, notes), protocol_of(time, notes),
         names(time, notes, [](const auto& operation) { return operation.parallelism; }),
         names(time, notes, [](const auto& operation) { return operation.communicator; }),
         static_cast<std::int64_t>(first.sequence),
         static_cast<std::int64_t>(time.operations.size()), static_cast<std::int64_t>(time.bytes),
         std::int64_t{time.num_ranks}, known(time.source >= 0, time.source),
         known(time.source >= 0, time.destination), time.start_ns, time.last_start_ns, time.end_ns,
         known(measured, time.measured_start_ns), known(measured, time.measured_last_start_ns),
         known(measured, time.measured_end_ns), reason_of(time.measured)});
  }
  return table;
}

model::Table collective_table(const std::vector<LaunchTime>& times,
                              const model::ScheduleNotes& notes) {
  using Key = std::tuple<std::string, std::string, std::string>;

  struct Group {
    std::vector<double> simulated;
    std::vector<double> measured;
    // Of those that are measured, from the start of the last rank.
    double working = 0;
    double measured_working = 0;
  };

  std::map<Key, Group> groups;
  for (const LaunchTime& time : times) {
    Group& group =
        groups[{function_of(time, notes), algorithm_of(time, notes), protocol_of(time, notes)}];
    group.simulated.push_back(in_us(time.end_ns - time.start_ns));
    if (time.measured != Measured::kYes) continue;
    group.working += in_us(time.end_ns - time.last_start_ns);
    group.measured_working += in_us(time.measured_end_ns - time.measured_last_start_ns);
    group.measured.push_back(in_us(time.measured_end_ns - time.measured_start_ns));
  }
  const auto lower = [](const char* name, const char* description = "") {
    return model::Column{
        .name = name, .unit = "us", .better = model::Better::kLower, .description = description};
  };
  model::Table table{
      .name = "collectives",
      .title =
          "Launches of NCCL, from the first start on any rank to the last end, and what was "
          "measured of them (median)",
      .columns = {{.name = "function"},
                  {.name = "algorithm"},
                  {.name = "protocol"},
                  {.name = "count", .description = "a group is one"},
                  lower("median"),
                  lower("p90", "nine of ten take no longer"),
                  lower("sum", "may overlap"),
                  lower("measured"),
                  lower("measured sum"),
                  {.name = "difference",
                   .unit = "%",
                   .description = "of the times from the last start, in sum"}}};
  for (const auto& [key, group] : groups) {
    const std::vector<double>& values = group.simulated;
    const auto& [function, algorithm, protocol] = key;
    const bool measured = !group.measured.empty();
    table.add_row({function, algorithm, protocol, static_cast<std::int64_t>(values.size()),
                   core::median(values), ninetieth_percentile(values), core::sum(values),
                   model::cell_of(core::median(group.measured)),
                   measured ? model::Cell(core::sum(group.measured)) : model::Cell(),
                   measured ? model::Cell(100 * (group.working / group.measured_working - 1))
                            : model::Cell()});
  }
  table.notes.emplace_back(
      "A launch waits for the rank that starts last: the difference is that of the times from then "
      "on, as 'assay goal validate' has them.");
  add_reasons(times, table);
  return table;
}

}  // namespace assay::simulate
