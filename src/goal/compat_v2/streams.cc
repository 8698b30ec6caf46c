#include "goal/compat_v2/streams.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "goal/compat_v2/context.h"

namespace assay::goal::compat_v2 {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// An operation as the generator times it: the first of a group has the kernel's times, all others
// begin and end with its end.
struct Event {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t group = kNone;
};

// Groups of the program where the recording tells them, otherwise operations of one plan.
std::vector<std::uint32_t> number_groups(const model::JobGpu& gpu) {
  std::unordered_map<std::uint32_t, std::uint32_t> operations_of_plan;
  for (const model::Operation& operation : gpu.operations)
    ++operations_of_plan[operation.group];
  std::map<std::pair<bool, std::int64_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> groups;
  for (const model::Operation& operation : gpu.operations) {
    const bool called = operation.call_group >= 0;
    if (!called && operations_of_plan[operation.group] == 1) {
      groups.push_back(kNone);
      continue;
    }
    const std::int64_t id = called ? operation.call_group : std::int64_t{operation.group};
    const auto next = static_cast<std::uint32_t>(numbers.size());
    groups.push_back(numbers.emplace(std::pair(called, id), next).first->second);
  }
  return groups;
}

std::vector<Event> time_events(const model::JobGpu& gpu) {
  const std::vector<std::uint32_t> groups = number_groups(gpu);
  std::unordered_map<std::uint32_t, std::int64_t> end_of;
  std::vector<Event> events;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const model::Operation& operation = gpu.operations[i];
    Event event = {operation.start_ns, operation.end_ns, groups[i]};
    if (event.group != kNone) {
      const auto [first, added] = end_of.emplace(event.group, event.end_ns);
      if (!added) event.start_ns = event.end_ns = first->second;
    }
    events.push_back(event);
  }
  return events;
}

class Planner {
 public:
  explicit Planner(const model::JobGpu& gpu) : gpu_(gpu), events_(time_events(gpu)) {
    order_.resize(events_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    // Operations that start together stay as called; the generator's order of them depends on the
    // processor that it runs on.
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return events_[a].start_ns < events_[b].start_ns;
    });
  }

  GpuPlan plan() {
    plan_.contexts = contexts(gpu_, order_);
    lay_out_groups();
    std::vector<std::vector<std::uint32_t>> streams(gpu_.streams.size());
    for (const std::uint32_t i : order_)
      streams[gpu_.operations[i].stream].push_back(i);
    for (const std::uint32_t stream : sort_streams(streams))
      plan_.streams.push_back(launches(std::move(streams[stream])));
    return std::move(plan_);
  }

 private:
  void lay_out_groups() {
    std::vector<std::vector<std::uint32_t>> members;
    for (const std::uint32_t i : order_) {
      const std::uint32_t group = events_[i].group;
      if (group == kNone) continue;
      if (members.size() <= group) members.resize(group + 1);
      members[group].push_back(i);
    }
    for (const auto& operations : members) {
      groups_.push_back({.grouped = true,
                         .first = static_cast<std::uint32_t>(plan_.operations.size()),
                         .count = static_cast<std::uint32_t>(operations.size())});
      plan_.operations.insert(plan_.operations.end(), operations.begin(), operations.end());
    }
  }

  // Those in use, by the name of their first operation, length and handle.
  std::vector<std::uint32_t> sort_streams(
      const std::vector<std::vector<std::uint32_t>>& streams) const {
    std::vector<std::uint32_t> used;
    for (std::uint32_t i = 0; i < streams.size(); ++i) {
      if (!streams[i].empty()) used.push_back(i);
    }
    const auto key = [&](std::uint32_t stream) {
      const auto& operations = streams[stream];
      return std::tuple(plan_.contexts[operations.front()], operations.size(),
                        std::string_view(gpu_.streams[stream]));
    };
    std::sort(used.begin(), used.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    return used;
  }

  std::vector<Launch> launches(std::vector<std::uint32_t> operations) {
    const auto key = [&](std::uint32_t i) {
      return std::tuple(events_[i].start_ns, events_[i].end_ns, i);
    };
    std::sort(operations.begin(), operations.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::unordered_set<std::uint32_t> seen;
    std::vector<Launch> launches;
    for (const std::uint32_t i : operations) {
      const Event& event = events_[i];
      if (event.group != kNone && !seen.insert(event.group).second) continue;
      Launch launch = {.first = static_cast<std::uint32_t>(plan_.operations.size()), .count = 1};
      if (event.group != kNone) {
        launch = groups_[event.group];
      } else {
        plan_.operations.push_back(i);
      }
      launch.start_ns = event.start_ns;
      launch.end_ns = event.end_ns;
      launches.push_back(launch);
    }
    return launches;
  }

  const model::JobGpu& gpu_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> order_;
  std::vector<Launch> groups_;
  GpuPlan plan_;
};

bool disjoint(const std::vector<Launch>& a, const std::vector<Launch>& b) {
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (x->end_ns <= y->start_ns) {
      ++x;
    } else if (y->end_ns <= x->start_ns) {
      ++y;
    } else {
      return false;
    }
  }
  return true;
}

std::vector<Launch> joined(std::vector<Launch> a, const std::vector<Launch>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end(), [](const Launch& x, const Launch& y) {
    return std::tuple(x.start_ns, x.end_ns, x.first) < std::tuple(y.start_ns, y.end_ns, y.first);
  });
  return a;
}

}  // namespace

GpuPlan plan_gpu(const model::JobGpu& gpu) {
  return Planner(gpu).plan();
}

bool mergeable(const GpuPlan& plan) {
  std::vector<Launch> merged;
  for (const auto& stream : plan.streams) {
    if (!disjoint(stream, merged)) return false;
    merged = joined(std::move(merged), stream);
  }
  return true;
}

void merge_streams(GpuPlan& plan) {
  std::vector<Launch> merged;
  for (const auto& stream : plan.streams)
    merged = joined(std::move(merged), stream);
  // A group whose operations are on several streams comes once.
  std::unordered_set<std::uint32_t> seen;
  const auto repeated = [&](const Launch& launch) { return !seen.insert(launch.first).second; };
  merged.erase(std::remove_if(merged.begin(), merged.end(), repeated), merged.end());
  plan.streams.clear();
  if (!merged.empty()) plan.streams.push_back(std::move(merged));
}

}  // namespace assay::goal::compat_v2
