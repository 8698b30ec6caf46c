#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goal/inputs/recording.h"

namespace assay::goal {
namespace {

namespace rec = model::recording;

// Returns the group call of an API call that was captured, 0 for other calls.
std::uint32_t captured_group(const RecordedProcess& process, std::uint32_t call) {
  const rec::Event* event = nullptr;
  if (const auto* coll = find_record(process.coll_apis, call)) event = &coll->record.event;
  if (const auto* p2p = find_record(process.p2p_apis, call)) event = &p2p->record.event;
  if (event == nullptr || (event->head.flags & rec::kGraphFlag) == 0) return 0;
  return event->parent;
}

// Calls body(plan, call, function, channels) for the operations of the process.
template <class Body>
void for_operations(const RecordedProcess& process, Body body) {
  for (const auto& [number, coll] : process.colls)
    body(coll.plan, coll.event.parent, process.text(coll.function), coll.channels);
  for (const auto& [number, p2p] : process.p2ps)
    body(p2p.plan, p2p.event.parent, std::string("SendRecv"), std::uint8_t{0});
}

// A launch that was captured.
struct Captured {
  std::int64_t time_ns = 0;
  std::int32_t device = -1;
  std::uint32_t plan = 0;  // reported at the capture; 0 where NCCL reports it whenever it runs
  std::vector<std::uint32_t> reported = {};  // plans that were reported when it ran, in their order
  std::size_t used = 0;                      // of `reported`

  [[nodiscard]] std::uint32_t example() const {
    if (plan != 0 || reported.empty()) return plan;
    return reported.front();
  }
};

// The kernels of one run of a graph, in the order of its nodes.
using GraphRun = std::vector<std::size_t>;

class GraphMatcher {
 public:
  GraphMatcher(const RecordedProcess& process, const KernelMatch& kernels)
      : process_(process), kernels_(kernels) {
    for_operations(process, [&](std::uint32_t plan, std::uint32_t call, const std::string& function,
                                std::uint8_t channels) {
      functions_[plan].push_back(function);
      channels_[plan].push_back(channels);
      group_of_plan_[plan] = captured_group(process, call);
    });
  }

  GraphMatch match() {
    list_runs();
    if (runs_.empty()) return std::move(match_);
    list_captured();
    for (auto& [device, runs] : runs_)
      match_device(captured_of_[device], runs);
    std::stable_sort(
        match_.replays.begin(), match_.replays.end(),
        [](const Replay& a, const Replay& b) { return a.kernel->start_ns < b.kernel->start_ns; });
    return std::move(match_);
  }

 private:
  const rec::Kernel& record(std::size_t kernel) const { return process_.kernels[kernel].record; }

  void list_runs() {
    std::map<std::pair<std::int32_t, std::uint32_t>, GraphRun> runs;
    for (std::size_t i = 0; i < process_.kernels.size(); ++i) {
      if ((record(i).head.flags & rec::kGraphFlag) == 0) continue;
      runs[{record(i).device, record(i).head.duration_ns}].push_back(i);
    }
    for (auto& [key, run] : runs) {
      std::sort(run.begin(), run.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(record(a).graph_node, record(a).start_ns) <
               std::pair(record(b).graph_node, record(b).start_ns);
      });
      runs_[key.first].push_back(std::move(run));
    }
    for (auto& [device, of_device] : runs_) {
      std::sort(of_device.begin(), of_device.end(), [&](const GraphRun& a, const GraphRun& b) {
        return record(a.front()).start_ns < record(b.front()).start_ns;
      });
    }
  }

  std::int32_t device_of(std::uint32_t communicator) const {
    const auto* found = find_record(process_.communicators, communicator);
    const std::int32_t device = found == nullptr ? -1 : found->record.device;
    return device < 0 && runs_.size() == 1 ? runs_.begin()->first : device;
  }

  void list_captured() {
    std::set<std::uint32_t> launched;  // launches whose plan was reported at the capture
    std::vector<Captured> all;
    std::map<std::uint32_t, std::vector<std::uint32_t>> late;  // plans by group, in their order
    for (const PlanRun& plan : kernels_.plans) {
      if (!plan.in_graph) continue;
      if (!plan.captured) {
        late[group_of_plan_[plan.number]].push_back(plan.number);
        continue;
      }
      launched.insert(find_record(process_.plans, plan.number)->record.event.parent);
      all.push_back({plan.call_ns, device_of(plan.communicator), plan.number});
    }
    for (const auto& [group, plans] : late)
      add_late(group, plans, launched, all);
    std::stable_sort(all.begin(), all.end(),
                     [](const Captured& a, const Captured& b) { return a.time_ns < b.time_ns; });
    for (Captured& captured : all)
      captured_of_[captured.device].push_back(std::move(captured));
  }

  // Whenever the graph runs, each launch of the group call is reported once, in their order.
  void add_late(std::uint32_t group,
                const std::vector<std::uint32_t>& plans,
                const std::set<std::uint32_t>& launched,
                std::vector<Captured>& all) const {
    std::vector<Captured> launches;
    for (const auto& [number, launch] : process_.launches) {
      if (launch.event.parent != group || launched.count(number) != 0) continue;
      launches.push_back({launch.event.start_ns, device_of(launch.event.communicator)});
    }
    if (launches.empty()) return;
    std::vector<std::uint32_t> in_order = plans;
    std::stable_sort(in_order.begin(), in_order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return start_of(a) < start_of(b); });
    for (std::size_t i = 0; i < in_order.size(); ++i)
      launches[i % launches.size()].reported.push_back(in_order[i]);
    all.insert(all.end(), launches.begin(), launches.end());
  }

