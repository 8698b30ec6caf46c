#include <algorithm>
#include <map>
#include <tuple>

#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

using model::Better;

bool event_recomputes(const RankAnalysis& rank, std::size_t event) {
  const NodeId call = rank.tree.launched_by[event];
  return call != kNoNode && rank.recomputes(call);
}

// As the public tool divides its gpu_timeline: each part as if the other did not exist.
model::Table recompute_timeline(const RankAnalysis& rank) {
  model::Table table{"gpu_timeline_recompute",
                     "gpu_timeline of the work that backward computes again, and of all other work",
                     {{"is_recompute"},
                      {"type"},
                      {"time ms", "ms", Better::kLower, "union over all streams"},
                      {"percent", "%", Better::kNeither, "of this part's total_time"}}};
  for (const bool recompute : {false, true}) {
    const Timeline times = timeline(busy_intervals(
        rank, [&](std::size_t event) { return event_recomputes(rank, event) == recompute; }));
    const auto rows = times.rows();
    for (std::size_t i = 0; i < rows.size(); ++i)
      table.add_row({recompute, std::string(kTimelineRows[i]), rank.time.milliseconds(rows[i]),
                     percent(static_cast<double>(rows[i]), static_cast<double>(times.total))});
  }
  return table;
}

using RecomputeKey = std::tuple<model::TextId, model::TextId, model::TextId>;

struct RecomputeSum {
  std::int64_t calls = 0;
  double kernel_us = 0;
};

model::Table recompute_table(const RankAnalysis& rank) {
  std::map<RecomputeKey, RecomputeSum> sums;
  double all_us = 0;
  for (const Launcher& launcher : rank.launchers) {
    all_us += launcher.direct_us;
    if (!rank.recomputes(launcher.node)) continue;
    const Node& node = rank.tree.nodes[launcher.node];
    const ArgumentTexts arguments = argument_texts(*rank.trace, node);
    RecomputeSum& sum = sums[{node_name(*rank.trace, node), arguments.dims, arguments.types}];
    ++sum.calls;
    sum.kernel_us += launcher.direct_us;
  }
  std::vector<std::pair<RecomputeKey, RecomputeSum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.kernel_us > b.second.kernel_us;
  });
  model::Table table{"recompute",
                     "Operators of checkpointed layers that backward computes again",
                     {{"name"},
                      {"Input Dims"},
                      {"Input type"},
                      {"operation_count"},
                      {"kernel time ms", "ms", Better::kLower},
                      {"Percentage (%)", "%", Better::kNeither, "of the time of all operators"},
                      {"Cumulative Percentage (%)", "%"}}};
  double cumulative = 0;
  for (const auto& [key, sum] : order) {
    const auto& [name, dims, types] = key;
    cumulative += percent(sum.kernel_us, all_us);
    table.add_row({std::string(rank.trace->text(name)), std::string(rank.trace->text(dims)),
                   std::string(rank.trace->text(types)), sum.calls, sum.kernel_us / 1000,
                   percent(sum.kernel_us, all_us), cumulative});
  }
  return table;
}

std::vector<model::Table> build_recompute(const RankAnalysis& rank) {
  if (!rank.options.detect_recompute) return {};
  return {recompute_timeline(rank), recompute_table(rank)};
}

const SheetSpec kRecompute{.name = "recompute", .position = 110, .build = build_recompute};
ASSAY_REGISTER(SheetSpec, kRecompute);

}  // namespace
}  // namespace assay::trace
