#include "goal/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/counted.h"

namespace assay::goal {
namespace {

using model::Cell;
using model::Table;

template <class Number>
Cell count(Number value) {
  return static_cast<std::int64_t>(value);
}

Cell milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

Table gpus_table(const model::Job& job) {
  Table table{.name = "gpus",
              .title = "GPUs of the recording; the rank is the one in the schedule",
              .columns = {{.name = "rank"},
                          {.name = "node"},
                          {.name = "process"},
                          {.name = "device"},
                          {.name = "streams"},
                          {.name = "operations"},
                          {.name = "recorded", .unit = "ms"},
                          {.name = "in NCCL", .unit = "ms"}}};
  for (std::size_t rank = 0; rank < job.gpus.size(); ++rank) {
    const model::JobGpu& gpu = job.gpus[rank];
    std::int64_t busy_ns = 0;
    std::int64_t busy_until_ns = gpu.window_start_ns;
    for (const model::Operation& operation : gpu.operations) {
      const std::int64_t from_ns = std::max(operation.start_ns, busy_until_ns);
      busy_ns += std::max<std::int64_t>(operation.end_ns - from_ns, 0);
      busy_until_ns = std::max(busy_until_ns, operation.end_ns);
    }
    table.add_row({count(rank), gpu.node, gpu.process_id,
                   gpu.device < 0 ? Cell{} : count(gpu.device), count(gpu.streams.size()),
                   count(gpu.operations.size()),
                   milliseconds(gpu.window_end_ns - gpu.window_start_ns), milliseconds(busy_ns)});
  }
  return table;
}

std::size_t nodes_of(const model::Communicator& communicator, const model::Job& job) {
  std::set<std::string> nodes;
  for (const std::uint32_t gpu : communicator.gpus) {
    if (gpu != model::kNoGpu) nodes.insert(job.gpus[gpu].node);
  }
  return nodes.size();
}

// Returns whether every rank has both neighbours in every ring.
std::string rings_known(const model::Communicator& communicator) {
  if (communicator.channels.empty()) return "no";
  for (const auto& channel : communicator.channels) {
    for (const model::ChannelLinks& links : channel) {
      if (links.ring_next < 0 || links.ring_previous < 0) return "in part";
    }
  }
  return "yes";
}

std::vector<std::int64_t> operations_by_communicator(const model::Job& job) {
  std::vector<std::int64_t> counts(job.communicators.size());
  for (const model::JobGpu& gpu : job.gpus) {
    for (const model::Operation& operation : gpu.operations) {
      if (operation.communicator != model::kNoCommunicator) ++counts[operation.communicator];
    }
  }
  return counts;
}

Table communicators_table(const model::Job& job) {
  Table table{.name = "communicators",
              .title = "Communicators of the recording",
              .columns = {{.name = "name"},
                          {.name = "ranks"},
                          {.name = "not recorded"},
                          {.name = "nodes"},
                          {.name = "channels"},
                          {.name = "rings known"},
                          {.name = "operations", .description = "of all ranks"}}};
  const std::vector<std::int64_t> operations = operations_by_communicator(job);
  for (std::size_t i = 0; i < job.communicators.size(); ++i) {
    const model::Communicator& communicator = job.communicators[i];
    table.add_row(
        {communicator.name, count(communicator.gpus.size()),
         count(std::count(communicator.gpus.begin(), communicator.gpus.end(), model::kNoGpu)),
         count(nodes_of(communicator, job)), count(communicator.channels.size()),
         rings_known(communicator), operations[i]});
  }
  return table;
}

bool is_of_communicator(const model::Operation& operation) {
  return operation.communicator != model::kNoCommunicator;
}

struct OperationTotals {
  std::int64_t operations = 0;
  std::int64_t with_parts = 0;
  std::uint64_t bytes = 0;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = 0;
  std::int64_t duration_ns = 0;

