#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "trace/call_tree.h"
#include "trace/path/execution.h"
#include "trace/perf/kernel_category.h"
#include "trace/step_periods.h"

namespace assay::trace::path {
namespace {

class WorkRecorder {
 public:
  WorkRecorder(const RankAnalysis& rank, const collectives::RankRecording& communication)
      : rank_(rank), trace_(*rank.trace), communication_(communication) {}

  RankWorks record() {
    result_.rank = rank_.rank;
    add_works();
    const std::vector<Interval> periods = period_intervals(rank_.steps);
    for (std::size_t s = 0; s < rank_.steps.size(); ++s) {
      const Step& step = rank_.steps[s];
      result_.steps.push_back({.number = step.number,
                               .window = step.window,
                               .work_end = step.work_end,
                               .period_ns = periods[s].length()});
    }
    add_waits();
    result_.works.shrink_to_fit();
    return std::move(result_);
  }

 private:
  using Key = std::array<std::uint32_t, 4>;

  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::size_t hash = 0;
      for (const std::uint32_t part : key)
        hash = hash * 0x9E3779B97F4A7C15ULL + part;
      return hash ^ (hash >> 32);
    }
  };

  static std::uint32_t threads_in(const std::array<std::uint32_t, 3>& dims) {
    return dims[0] * dims[1] * dims[2];
  }

  void add_works() {
    std::uint32_t collective_event = 0;
    for (std::uint32_t i = 0; i < rank_.gpu_intervals.size(); ++i) {
      if (!rank_.counted[i]) continue;
      const bool communicates = rank_.gpu_work[i] == GpuWork::kCommunication;
      const std::uint32_t event = communicates ? collective_event++ : kNone;
      result_.works.push_back({.start_ns = rank_.gpu_intervals[i].start,
                               .end_ns = rank_.gpu_intervals[i].end,
                               .launched_ns = launch_time(i),
                               .kernel = kernel_of(i, event),
                               .lane = lane_of(trace_.gpu_events[i]),
                               .event = i,
                               .join = event,
                               .kind = rank_.gpu_work[i]});
    }
  }

  [[nodiscard]] NodeId call_of(std::uint32_t event) const {
    return rank_.tree.launched_by.empty() ? kNoNode : rank_.tree.launched_by[event];
  }

  [[nodiscard]] std::int64_t launch_time(std::uint32_t event) const {
    const NodeId call = call_of(event);
    if (call == kNoNode || is_graph_replay(trace_, rank_.tree, call)) return kUnknownTime;
    return node_start_ns(trace_, rank_.tree.nodes[call]);
  }

  std::uint32_t lane_of(const model::GpuEvent& gpu) {
    const auto [lane, is_new] = lanes_.try_emplace(
        std::pair(gpu.device, gpu.stream), static_cast<std::uint32_t>(result_.lanes.size()));
    if (is_new) result_.lanes.push_back({.device = gpu.device, .stream = gpu.stream});
    return lane->second;
  }

  std::uint32_t kernel_of(std::uint32_t event, std::uint32_t collective_event) {
    const model::GpuEvent& gpu = trace_.gpu_events[event];
    const std::uint32_t message =
        collective_event == kNone ? 0 : 1 + communication_.events[collective_event].metadata;
    const Key key{gpu.name, threads_in(gpu.grid), threads_in(gpu.block), message};
    const auto [place, is_new] =
        known_.try_emplace(key, static_cast<std::uint32_t>(result_.kernels.size()));
    if (!is_new) return place->second;
    const std::string_view name = trace_.text(gpu.name);
    result_.kernels.push_back({.name = std::string(name),
                               .category = std::string(category_of(gpu, name)),
                               .operator_name = operator_of(event),
                               .blocks = threads_in(gpu.grid),
                               .threads = threads_in(gpu.block),
                               .collective = collective_event});
    return place->second;
  }

  static std::string_view category_of(const model::GpuEvent& gpu, std::string_view name) {
    if (gpu.kind == model::GpuEventKind::kMemcpy) return "memcpy";
    if (gpu.kind == model::GpuEventKind::kMemset) return "memset";
    return kernel_category(name);
  }

  [[nodiscard]] std::string operator_of(std::uint32_t event) const {
    const NodeId call = call_of(event);
    if (call == kNoNode) return "";
    const NodeId launcher = launcher_of(trace_, rank_.tree, call);
    if (!rank_.tree.is_cpu_op(launcher)) return "";
    return std::string(trace_.text(node_name(trace_, rank_.tree.nodes[launcher])));
  }

  void add_waits() {
    if (trace_.stream_waits.empty()) return;
    std::unordered_map<std::int64_t, std::int64_t> called;
    for (const model::RuntimeCall& call : trace_.runtime_calls)
      called[call.correlation] = call.start_ns;
    for (const model::StreamWait& wait : trace_.stream_waits) {
      const auto waiting = called.find(wait.correlation);
      const auto recording = called.find(wait.record_correlation);
      if (waiting == called.end() || recording == called.end() || wait.stream == wait.other_stream)
        continue;
      result_.waits.push_back({waiting->second, recording->second, wait.stream, wait.other_stream});
    }
  }

  const RankAnalysis& rank_;
  const model::Trace& trace_;
  const collectives::RankRecording& communication_;
  std::unordered_map<Key, std::uint32_t, Hash> known_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> lanes_;
  RankWorks result_;
};

}  // namespace

RankWorks record_works(const RankAnalysis& rank, const collectives::RankRecording& communication) {
  return WorkRecorder(rank, communication).record();
}

}  // namespace assay::trace::path
