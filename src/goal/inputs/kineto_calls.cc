#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "goal/inputs/kineto.h"

namespace assay::goal {
namespace {

using model::NcclFunction;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

bool is_sent(NcclFunction function) {
  return model::is_point_to_point(function) || function == NcclFunction::kAllToAll;
}

bool fits(const KinetoCall& call, const KinetoKernel& kernel) {
  const auto function = model::nccl_function(kernel.function);
  if (!function) return true;  // the kernel serves several functions
  return is_sent(call.function) ? *function == NcclFunction::kSendRecv : *function == call.function;
}

// Finds the kernel of each call. Calls that share a kernel belong to one plan.
class CallMatcher {
 public:
  explicit CallMatcher(const KinetoTrace& trace)
      : trace_(trace), kernel_of_(trace.calls.size(), kNone), used_(trace.kernels.size()) {}

  // Returns for each call an index of trace.kernels or kNone.
  std::vector<std::uint32_t> match(model::KernelMatches& matches) {
    by_external_id();
    by_launch();
    matches.by_correlation = matched();
    by_time();
    matches.by_time = matched() - matches.by_correlation;
    return kernel_of_;
  }

 private:
  [[nodiscard]] std::uint64_t matched() const {
    std::set<std::uint32_t> kernels(kernel_of_.begin(), kernel_of_.end());
    kernels.erase(kNone);
    return kernels.size();
  }

  void by_external_id() {
    std::unordered_map<std::int64_t, std::uint32_t> call_of;
    for (std::uint32_t i = 0; i < trace_.calls.size(); ++i) {
      if (trace_.calls[i].external_id >= 0) call_of.emplace(trace_.calls[i].external_id, i);
    }
    for (std::uint32_t k = 0; k < trace_.kernels.size(); ++k) {
      const auto found = call_of.find(trace_.kernels[k].external_id);
      if (found == call_of.end() || kernel_of_[found->second] != kNone) continue;
      kernel_of_[found->second] = k;
      used_[k] = true;
    }
  }

  // The kernel of a group is launched when the group ends, outside all of its calls. It belongs to
  // the calls on its thread since the launch before.
  void by_launch() {
    std::vector<std::pair<const KinetoLaunch*, std::uint32_t>> launches;
    for (std::uint32_t k = 0; k < trace_.kernels.size(); ++k) {
      const KinetoLaunch* launch = used_[k] ? nullptr : launch_of(trace_.kernels[k]);
      if (launch != nullptr) launches.emplace_back(launch, k);
    }
    std::sort(launches.begin(), launches.end(),
              [](const auto& a, const auto& b) { return a.first->start_ns < b.first->start_ns; });
    std::vector<std::uint32_t> waiting;
    std::uint32_t next = 0;
    for (const auto& [launch, k] : launches) {
      for (; next < trace_.calls.size() && trace_.calls[next].start_ns <= launch->start_ns;
           ++next) {
        if (kernel_of_[next] == kNone) waiting.push_back(next);
      }
      give_waiting(waiting, launch->thread, k);
    }
  }

  void give_waiting(std::vector<std::uint32_t>& waiting, std::int64_t thread, std::uint32_t k) {
    const auto taken = [&](std::uint32_t i) {
      const KinetoCall& call = trace_.calls[i];
      if (call.thread != thread || !fits(call, trace_.kernels[k])) return false;
      kernel_of_[i] = k;
      used_[k] = true;
      return true;
    };
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(), taken), waiting.end());
  }

  [[nodiscard]] const KinetoLaunch* launch_of(const KinetoKernel& kernel) const {
    const auto found =
        std::lower_bound(trace_.launches.begin(), trace_.launches.end(), kernel.correlation,
                         [](const KinetoLaunch& a, std::int64_t correlation) {
                           return a.correlation < correlation;
                         });
    const bool known = found != trace_.launches.end() && found->correlation == kernel.correlation;
    return known ? &*found : nullptr;
  }

  void by_time() {
    // The first kernel that a later call may still take, by function.
    std::map<NcclFunction, std::uint32_t> first_of;
    for (std::uint32_t i = 0; i < trace_.calls.size(); ++i) {
      if (kernel_of_[i] != kNone) continue;
      const KinetoCall& call = trace_.calls[i];
      std::uint32_t& k = first_of[call.function];
      const auto too_early = [&](const KinetoKernel& kernel) {
        return kernel.start_ns < call.start_ns || !fits(call, kernel);
      };
      while (k < trace_.kernels.size() && (used_[k] || too_early(trace_.kernels[k])))
        ++k;
      if (k == trace_.kernels.size()) continue;
      kernel_of_[i] = k;
      used_[k] = true;
    }
  }

  const KinetoTrace& trace_;
  std::vector<std::uint32_t> kernel_of_;
  std::vector<bool> used_;
};

// Returns the elements that one rank contributes: the size of its own share.
std::uint64_t own_elements(const KinetoCall& call) {
  switch (call.function) {
    case NcclFunction::kReduceScatter:
      return call.elements_out;
    case NcclFunction::kRecv:
      return std::max(call.elements_out, call.elements_in);
    default:
      return std::max<std::uint64_t>(call.elements_in, 1);
  }
}

class RecordingMaker {
 public:
  explicit RecordingMaker(const KinetoTrace& trace) : trace_(trace) {
    recording_.process.file = trace.file;
    recording_.process.warnings = trace.warnings;
    recording_.process.gpu.process_id = trace.process_id;
  }

