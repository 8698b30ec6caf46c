#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "goal/launch_groups.h"
#include "goal/validate.h"

namespace assay::goal {
namespace {

using model::Operation;

// Sets of launches that share exchanges.
class LaunchGroups {
 public:
  explicit LaunchGroups(const Resolved& resolved) {
    for (std::uint32_t gpu = 0; gpu < resolved.gpus.size(); ++gpu) {
      for (std::uint32_t i = 0; i < resolved.gpus[gpu].launches.size(); ++i)
        launches_.push_back({gpu, i});
    }
    parents_.resize(launches_.size());
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
    join_exchanges(resolved);
  }

  // Returns the sets in the order of their first launch.
  [[nodiscard]] std::vector<std::vector<LaunchId>> all() {
    std::map<std::size_t, std::vector<LaunchId>> found;
    for (std::size_t i = 0; i < launches_.size(); ++i)
      found[root(i)].push_back(launches_[i]);
    std::vector<std::vector<LaunchId>> groups;
    for (auto& [first, launches] : found)
      groups.push_back(std::move(launches));
    return groups;
  }

 private:
  std::size_t root(std::size_t i) {
    while (parents_[i] != i)
      i = parents_[i] = parents_[parents_[i]];
    return i;
  }

  void join_exchanges(const Resolved& resolved) {
    constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> first(resolved.exchanges.size(), kNone);
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const GpuCalls& calls = resolved.gpus[launches_[i].gpu];
      const Launch& launch = calls.launches[launches_[i].launch];
      for (std::uint32_t k = 0; k < launch.num_calls; ++k) {
        std::size_t& seen = first[calls.calls[launch.first_call + k].exchange];
        if (seen == kNone) seen = i;
        const std::size_t a = root(seen);
        const std::size_t b = root(i);
        parents_[std::max(a, b)] = std::min(a, b);
      }
    }
  }

  std::vector<LaunchId> launches_;
  std::vector<std::size_t> parents_;
};

Occurrence occurrence_of(const Resolved& resolved, const std::vector<LaunchId>& launches) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  std::int64_t first_start = kFar;
  std::int64_t last_start = -kFar;
  std::int64_t last_end = -kFar;
  std::int64_t shortest = kFar;
  std::set<std::uint32_t> clocks;
  std::vector<std::int64_t> starts(resolved.gpus.size(), kFar);
  for (const LaunchId& id : launches) {
    const Launch& launch = resolved.gpus[id.gpu].launches[id.launch];
    clocks.insert(resolved.job->gpus[id.gpu].clock);
    starts[id.gpu] = std::min(starts[id.gpu], launch.start_ns);
    first_start = std::min(first_start, launch.start_ns);
    last_start = std::max(last_start, launch.start_ns);
    last_end = std::max(last_end, launch.end_ns);
    shortest = std::min(shortest, launch.end_ns - launch.start_ns);
  }
  Occurrence occurrence;
  const bool comparable = clocks.size() == 1;
  occurrence.measured_ns = comparable ? last_end - last_start : shortest;
  for (const std::int64_t start : starts) {
    occurrence.start_offset_ns.push_back(comparable && start != kFar ? start - first_start : 0);
  }
  return occurrence;
}

}  // namespace

std::vector<std::vector<LaunchId>> launch_groups(const Resolved& resolved) {
  return LaunchGroups(resolved).all();
}

std::vector<std::uint64_t> signature(const Resolved& resolved,
                                     const std::vector<LaunchId>& launches) {
  std::vector<std::uint64_t> key;
  for (const LaunchId& id : launches) {
    const GpuCalls& calls = resolved.gpus[id.gpu];
    const Launch& launch = calls.launches[id.launch];
    key.push_back(id.gpu);
    key.push_back(launch.num_calls);
    for (std::uint32_t k = 0; k < launch.num_calls; ++k) {
      const Call& call = calls.calls[launch.first_call + k];
      const Operation& operation = resolved.job->gpus[id.gpu].operations[call.operation];
      key.insert(key.end(), {resolved.exchanges[call.exchange].shape,
                             static_cast<std::uint64_t>(operation.function),
                             static_cast<std::uint64_t>(operation.peer)});
    }
  }
  return key;
}

