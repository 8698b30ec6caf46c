#include <string_view>
#include <unordered_map>
#include <utility>

#include "goal/inputs/recording.h"

namespace assay::goal {
namespace {

namespace rec = model::recording;

// NCCL 2.27 reports a plan after it launched the kernel. The kernel may have begun before that, but
// it cannot have ended long before.
constexpr std::int64_t kLateNs = 100'000'000;

// The most kernels that may lie between two recorded plans, and the most that other threads may
// have launched before a thread reported its plan.
constexpr std::size_t kLookAround = 256;

// Differences of damaged times must not overflow.
std::int64_t later(std::int64_t time_ns, std::uint64_t duration_ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) + duration_ns);
}

}  // namespace

std::string_view function_of_kernel(std::string_view name) {
  constexpr std::string_view kPrefix = "ncclDevKernel_";
  if (!name.starts_with(kPrefix)) return "";
  name.remove_prefix(kPrefix.size());
  name = name.substr(0, name.find('_'));
  return name == "Generic" ? "" : name;
}

namespace {

class RecordedKernelMatcher {
 public:
  explicit RecordedKernelMatcher(const RecordedProcess& process) : process_(process) {}

  KernelMatch match() {
    for (const auto& [number, kernel] : process_.kernels) {
      // The relation of the clocks is known to some tens of ns, which is too coarse to stretch a
      // duration by it.
      const std::int64_t start_ns = process_.realtime_ns(kernel.start_ns);
      match_.kernels.push_back({start_ns, later(start_ns, kernel.end_ns - kernel.start_ns),
                                kernel.stream, kernel.device});
    }
    claimed_.assign(match_.kernels.size(), false);
    add_plans();
    find_functions();
    find_launches_by_call();
    find_captured(process_, match_.plans);
    if (process_.kernels.empty()) match_by_timers();
    match_by_correlation();
    match_by_order();
    match_.graphs = match_graphs(process_, match_);
    claim_graphs();
    for (std::size_t i = 0; i < claimed_.size(); ++i)
      match_.unused_kernels += claimed_[i] || from_graph(i) ? 0 : 1;
    return std::move(match_);
  }

 private:
  [[nodiscard]] bool from_graph(std::size_t kernel) const {
    return (process_.kernels[kernel].record.head.flags & rec::kGraphFlag) != 0;
  }

  void claim_graphs() {
    for (const std::size_t kernel : match_.graphs.tied)
      claimed_[kernel] = true;
    for (const Replay& replay : match_.graphs.reported) {
      const auto plan = std::lower_bound(
          match_.plans.begin(), match_.plans.end(), replay.plan,
          [](const PlanRun& run, std::uint32_t number) { return run.number < number; });
      plan->kernel = replay.kernel;
    }
    match_.by_order += match_.graphs.replays.size() + match_.graphs.reported.size();
  }

  void add_plans() {
    for (const auto& [number, plan] : process_.plans) {
      PlanRun run{.number = number, .communicator = plan.event.communicator};
      run.call_ns = plan.event.start_ns;
      match_.plans.push_back(run);
      const auto* launch = find_record(process_.launches, plan.event.parent);
      if (launch != nullptr) set_launch(match_.plans.size() - 1, *launch);
    }
  }

  void set_launch(std::size_t plan, const Numbered<rec::KernelLaunch>& launch) {
    match_.plans[plan].launch = &launch.record;
    match_.plans[plan].call_ns = launch.record.event.start_ns;
    plan_of_launch_[launch.number] = plan;
  }

  void find_functions() {
    for (const auto& [number, coll] : process_.colls) {
      note_operation(coll.plan, coll.event.parent, process_.text(coll.function));
    }
    for (const auto& [number, p2p] : process_.p2ps)
      note_operation(p2p.plan, p2p.event.parent, "SendRecv");
  }

  void note_operation(std::uint32_t plan, std::uint32_t call, const std::string& function) {
    functions_[plan].push_back(function);
    std::uint32_t group = 0;
    if (const auto* coll = find_record(process_.coll_apis, call)) group = coll->record.event.parent;
    if (const auto* p2p = find_record(process_.p2p_apis, call)) group = p2p->record.event.parent;
    if (group != 0) group_of_plan_[plan] = group;
  }

  // A plan that another thread reported has no launch before it, but both know the group call.
  void find_launches_by_call() {
    std::map<std::pair<std::uint32_t, std::uint32_t>,
             std::vector<const Numbered<rec::KernelLaunch>*>>
        waiting;
    for (const auto& launch : process_.launches) {
      if (plan_of_launch_.count(launch.number) != 0) continue;
      const rec::Event& event = launch.record.event;
      if (event.parent != 0) waiting[{event.communicator, event.parent}].push_back(&launch);
    }
    for (std::size_t i = 0; i < match_.plans.size(); ++i) {
      const PlanRun& run = match_.plans[i];
      const auto group = group_of_plan_.find(run.number);
      if (run.launch != nullptr || group == group_of_plan_.end()) continue;
      auto& launches = waiting[{run.communicator, group->second}];
      if (launches.empty()) continue;
      set_launch(i, *launches.front());
      launches.erase(launches.begin());
    }
  }

