#include <algorithm>
#include <map>
#include <tuple>

#include "trace/arguments.h"
#include "trace/call_tree.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;
using model::Table;

std::vector<std::size_t> short_kernels(const RankAnalysis& rank) {
  std::vector<std::size_t> events;
  for (std::size_t event = 0; event < rank.trace->gpu_events.size(); ++event) {
    const bool kernel = rank.trace->gpu_events[event].kind == model::GpuEventKind::kKernel;
    const bool shown = rank.options.compat == Compat::kTraceLens || rank.counted[event];
    if (kernel && shown && rank.gpu_event_us(event) < rank.options.short_kernel_us) {
      events.push_back(event);
    }
  }
  return events;
}

// The bins have equal width between the shortest and the longest of these kernels.
Table short_kernel_histogram(const RankAnalysis& rank, const std::vector<std::size_t>& events) {
  Table table{"short_kernel_histogram",
              "How many kernels are how short",
              {{"bin_start", "µs"}, {"bin_end", "µs"}, {"count"}}};
  if (events.empty()) return table;
  std::vector<double> durations;
  for (const std::size_t event : events)
    durations.push_back(rank.gpu_event_us(event));
  const auto [low, high] = std::minmax_element(durations.begin(), durations.end());
  const auto bins = static_cast<std::size_t>(rank.options.short_kernel_bins);
  // The width of a bin must not be zero when all kernels are equally long.
  const double first = *low == *high ? *low - 0.5 : *low;
  const double width = (*low == *high ? 1.0 : *high - *low) / static_cast<double>(bins);
  std::vector<std::int64_t> counts(bins, 0);
  const auto edge = [&](std::size_t i) { return first + width * static_cast<double>(i); };
  for (const double duration : durations) {
    // The division may round across an edge of a bin. The edges as shown decide.
    std::size_t bin = std::min(bins - 1, static_cast<std::size_t>((duration - first) / width));
    if (duration < edge(bin)) --bin;
    if (bin + 1 < bins && duration >= edge(bin + 1)) ++bin;
    ++counts[bin];
  }
  for (std::size_t bin = 0; bin < bins; ++bin) {
    table.add_row({edge(bin), edge(bin + 1), counts[bin]});
  }
  return table;
}

struct ShortKernelKey {
  model::TextId launcher = 0;
  ArgumentTexts arguments;
  model::TextId kernel = 0;

  auto operator<=>(const ShortKernelKey&) const = default;
};

// Whole nanoseconds, so that equal sums are equal whatever the order of their terms.
struct ShortKernelSum {
  std::int64_t ns = 0;
  std::int64_t count = 0;
  std::size_t first = 0;
};

// The key has what its row shows, which of the arguments is not their types.
ShortKernelKey short_kernel_key(const RankAnalysis& rank,
                                CallIdentities& identities,
                                std::size_t event) {
  const model::Trace& trace = *rank.trace;
  ShortKernelKey key{0, {}, trace.gpu_events[event].name};
  const NodeId call = rank.tree.launched_by[event];
  if (call == kNoNode || hides_operators(rank)) return key;
  const Node& launcher = rank.tree.nodes[launcher_of(trace, rank.tree, call)];
  key.launcher = node_name(trace, launcher);
  key.arguments = identities.of(launcher).arguments;
  key.arguments.types = 0;
  return key;
}

// The public tool drops rows whose key lacks a part.
bool is_dropped(const RankAnalysis& rank, const ShortKernelKey& key) {
  return rank.options.compat == Compat::kTraceLens && !hides_operators(rank) &&
         (key.arguments.dims == 0 || key.arguments.strides == 0 || key.arguments.concrete == 0);
}

std::vector<std::pair<ShortKernelKey, ShortKernelSum>> sums_by_key(
    const RankAnalysis& rank, const std::vector<std::size_t>& events) {
  CallIdentities identities(*rank.trace);
  std::map<ShortKernelKey, ShortKernelSum> groups;
  for (const std::size_t event : events) {
    const ShortKernelKey key = short_kernel_key(rank, identities, event);
    if (is_dropped(rank, key)) continue;
    const auto [found, inserted] = groups.try_emplace(key);
    if (inserted) found->second.first = groups.size();
    found->second.ns += rank.gpu_event_ns(event);
    ++found->second.count;
  }
  std::vector<std::pair<ShortKernelKey, ShortKernelSum>> sorted(groups.begin(), groups.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second.ns, a.second.count, a.second.first) <
           std::tie(a.second.ns, b.second.count, b.second.first);
  });
  return sorted;
}

std::vector<model::Column> short_kernel_columns(const RankAnalysis& rank) {
  std::vector<model::Column> columns;
  if (!hides_operators(rank))
    columns = {{"Parent cpu_op"}, {"Input dims"}, {"Input strides"}, {"Concrete Inputs"}};
  columns.push_back({"Kernel name"});
  columns.push_back({"Short Kernel duration (µs) sum", "µs", Better::kLower});
  columns.push_back({"Short Kernel count"});
  columns.push_back({"Short Kernel duration (µs) mean", "µs", Better::kLower});
  columns.push_back({"Short Kernel duration (µs) percent of total time", "%"});
  return columns;
}

void add_launcher(const RankAnalysis& rank, const ShortKernelKey& key, std::vector<Cell>& row) {
  const model::Trace& trace = *rank.trace;
  row.emplace_back(std::string(trace.text(key.launcher)));
  for (const model::TextId id :
       {key.arguments.dims, key.arguments.strides, key.arguments.concrete}) {
    row.emplace_back(python_repr_json(trace.text(id), Brackets::kTuple));
  }
}

Table short_kernel_summary(const RankAnalysis& rank, const std::vector<std::size_t>& events) {
  Table table{"short_kernels_summary", "Short kernels by launching operator",
              short_kernel_columns(rank)};
  const model::Trace& trace = *rank.trace;
  for (const auto& [key, sum] : sums_by_key(rank, events)) {
    std::vector<Cell> row;
    if (!hides_operators(rank)) add_launcher(rank, key, row);
    row.emplace_back(std::string(trace.text(key.kernel)));
    const double sum_us = static_cast<double>(sum.ns) / 1000;
    row.emplace_back(sum_us);
    row.emplace_back(sum.count);
    row.emplace_back(sum_us / static_cast<double>(sum.count));
    row.emplace_back(percent(sum_us, rank.total_time_us));
    table.add_row(std::move(row));
  }
  return table;
}

std::vector<Table> build_short_kernels(const RankAnalysis& rank) {
  if (rank.trace->gpu_events.empty()) return {};
  const std::vector<std::size_t> events = short_kernels(rank);
  return {short_kernel_histogram(rank, events), short_kernel_summary(rank, events)};
}

const SheetSpec kShortKernels{
    .name = "short_kernels", .position = 800, .build = build_short_kernels};
ASSAY_REGISTER(SheetSpec, kShortKernels);

}  // namespace
}  // namespace assay::trace