namespace {

void describe_unit(const Resolved& resolved, const std::vector<LaunchId>& launches, Unit& unit) {
  std::set<std::string> functions;
  std::set<std::string> nodes;
  std::set<std::uint32_t> gpus;
  for (const LaunchId& id : launches) {
    const GpuCalls& calls = resolved.gpus[id.gpu];
    const Launch& launch = calls.launches[id.launch];
    nodes.insert(resolved.job->gpus[id.gpu].node);
    gpus.insert(id.gpu);
    std::uint64_t bytes = 0;
    for (std::uint32_t k = 0; k < launch.num_calls; ++k) {
      const Call& call = calls.calls[launch.first_call + k];
      const Exchange& exchange = resolved.exchanges[call.exchange];
      const Operation& operation = resolved.job->gpus[id.gpu].operations[call.operation];
      functions.insert(std::string(name_of(exchange.function)));
      unit.algorithm = operation.algorithm;
      unit.protocol = resolved.shapes[exchange.shape].protocol;
      const auto channels = resolved.shapes[exchange.shape].cut.parts.size();
      unit.num_channels = std::max(unit.num_channels, static_cast<std::uint32_t>(channels));
      bytes += operation.bytes;
    }
    unit.bytes = std::max(unit.bytes, bytes);
  }
  for (const std::string& function : functions)
    unit.function += (unit.function.empty() ? "" : " + ") + function;
  unit.num_gpus = static_cast<std::uint32_t>(gpus.size());
  unit.num_nodes = static_cast<std::uint32_t>(nodes.size());
}

}  // namespace

model::Job job_of(const Resolved& resolved, const std::vector<LaunchId>& launches) {
  model::Job job;
  job.communicators = resolved.job->communicators;
  for (const model::JobGpu& from : resolved.job->gpus) {
    model::JobGpu& gpu = job.gpus.emplace_back();
    gpu.node = from.node;
    gpu.process_id = from.process_id;
    gpu.streams = {""};
  }
  for (const LaunchId& id : launches) {
    const GpuCalls& calls = resolved.gpus[id.gpu];
    const Launch& launch = calls.launches[id.launch];
    const model::JobGpu& from = resolved.job->gpus[id.gpu];
    model::JobGpu& gpu = job.gpus[id.gpu];
    for (std::uint32_t k = 0; k < launch.num_calls; ++k) {
      Operation operation = from.operations[calls.calls[launch.first_call + k].operation];
      const auto parts = from.parts.begin() + operation.first_part;
      operation.first_part = static_cast<std::uint32_t>(gpu.parts.size());
      gpu.parts.insert(gpu.parts.end(), parts, parts + operation.num_parts);
      operation.stream = 0;
      operation.start_ns = 0;
      operation.end_ns = 0;
      gpu.operations.push_back(operation);
    }
  }
  return job;
}

std::vector<Unit> find_units(const Resolved& resolved) {
  std::vector<Unit> units;
  std::map<std::vector<std::uint64_t>, std::size_t> known;
  for (const std::vector<LaunchId>& launches : LaunchGroups(resolved).all()) {
    const auto [found, is_new] = known.emplace(signature(resolved, launches), units.size());
    if (is_new) {
      Unit& unit = units.emplace_back();
      describe_unit(resolved, launches, unit);
      unit.job = job_of(resolved, launches);
    }
    units[found->second].occurrences.push_back(occurrence_of(resolved, launches));
  }
  return units;
}

const Occurrence& median_occurrence(const Unit& unit) {
  std::vector<const Occurrence*> sorted;
  for (const Occurrence& occurrence : unit.occurrences)
    sorted.push_back(&occurrence);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(
      sorted.begin(), middle, sorted.end(),
      [](const Occurrence* a, const Occurrence* b) { return a->measured_ns < b->measured_ns; });
  return **middle;
}

}  // namespace assay::goal