  KinetoRecording make() {
    const std::vector<std::uint32_t> kernel_of =
        CallMatcher(trace_).match(recording_.process.matches);
    for (std::uint32_t i = 0; i < trace_.calls.size(); ++i)
      add(trace_.calls[i], kernel_of[i]);
    auto& operations = recording_.process.gpu.operations;
    std::stable_sort(operations.begin(), operations.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    set_window();
    return std::move(recording_);
  }

 private:
  void add(const KinetoCall& call, std::uint32_t kernel_index) {
    const KinetoKernel* kernel = kernel_index == kNone ? nullptr : &trace_.kernels[kernel_index];
    if (kernel == nullptr) {
      recording_.process.warnings.add("operations without a kernel",
                                      "they take the times of their calls", trace_.file);
    }
    model::Operation operation;
    operation.function = call.function;
    operation.communicator = communicator_of(call);
    operation.stream = stream_of(kernel);
    operation.group = plan_of(kernel_index);
    operation.element_bytes = call.element_bytes;
    operation.start_ns = kernel == nullptr ? call.start_ns : kernel->start_ns;
    operation.end_ns = kernel == nullptr ? call.end_ns : kernel->end_ns;
    if (kernel != nullptr) recording_.process.gpu.device = kernel->device;
    if (call.function == NcclFunction::kAllToAll) {
      add_all_to_all(call, operation);
      return;
    }
    operation.bytes = own_elements(call) * call.element_bytes;
    if (is_sent(call.function)) {
      operation.peer = call.peer;
    } else if (kernel != nullptr) {
      operation.num_channels = kernel->grid;
    }
    if (call.function == NcclFunction::kBroadcast || call.function == NcclFunction::kReduce) {
      operation.root = call.root;
    }
    push(operation);
  }

  // NCCL turns an all-to-all into a send and a receive for each peer.
  void add_all_to_all(const KinetoCall& call, model::Operation operation) {
    const std::size_t num_ranks = std::max<std::size_t>(call.group_ranks.size(), 1);
    for (std::size_t peer = 0; peer < num_ranks; ++peer) {
      operation.peer = static_cast<std::int32_t>(peer);
      operation.function = NcclFunction::kSend;
      operation.bytes =
          share(call.elements_in, call.split_in, peer, num_ranks) * operation.element_bytes;
      push(operation);
      operation.function = NcclFunction::kRecv;
      operation.bytes =
          share(call.elements_out, call.split_out, peer, num_ranks) * operation.element_bytes;
      push(operation);
    }
  }

  // PyTorch's splits count rows of equal size.
  static std::uint64_t share(std::uint64_t elements,
                             const std::vector<std::uint64_t>& split,
                             std::size_t peer,
                             std::size_t num_ranks) {
    const std::uint64_t rows = std::accumulate(split.begin(), split.end(), std::uint64_t{0});
    if (split.size() != num_ranks || rows == 0) return elements / num_ranks;
    return elements / rows * split[peer];
  }

  void push(model::Operation operation) {
    const auto kind = std::tuple(operation.communicator, operation.function, operation.peer);
    operation.sequence = sequences_[kind]++;
    recording_.process.gpu.operations.push_back(operation);
  }

  std::uint32_t communicator_of(const KinetoCall& call) {
    const KinetoGroup group{call.group_name, call.group_ranks};
    auto& views = recording_.process.communicators;
    const auto [found, added] =
        communicators_.emplace(group, static_cast<std::uint32_t>(views.size()));
    if (added) {
      CommunicatorView view;
      const auto own = std::find(group.ranks.begin(), group.ranks.end(), trace_.rank);
      if (own != group.ranks.end()) {
        view.rank = static_cast<std::int32_t>(own - group.ranks.begin());
      }
      view.num_ranks = static_cast<std::uint32_t>(group.ranks.size());
      views.push_back(view);
      recording_.groups.push_back(group);
    }
    return found->second;
  }

  std::uint32_t stream_of(const KinetoKernel* kernel) {
    const std::string name = kernel == nullptr ? "unknown" : std::to_string(kernel->stream);
    auto& streams = recording_.process.gpu.streams;
    const auto found = std::find(streams.begin(), streams.end(), name);
    const auto index = static_cast<std::uint32_t>(found - streams.begin());
    if (found == streams.end()) streams.push_back(name);
    return index;
  }

  // A call without a kernel is a plan of its own.
  std::uint32_t plan_of(std::uint32_t kernel) {
    if (kernel == kNone) return num_plans_++;
    const auto [found, added] = plans_.emplace(kernel, num_plans_);
    if (added) ++num_plans_;
    return found->second;
  }

  void set_window() {
    model::JobGpu& gpu = recording_.process.gpu;
    if (gpu.operations.empty()) return;
    gpu.window_start_ns = std::min(gpu.operations.front().start_ns, trace_.calls.front().start_ns);
    gpu.window_end_ns = gpu.window_start_ns;
    for (const model::Operation& operation : gpu.operations)
      gpu.window_end_ns = std::max(gpu.window_end_ns, operation.end_ns);
  }

  const KinetoTrace& trace_;
  KinetoRecording recording_;
  std::map<KinetoGroup, std::uint32_t> communicators_;
  std::map<std::tuple<std::uint32_t, NcclFunction, std::int32_t>, std::uint64_t> sequences_;
  std::unordered_map<std::uint32_t, std::uint32_t> plans_;  // by kernel
  std::uint32_t num_plans_ = 0;
};

}  // namespace

KinetoRecording finish_kineto(const KinetoTrace& trace) {
  return RecordingMaker(trace).make();
}

}  // namespace assay::goal