  void add(const model::Operation& operation) {
    least_bytes = operations == 0 ? operation.bytes : std::min(least_bytes, operation.bytes);
    most_bytes = std::max(most_bytes, operation.bytes);
    ++operations;
    with_parts += operation.num_parts > 0 ? 1 : 0;
    bytes += operation.bytes;
    duration_ns += operation.end_ns - operation.start_ns;
  }
};

std::string shown(std::string_view name) {
  return name == "NONE" ? "" : std::string(name);
}

Table operations_table(const model::Job& job) {
  Table table{.name = "operations",
              .title = "Operations of all GPUs",
              .columns = {{.name = "function"},
                          {.name = "algorithm"},
                          {.name = "protocol"},
                          {.name = "operations"},
                          {.name = "with channels",
                           .description = "operations whose channels' shares were recorded"},
                          {.name = "data", .unit = "MB"},
                          {.name = "least", .unit = "B"},
                          {.name = "most", .unit = "B"},
                          {.name = "mean time", .unit = "ms"}}};
  using Kind = std::tuple<model::NcclFunction, model::NcclAlgorithm, model::NcclProtocol>;
  std::map<Kind, OperationTotals> kinds;
  for (const model::JobGpu& gpu : job.gpus) {
    for (const model::Operation& operation : gpu.operations) {
      if (!is_of_communicator(operation)) continue;
      kinds[{operation.function, operation.algorithm, operation.protocol}].add(operation);
    }
  }
  for (const auto& [kind, totals] : kinds) {
    table.add_row({std::string(name_of(std::get<0>(kind))), shown(name_of(std::get<1>(kind))),
                   shown(name_of(std::get<2>(kind))), totals.operations, totals.with_parts,
                   static_cast<double>(totals.bytes) / 1e6, count(totals.least_bytes),
                   count(totals.most_bytes),
                   totals.duration_ns > 0
                       ? Cell(milliseconds(totals.duration_ns / totals.operations))
                       : Cell()});
  }
  return table;
}

std::uint64_t in_all(const model::KernelMatches& matches) {
  return matches.by_correlation + matches.by_order + matches.by_time;
}

Table kernels_table(const model::KernelMatches& matches) {
  Table table{.name = "kernels",
              .title = "NCCL's kernels of the whole recording, by what ties them to operations",
              .columns = {{.name = "found by"}, {.name = "kernels"}}};
  table.add_row({std::string("the launch that the profiler linked to the kernel"),
                 count(matches.by_correlation)});
  table.add_row({std::string("the order of a stream"), count(matches.by_order)});
  table.add_row({std::string("the kernel that started next"), count(matches.by_time)});
  table.add_row({std::string("in all"), count(in_all(matches))});
  return table;
}

Table warnings_table(const model::Job& job) {
  Table table{
      .name = "warnings",
      .title = "What was wrong and what was done about it",
      .columns = {
          {.name = "count"}, {.name = "reason"}, {.name = "effect"}, {.name = "for example"}}};
  for (const model::Warning& warning : job.warnings.all())
    table.add_row({warning.count, warning.reason, warning.effect, warning.example});
  return table;
}

}  // namespace

model::Book summarize_job(const model::Job& job) {
  const std::string version = job.nccl_version.empty() ? "" : " with NCCL " + job.nccl_version;
  model::Book book{
      .title = fmt::format("A recording of {}{}", core::counted(job.gpus.size(), "GPU"), version),
      .tables = {gpus_table(job), communicators_table(job), operations_table(job)}};
  if (in_all(job.matches) > 0) book.tables.push_back(kernels_table(job.matches));
  book.tables.push_back(warnings_table(job));
  return book;
}

namespace {

using model::Cell;
using model::OpKind;
using model::ScheduleOp;

constexpr std::size_t kKinds = 3;
constexpr std::size_t kSizeClasses = 65;  // size 0, then [2^(i-1), 2^i)

struct Amount {
  std::uint64_t operations = 0;
  std::uint64_t size = 0;  // bytes, or nanoseconds

  void add(const Amount& other) {
    operations += other.operations;
    size += other.size;
  }
};

// The totals of one kind of operation over all ranks.
struct KindTotals {
  Amount total;
  Amount least = {.operations = std::numeric_limits<std::uint64_t>::max(),
                  .size = std::numeric_limits<std::uint64_t>::max()};
  Amount most;

