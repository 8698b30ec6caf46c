#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "goal/inputs/nsys_process.h"

namespace assay::goal {
namespace {

using Indices = std::vector<std::uint32_t>;

bool fits(const NsysPlan& plan, const NsysKernel& kernel) {
  return (plan.functions & kernel.functions) != 0;
}

bool has_kernel(const NsysPlan& plan) {
  return plan.found_by != FoundBy::kNothing;
}

// A plan with several kernels lasts from the start of the first to the end of the last.
void assign(NsysPlan& plan, NsysKernel& kernel, FoundBy found_by) {
  kernel.used = true;
  if (has_kernel(plan)) {
    plan.start_ns = std::min(plan.start_ns, kernel.start_ns);
    plan.end_ns = std::max(plan.end_ns, kernel.end_ns);
    return;
  }
  plan.found_by = found_by;
  plan.start_ns = kernel.start_ns;
  plan.end_ns = kernel.end_ns;
}

class NsysKernelMatcher {
 public:
  explicit NsysKernelMatcher(NsysProcess& process) : process_(process) {}

  void match() {
    by_correlation();
    by_order();
    by_time();
  }

 private:
  NsysPlan& plan(std::uint32_t index) { return process_.plans[index]; }

  NsysKernel& kernel(std::uint32_t index) { return process_.kernels[index]; }

  void by_correlation() {
    Indices launched;
    for (std::uint32_t i = 0; i < process_.kernels.size(); ++i) {
      if (kernel(i).launch_known) launched.push_back(i);
    }
    if (launched.empty()) return;
    std::sort(launched.begin(), launched.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(kernel(a).launch_thread, kernel(a).launch_ns, a) <
             std::tuple(kernel(b).launch_thread, kernel(b).launch_ns, b);
    });
    const std::vector<Indices> plans_of = plans_by_group();
    auto next = launched.begin();
    for (const std::uint32_t group_index : groups_by_thread()) {
      const NsysGroup& group = process_.groups[group_index];
      const auto before = [&](std::uint32_t i) {
        return std::pair(kernel(i).launch_thread, kernel(i).launch_ns) <
               std::pair(group.thread, group.start_ns);
      };
      next = std::find_if_not(next, launched.end(), before);
      Indices inside;
      for (; next != launched.end() && kernel(*next).launch_thread == group.thread &&
             kernel(*next).launch_ns <= group.end_ns;
           ++next) {
        inside.push_back(*next);
      }
      assign_launched(plans_of[group_index], inside);
    }
  }

  std::vector<Indices> plans_by_group() const {
    std::vector<Indices> plans_of(process_.groups.size());
    for (std::uint32_t i = 0; i < process_.plans.size(); ++i)
      plans_of[process_.plans[i].group].push_back(i);
    return plans_of;
  }

  Indices groups_by_thread() const {
    Indices order(process_.groups.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return process_.groups[a].thread < process_.groups[b].thread;
    });
    return order;
  }

  // NCCL launches the plans of a group in the order in which its communicators were first used.
  void assign_launched(const Indices& plans, const Indices& kernels) {
    for (const std::uint32_t k : kernels) {
      const auto waiting = [&](std::uint32_t p) {
        return !has_kernel(plan(p)) && fits(plan(p), kernel(k));
      };
      auto chosen = std::find_if(plans.begin(), plans.end(), waiting);
      if (chosen == plans.end()) {
        chosen = std::find_if(plans.begin(), plans.end(),
                              [&](std::uint32_t p) { return fits(plan(p), kernel(k)); });
      }
      if (chosen != plans.end()) assign(plan(*chosen), kernel(k), FoundBy::kCorrelation);
    }
  }

  void by_order() {
    std::vector<Indices> kernel_streams = kernels_by_stream();
    for (const Indices& plans : plans_by_stream()) {
      const auto same = [&](const Indices& kernels) { return same_sequence(plans, kernels); };
      const auto found = std::find_if(kernel_streams.begin(), kernel_streams.end(), same);
      if (found == kernel_streams.end()) continue;
      for (std::size_t i = 0; i < plans.size(); ++i)
        assign(plan(plans[i]), kernel((*found)[i]), FoundBy::kOrder);
      kernel_streams.erase(found);
    }
  }

  bool same_sequence(const Indices& plans, const Indices& kernels) {
    if (plans.size() != kernels.size()) return false;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!fits(plan(plans[i]), kernel(kernels[i]))) return false;
    }
    return true;
  }

  // Returns the streams in the order of their first call, each with its plans that have no kernel.
  std::vector<Indices> plans_by_stream() {
    std::vector<Indices> streams(process_.streams.size());
    for (const std::uint32_t i : unmatched_plans())
      streams[plan(i).stream].push_back(i);
    const auto empty = [](const Indices& plans) { return plans.empty(); };
    streams.erase(std::remove_if(streams.begin(), streams.end(), empty), streams.end());
    std::stable_sort(streams.begin(), streams.end(), [&](const Indices& a, const Indices& b) {
      return plan(a.front()).call_ns < plan(b.front()).call_ns;
    });
    return streams;
  }

  // Returns the unused kernels of each stream, with the streams in the order of their first kernel.
  std::vector<Indices> kernels_by_stream() {
    std::vector<Indices> streams;
    std::map<std::pair<std::int32_t, std::int64_t>, std::size_t> index_of;
    for (const std::uint32_t i : unused_kernels()) {
      const auto [found, added] =
          index_of.emplace(std::pair(kernel(i).device, kernel(i).stream), streams.size());
      if (added) streams.emplace_back();
      streams[found->second].push_back(i);
    }
    return streams;
  }

  void by_time() {
    const Indices kernels = unused_kernels();
    // The first kernel that a later call may still take, by set of functions.
    std::map<FunctionSet, std::size_t> first_of;
    for (const std::uint32_t p : unmatched_plans()) {
      std::size_t& i = first_of[plan(p).functions];
      const auto too_early = [&](const NsysKernel& k) {
        return k.used || !fits(plan(p), k) || k.start_ns < plan(p).call_ns;
      };
      while (i < kernels.size() && too_early(kernel(kernels[i])))
        ++i;
      if (i < kernels.size()) assign(plan(p), kernel(kernels[i]), FoundBy::kTime);
    }
  }

  Indices unmatched_plans() {
    Indices indices;
    for (std::uint32_t i = 0; i < process_.plans.size(); ++i) {
      if (!has_kernel(plan(i))) indices.push_back(i);
    }
    std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan(a).call_ns < plan(b).call_ns;
    });
    return indices;
  }

  Indices unused_kernels() {
    Indices indices;
    for (std::uint32_t i = 0; i < process_.kernels.size(); ++i) {
      if (!kernel(i).used) indices.push_back(i);
    }
    std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) {
      return kernel(a).start_ns < kernel(b).start_ns;
    });
    return indices;
  }

  NsysProcess& process_;
};

}  // namespace

void match_kernels(NsysProcess& process) {
  NsysKernelMatcher(process).match();
}

}  // namespace assay::goal