  void match_by_correlation() {
    std::unordered_map<std::uint32_t, std::uint32_t> launch_of;
    for (const auto& [number, correlation] : process_.correlations)
      launch_of[correlation.head.duration_ns] = correlation.launch;
    for (std::size_t i = 0; i < process_.kernels.size(); ++i) {
      const rec::Kernel& kernel = process_.kernels[i].record;
      const auto launch = launch_of.find(kernel.head.duration_ns);
      if (launch == launch_of.end() || from_graph(i)) continue;
      const auto index = plan_of_launch_.find(launch->second);
      if (index == plan_of_launch_.end()) continue;
      PlanRun& run = match_.plans[index->second];
      if (run.kernel != nullptr) continue;
      run.kernel = &match_.kernels[i];
      claimed_[i] = true;
      ++match_.by_correlation;
    }
  }

  // Where CUPTI told of no kernel, NCCL may have.
  void match_by_timers() {
    match_.kernels = kernels_of_channels(process_, match_.plans);
    match_.by_correlation = match_.kernels.size();
    claimed_.assign(match_.kernels.size(), true);
  }

  // Pairs plans in the order of their calls with kernels in the order of their launches.
  void match_by_order() {
    std::vector<PlanRun*> plans;
    for (PlanRun& run : match_.plans)
      if (run.kernel == nullptr && !run.in_graph) plans.push_back(&run);
    std::vector<std::size_t> kernels;
    for (std::size_t i = 0; i < claimed_.size(); ++i)
      if (!claimed_[i] && !from_graph(i)) kernels.push_back(i);
    std::stable_sort(plans.begin(), plans.end(),
                     [](const PlanRun* a, const PlanRun* b) { return a->call_ns < b->call_ns; });
    std::stable_sort(kernels.begin(), kernels.end(), [&](std::size_t a, std::size_t b) {
      return process_.kernels[a].record.head.duration_ns <
             process_.kernels[b].record.head.duration_ns;
    });
    std::map<std::int32_t, std::vector<std::size_t>> by_device;
    for (const std::size_t i : kernels)
      by_device[match_.kernels[i].device].push_back(i);
    std::map<std::int32_t, std::vector<PlanRun*>> plans_by_device;
    for (PlanRun* run : plans)
      plans_by_device[device_of(*run, by_device)].push_back(run);
    for (auto& [device, runs] : plans_by_device)
      pair_in_order(runs, by_device[device]);
  }

  [[nodiscard]] std::int32_t device_of(
      const PlanRun& run, const std::map<std::int32_t, std::vector<std::size_t>>& kernels) const {
    const auto* communicator = find_record(process_.communicators, run.communicator);
    const std::int32_t device = communicator == nullptr ? -1 : communicator->record.device;
    return device < 0 && kernels.size() == 1 ? kernels.begin()->first : device;
  }

  // Threads that launch at the same time may report their plans in another order than they launched
  // the kernels.
  void pair_in_order(const std::vector<PlanRun*>& plans, const std::vector<std::size_t>& kernels) {
    std::size_t next = 0;
    for (PlanRun* run : plans) {
      while (next < kernels.size() && too_early(*run, kernels[next]))
        ++next;
      const std::size_t begin = next > kLookAround ? next - kLookAround : 0;
      const std::size_t end = std::min(kernels.size(), next + kLookAround);
      std::size_t i = begin;
      while (i < end &&
             (claimed_[kernels[i]] || too_early(*run, kernels[i]) || !fits(*run, kernels[i]))) {
        ++i;
      }
      if (i == end) continue;
      run->kernel = &match_.kernels[kernels[i]];
      claimed_[kernels[i]] = true;
      ++match_.by_order;
      next = std::max(next, i + 1);
    }
  }

  [[nodiscard]] bool too_early(const PlanRun& run, std::size_t kernel) const {
    return match_.kernels[kernel].end_ns < run.call_ns - kLateNs;
  }

  bool fits(const PlanRun& run, std::size_t kernel) {
    const std::string_view function =
        function_of_kernel(process_.text(process_.kernels[kernel].record.name));
    const auto& functions = functions_[run.number];
    return function.empty() || functions.empty() ||
           std::find(functions.begin(), functions.end(), function) != functions.end();
  }

  const RecordedProcess& process_;
  KernelMatch match_;
  std::vector<bool> claimed_;  // parallel to match_.kernels
  std::unordered_map<std::uint32_t, std::size_t> plan_of_launch_;
  std::unordered_map<std::uint32_t, std::vector<std::string>> functions_;  // by plan
  std::unordered_map<std::uint32_t, std::uint32_t> group_of_plan_;
};

}  // namespace

const PlanRun* KernelMatch::find(std::uint32_t plan) const {
  const auto found = std::lower_bound(
      plans.begin(), plans.end(), plan,
      [](const PlanRun& run, std::uint32_t number) { return run.number < number; });
  return found != plans.end() && found->number == plan ? &*found : nullptr;
}

KernelMatch match_kernels(const RecordedProcess& process) {
  return RecordedKernelMatcher(process).match();
}

}  // namespace assay::goal