  void add_rank(const Amount& rank) {
    total.add(rank);
    least = {std::min(least.operations, rank.operations), std::min(least.size, rank.size)};
    most = {std::max(most.operations, rank.operations), std::max(most.size, rank.size)};
  }
};

struct Totals {
  std::array<KindTotals, kKinds> kinds;
  std::array<Amount, kSizeClasses> sizes;
  std::uint64_t operations = 0;
  std::uint64_t fewest_operations = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most_operations = 0;
  std::uint64_t roots = 0;
  std::uint64_t finish_dependencies = 0;
  std::uint64_t start_dependencies = 0;
};

void add_rank(const model::RankView& rank, Totals& totals) {
  std::array<Amount, kKinds> kinds;
  for (const ScheduleOp& op : rank.ops) {
    const Amount one{.operations = 1, .size = op.size};
    kinds[static_cast<std::size_t>(op.kind) - 1].add(one);
    if (op.kind == OpKind::kSend) {
      totals.sizes[static_cast<std::size_t>(std::bit_width(one.size))].add(one);
    }
    totals.finish_dependencies += op.finish_dependents;
    totals.start_dependencies += op.start_dependents;
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    totals.kinds[kind].add_rank(kinds[kind]);
  totals.operations += rank.ops.size();
  totals.fewest_operations = std::min<std::uint64_t>(totals.fewest_operations, rank.ops.size());
  totals.most_operations = std::max<std::uint64_t>(totals.most_operations, rank.ops.size());
  totals.roots += rank.roots.size();
}

Cell cell(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

model::Table schedule_table(const model::Schedule& schedule, const Totals& totals) {
  model::Table table{.name = "schedule",
                     .title = "The schedule",
                     .columns = {{.name = "figure"}, {.name = "value"}, {.name = "meaning"}}};
  const auto add = [&](const char* name, std::uint64_t value, const char* meaning) {
    table.add_row({std::string(name), cell(value), std::string(meaning)});
  };
  add("ranks", schedule.ranks().size(), "");
  add("operations", totals.operations, "");
  add("fewest operations", totals.fewest_operations, "of a rank");
  add("most operations", totals.most_operations, "of a rank");
  add("roots", totals.roots, "operations that wait for nothing");
  add("requires", totals.finish_dependencies, "dependencies on the end of an operation");
  add("irequires", totals.start_dependencies, "dependencies on the start of an operation");
  add("cpus", schedule.max_cpu() + 1, "of each rank");
  add("nics", schedule.max_nic() + 1, "of each rank");
  return table;
}

model::Table operations_table(const Totals& totals, double time_unit_ns) {
  const std::string unit =
      time_unit_ns == 1
          ? ""
          : fmt::format("; the schedule counts calculations in units of {} ns", time_unit_ns);
  model::Table table{.name = "operations",
                     .title = "Operations by kind; min and max are those of a rank" + unit,
                     .columns = {{.name = "kind"},
                                 {.name = "operations"},
                                 {.name = "operations_min"},
                                 {.name = "operations_max"},
                                 {.name = "total"},
                                 {.name = "total_min"},
                                 {.name = "total_max"},
                                 {.name = "unit"}}};
  const std::array<const char*, kKinds> names = {"send", "receive", "calculation"};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const KindTotals& totals_of_kind = totals.kinds[kind];
    const bool is_time = kind == 2;
    const auto size = [&](std::uint64_t amount) {
      if (!is_time || time_unit_ns == 1) return cell(amount);
      return cell(
          static_cast<std::uint64_t>(std::llround(static_cast<double>(amount) * time_unit_ns)));
    };
    table.add_row({std::string(names[kind]), cell(totals_of_kind.total.operations),
                   cell(totals_of_kind.least.operations), cell(totals_of_kind.most.operations),
                   size(totals_of_kind.total.size), size(totals_of_kind.least.size),
                   size(totals_of_kind.most.size), std::string(is_time ? "ns" : "bytes")});
  }
  return table;
}

model::Table sizes_table(const Totals& totals) {
  model::Table table{.name = "message_sizes",
                     .title = "Messages sent, by size",
                     .columns = {{.name = "from", .unit = "bytes"},
                                 {.name = "to", .unit = "bytes", .description = "inclusive"},
                                 {.name = "messages"},
                                 {.name = "messages_share", .unit = "%"},
                                 {.name = "volume", .unit = "bytes"},
                                 {.name = "volume_share", .unit = "%"}}};
  const Amount& all = totals.kinds[0].total;
  const auto share = [](std::uint64_t part, std::uint64_t whole) -> Cell {
    if (whole == 0) return {};
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    const Amount& amount = totals.sizes[i];
    if (amount.operations == 0) continue;
    const std::uint64_t from = i == 0 ? 0 : std::uint64_t{1} << (i - 1);
    table.add_row({cell(from), cell(i == 0 ? 0 : from + (from - 1)), cell(amount.operations),
                   share(amount.operations, all.operations), cell(amount.size),
                   share(amount.size, all.size)});
  }
  return table;
}

}  // namespace

model::Book schedule_statistics(const model::Schedule& schedule,
                                std::string_view name,
                                double time_unit_ns) {
  Totals totals;
  for (const model::RankView& rank : schedule.ranks())
    add_rank(rank, totals);
  return {.title = fmt::format("GOAL schedule {}", name),
          .tables = {schedule_table(schedule, totals), operations_table(totals, time_unit_ns),
                     sizes_table(totals)}};
}

}  // namespace assay::goal