  std::int64_t start_of(std::uint32_t plan) const {
    return find_record(process_.plans, plan)->record.event.start_ns;
  }

  // Graphs differ in their nodes or, where those were not recorded, in their kernels.
  std::vector<std::uint64_t> identity(const GraphRun& run) const {
    std::vector<std::uint64_t> nodes;
    std::vector<std::uint64_t> kinds;
    for (const std::size_t kernel : run) {
      nodes.push_back(record(kernel).graph_node);
      kinds.push_back(std::uint64_t{record(kernel).name} << 32 |
                      static_cast<std::uint32_t>(record(kernel).grid));
    }
    return nodes.front() != 0 ? nodes : kinds;
  }

  bool fits(const Captured& captured, std::size_t kernel) const {
    const std::uint32_t plan = captured.example();
    const auto channels = channels_.find(plan);
    if (channels != channels_.end() && channels->second.size() == 1 &&
        channels->second.front() != 0 && channels->second.front() != record(kernel).grid) {
      return false;
    }
    const std::string_view function = function_of_kernel(process_.text(record(kernel).name));
    const auto functions = functions_.find(plan);
    if (function.empty() || functions == functions_.end()) return true;
    const auto& known = functions->second;
    return std::find(known.begin(), known.end(), function) != known.end();
  }

  bool fits_at(const std::vector<Captured>& captured,
               std::size_t place,
               const GraphRun& run) const {
    if (place + run.size() > captured.size()) return false;
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (!fits(captured[place + i], run[i])) return false;
    }
    return true;
  }

  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  std::size_t first_place(const std::vector<Captured>& captured,
                          std::size_t from,
                          const GraphRun& run) const {
    for (std::size_t place = from; place < captured.size(); ++place) {
      if (fits_at(captured, place, run)) return place;
    }
    return kNowhere;
  }

  void match_device(std::vector<Captured>& captured, const std::vector<GraphRun>& runs) {
    std::map<std::vector<std::uint64_t>, const GraphRun*> graphs;
    for (const GraphRun& run : runs)
      graphs.emplace(identity(run), &run);
    const auto places = place_graphs(captured, runs, graphs);
    for (const GraphRun& run : runs) {
      const std::size_t place = places.at(identity(run));
      for (std::size_t i = 0; i < run.size(); ++i) {
        const bool tied = place != kNowhere && tie(captured[place + i], run[i]);
        if (!tied) ++match_.untied;
      }
    }
  }

  using Graphs = std::map<std::vector<std::uint64_t>, const GraphRun*>;
  using Places = std::map<std::vector<std::uint64_t>, std::size_t>;

  Places place_graphs(const std::vector<Captured>& captured,
                      const std::vector<GraphRun>& runs,
                      const Graphs& graphs) {
    std::vector<std::pair<std::vector<std::uint64_t>, const GraphRun*>> ordered;
    std::size_t nodes = 0;
    for (const GraphRun& run : runs) {
      const auto key = identity(run);
      if (graphs.at(key) != &run) continue;  // not its first run
      ordered.emplace_back(key, &run);
      nodes += run.size();
    }
    // Where nodes have numbers, those of a graph that was captured earlier are lower.
    std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) {
      return record(a.second->front()).graph_node < record(b.second->front()).graph_node;
    });
    Places places;
    std::size_t next = 0;
    for (const auto& [key, run] : ordered) {
      std::size_t place = first_place(captured, next, *run);
      // A graph may have been made executable twice.
      if (place == kNowhere) place = first_place(captured, 0, *run);
      const bool all_run = nodes == captured.size();
      if (place != kNowhere && !all_run && first_place(captured, place + 1, *run) != kNowhere) {
        ++match_.ambiguous;
      }
      places[key] = place;
      if (place != kNowhere) next = std::max(next, place + run->size());
    }
    return places;
  }

  bool tie(Captured& captured, std::size_t kernel) {
    const KernelRun* run = &kernels_.kernels[kernel];
    if (captured.plan != 0) {
      match_.replays.push_back({captured.plan, run});
    } else if (captured.used < captured.reported.size()) {
      match_.reported.push_back({captured.reported[captured.used++], run});
    } else {
      return false;
    }
    match_.tied.push_back(kernel);
    return true;
  }

  const RecordedProcess& process_;
  const KernelMatch& kernels_;
  std::map<std::uint32_t, std::vector<std::string>> functions_;  // by plan, of its operations
  std::map<std::uint32_t, std::vector<std::int32_t>> channels_;
  std::map<std::uint32_t, std::uint32_t> group_of_plan_;
  std::map<std::int32_t, std::vector<GraphRun>> runs_;         // by device, in their order
  std::map<std::int32_t, std::vector<Captured>> captured_of_;  // by device, in their order
  GraphMatch match_;
};

}  // namespace

void find_captured(const RecordedProcess& process, std::vector<PlanRun>& plans) {
  std::set<std::uint32_t> captured;
  for_operations(process,
                 [&](std::uint32_t plan, std::uint32_t call, const std::string&, std::uint8_t) {
                   if (captured_group(process, call) != 0) captured.insert(plan);
                 });
  for (PlanRun& plan : plans) {
    plan.in_graph = captured.count(plan.number) != 0;
    const auto* record = find_record(process.plans, plan.number);
    // What runs a graph launches nothing itself.
    plan.captured = plan.in_graph && record->record.event.parent != 0;
  }
}

GraphMatch match_graphs(const RecordedProcess& process, const KernelMatch& kernels) {
  return GraphMatcher(process, kernels).match();
}

}  // namespace assay::goal
