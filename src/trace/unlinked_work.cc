#include "trace/unlinked_work.h"

#include <algorithm>
#include <map>
#include <utility>

namespace assay::trace {
namespace {

using Stream = std::pair<std::int32_t, std::int32_t>;  // device, stream

Stream stream_of(const model::GpuEvent& event) {
  return {event.device, event.stream};
}

std::vector<std::uint32_t> by_start(const model::Trace& trace) {
  std::vector<std::uint32_t> order(trace.gpu_events.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.gpu_events[a].start_ns < trace.gpu_events[b].start_ns;
  });
  return order;
}

}  // namespace

std::vector<UnlinkedWork> find_unlinked_work(const model::Trace& trace, const CallTree& tree) {
  const auto& launched_by = tree.launched_by;
  if (std::find(launched_by.begin(), launched_by.end(), kNoNode) == launched_by.end()) return {};
  // The call that launched the latest linked work so far, by stream. Only streams with linked work.
  std::map<Stream, NodeId> latest;
  for (std::size_t i = 0; i < launched_by.size(); ++i)
    if (launched_by[i] != kNoNode) latest[stream_of(trace.gpu_events[i])] = kNoNode;
  NodeId latest_of_all = kNoNode;
  std::vector<UnlinkedWork> result;
  for (const std::uint32_t event : by_start(trace)) {
    const auto own = latest.find(stream_of(trace.gpu_events[event]));
    if (launched_by[event] != kNoNode) {
      own->second = latest_of_all = launched_by[event];
      continue;
    }
    const NodeId before = own == latest.end() ? latest_of_all : own->second;
    result.push_back({.event = event,
                      .is_leaked = before == kNoNode && !trace.runtime_calls.empty(),
                      .call_before = before});
  }
  std::sort(result.begin(), result.end(),
            [](const UnlinkedWork& a, const UnlinkedWork& b) { return a.event < b.event; });
  return result;
}

}  // namespace assay::trace
