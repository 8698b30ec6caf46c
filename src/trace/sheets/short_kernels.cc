#include <algorithm>
#include <map>
#include <tuple>

#include "trace/arguments.h"
#include "trace/launchers.h"
#include "trace/operator_rows.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;
using model::Table;

double duration_us(const RankAnalysis& rank, std::size_t event) {
  return static_cast<double>(rank.trace->gpu_events[event].duration_ns) / 1000;
}

std::vector<std::size_t> short_kernels(const RankAnalysis& rank) {
  std::vector<std::size_t> events;
  for (std::size_t event = 0; event < rank.trace->gpu_events.size(); ++event) {
    const bool kernel = rank.trace->gpu_events[event].kind == model::GpuEventKind::kKernel;
    const bool shown = rank.options.compat == Compat::kTraceLens || rank.counted[event];
    if (kernel && shown && duration_us(rank, event) < rank.options.short_kernel_us) {
      events.push_back(event);
    }
  }
  return events;
}

// Bins of equal width between the shortest and the longest of these kernels.
Table histogram(const RankAnalysis& rank, const std::vector<std::size_t>& events) {
  Table table{"short_kernel_histogram",
              "How many kernels are how short",
              {{"bin_start", "µs"}, {"bin_end", "µs"}, {"count"}}};
  if (events.empty()) return table;
  std::vector<double> durations;
  for (const std::size_t event : events)
    durations.push_back(duration_us(rank, event));
  const auto [low, high] = std::minmax_element(durations.begin(), durations.end());
  const auto bins = static_cast<std::size_t>(rank.options.short_kernel_bins);
  // All kernels equally long: one bin's width must not be zero.
  const double first = *low == *high ? *low - 0.5 : *low;
  const double width = (*low == *high ? 1.0 : *high - *low) / static_cast<double>(bins);
  std::vector<std::int64_t> counts(bins, 0);
  for (const double duration : durations) {
    ++counts[std::min(bins - 1, static_cast<std::size_t>((duration - first) / width))];
  }
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto edge = [&](std::size_t i) { return first + width * static_cast<double>(i); };
    table.add_row({edge(bin), edge(bin + 1), counts[bin]});
  }
  return table;
}

struct Key {
  model::TextId launcher = 0;
  ArgumentTexts arguments;
  model::TextId kernel = 0;

  auto operator<=>(const Key&) const = default;
};

struct Sum {
  double us = 0;
  std::int64_t count = 0;
  std::size_t first = 0;
};

Key key_of(const RankAnalysis& rank, std::size_t event) {
  const model::Trace& trace = *rank.trace;
  Key key{0, {}, trace.gpu_events[event].name};
  const NodeId call = rank.tree.launched_by[event];
  if (call == kNoNode) return key;
  const Node& launcher = rank.tree.nodes[launcher_of(trace, rank.tree, call)];
  key.launcher = node_name(trace, launcher);
  key.arguments = argument_texts(trace, launcher);
  return key;
}

// The public tool drops rows of which any part of the key is missing.
bool dropped(const RankAnalysis& rank, const Key& key) {
  return rank.options.compat == Compat::kTraceLens &&
         (key.arguments.dims == 0 || key.arguments.strides == 0 || key.arguments.concrete == 0);
}

std::vector<std::pair<Key, Sum>> summed(const RankAnalysis& rank,
                                        const std::vector<std::size_t>& events) {
  std::map<Key, Sum> groups;
  for (const std::size_t event : events) {
    const Key key = key_of(rank, event);
    if (dropped(rank, key)) continue;
    const auto [found, inserted] = groups.try_emplace(key);
    if (inserted) found->second.first = groups.size();
    found->second.us += duration_us(rank, event);
    ++found->second.count;
  }
  std::vector<std::pair<Key, Sum>> sorted(groups.begin(), groups.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second.us, a.second.first) < std::tie(a.second.us, b.second.first);
  });
  return sorted;
}

Table summary(const RankAnalysis& rank, const std::vector<std::size_t>& events) {
  Table table{"short_kernels_summary",
              "Short kernels by launching operator",
              {{"Parent cpu_op"},
               {"Input dims"},
               {"Input strides"},
               {"Concrete Inputs"},
               {"Kernel name"},
               {"Short Kernel duration (µs) sum", "µs", Better::kLower},
               {"Short Kernel count"},
               {"Short Kernel duration (µs) mean", "µs", Better::kLower},
               {"Short Kernel duration (µs) percent of total time", "%"}}};
  const model::Trace& trace = *rank.trace;
  for (const auto& [key, sum] : summed(rank, events)) {
    std::vector<Cell> row{std::string(trace.text(key.launcher))};
    for (const model::TextId id :
         {key.arguments.dims, key.arguments.strides, key.arguments.concrete}) {
      row.emplace_back(python_repr_json(trace.text(id), Brackets::kTuple));
    }
    row.emplace_back(std::string(trace.text(key.kernel)));
    row.emplace_back(sum.us);
    row.emplace_back(sum.count);
    row.emplace_back(sum.us / static_cast<double>(sum.count));
    row.emplace_back(percent(sum.us, rank.total_time_us));
    table.add_row(std::move(row));
  }
  return table;
}

std::vector<Table> build(const RankAnalysis& rank) {
  if (rank.trace->gpu_events.empty()) return {};
  const std::vector<std::size_t> events = short_kernels(rank);
  return {histogram(rank, events), summary(rank, events)};
}

const SheetSpec kSheet{.name = "short_kernels", .position = 800, .build = build};
ASSAY_REGISTER(SheetSpec, kSheet);

}  // namespace
}  // namespace assay::trace
