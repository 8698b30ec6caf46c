#include "goal/schedule_statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace assay::goal {
namespace {

using model::Cell;
using model::OpKind;
using model::ScheduleOp;

constexpr std::size_t kKinds = 3;
constexpr std::size_t kSizeClasses = 65;  // 0, then [2^(i-1), 2^i)

struct Amount {
  std::uint64_t operations = 0;
  std::uint64_t size = 0;  // bytes, or nanoseconds

  void add(const Amount& other) {
    operations += other.operations;
    size += other.size;
  }
};

// One kind of operation over all ranks.
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

model::Table operations_table(const Totals& totals) {
  model::Table table{.name = "operations",
                     .title = "Operations by kind; min and max are those of a rank",
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
    table.add_row({std::string(names[kind]), cell(totals_of_kind.total.operations),
                   cell(totals_of_kind.least.operations), cell(totals_of_kind.most.operations),
                   cell(totals_of_kind.total.size), cell(totals_of_kind.least.size),
                   cell(totals_of_kind.most.size), std::string(kind == 2 ? "ns" : "bytes")});
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

model::Book schedule_statistics(const model::Schedule& schedule, std::string_view name) {
  Totals totals;
  for (const model::RankView& rank : schedule.ranks())
    add_rank(rank, totals);
  return {
      .title = fmt::format("GOAL schedule {}", name),
      .tables = {schedule_table(schedule, totals), operations_table(totals), sizes_table(totals)}};
}

}  // namespace assay::goal
