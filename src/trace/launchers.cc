#include "trace/launchers.h"

#include <algorithm>

namespace assay::trace {

NodeId launcher_of(const model::Trace& trace, const CallTree& tree, NodeId call) {
  for (NodeId node = tree.nodes[call].parent; node != kNoNode; node = tree.nodes[node].parent) {
    if (tree.is_cpu_op(node) && trace.text(node_name(trace, tree.nodes[node])) != "execute") {
      return node;
    }
  }
  return call;
}

std::vector<Launcher> find_launchers(const RankAnalysis& rank) {
  struct Launch {
    NodeId launcher;
    std::uint32_t position;  // in launch order
  };

  const CallTree& tree = rank.tree;
  std::vector<Launch> launches;
  for (std::uint32_t i = 0; i < tree.gpu_events.size(); ++i) {
    const std::uint32_t event = tree.gpu_events[i];
    if (!rank.counted[event] || rank.gpu_work[event] == GpuWork::kCommunication) continue;
    launches.push_back({launcher_of(*rank.trace, tree, tree.launched_by[event]), i});
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.launcher < b.launcher; });
  std::vector<Launcher> launchers;
  for (const Launch& launch : launches) {
    if (launchers.empty() || launchers.back().node != launch.launcher) {
      launchers.push_back({launch.launcher, {}, 0, 0});
    }
    launchers.back().kernels.push_back(tree.gpu_events[launch.position]);
  }
  for (Launcher& launcher : launchers) {
    launcher.direct_us = rank.busy_us(launcher.kernels);
    launcher.subtree_us = rank.busy_us(tree.gpu_events_below(launcher.node));
  }
  return launchers;
}

}  // namespace assay::trace
