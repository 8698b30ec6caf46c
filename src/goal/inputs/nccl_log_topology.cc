#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "goal/inputs/nccl_log.h"
#include "goal/inputs/topology.h"

namespace assay::goal {
namespace {

using Gpus = std::vector<std::uint32_t>;

// The job's GPU of a logged rank: by process id, and by host name where several nodes have it.
std::uint32_t gpu_of(const LoggedRank& rank, const Gpus& candidates, const model::Job& job) {
  Gpus same;
  for (const std::uint32_t gpu : candidates) {
    if (gpu != model::kNoGpu && job.gpus[gpu].process_id == rank.process_id) same.push_back(gpu);
  }
  if (same.size() == 1) return same.front();
  for (const std::uint32_t gpu : same) {
    if (job.gpus[gpu].node == rank.host) return gpu;
  }
  return model::kNoGpu;
}

// The communicator's GPUs in the order of the log's ranks; nothing if those are other GPUs.
std::optional<Gpus> logged_order(const LoggedCommunicator& logged,
                                 const model::Communicator& communicator,
                                 const model::Job& job) {
  if (logged.num_ranks != communicator.gpus.size()) return std::nullopt;
  Gpus order(communicator.gpus.size(), model::kNoGpu);
  for (const auto& [rank, facts] : logged.ranks) {
    const std::uint32_t gpu = gpu_of(facts, communicator.gpus, job);
    if (gpu == model::kNoGpu || rank < 0 || static_cast<std::size_t>(rank) >= order.size()) {
      return std::nullopt;
    }
    order[static_cast<std::size_t>(rank)] = gpu;
  }
  if (std::count(order.begin(), order.end(), model::kNoGpu) > 0) return std::nullopt;
  return order;
}

const LoggedCommunicator* find_by_name(const NcclLog& log, const std::string& name) {
  for (const LoggedCommunicator& logged : log.communicators) {
    if (logged.name == name) return &logged;
  }
  return nullptr;
}

// A recording that began late names communicators by a hash that logs do not have: then the same
// processes make the same communicator.
const LoggedCommunicator* find_by_members(const NcclLog& log,
                                          model::Communicator& communicator,
                                          const model::Job& job) {
  for (const LoggedCommunicator& logged : log.communicators) {
    const auto order = logged_order(logged, communicator, job);
    if (!order) continue;
    communicator.gpus = *order;
    return &logged;
  }
  return nullptr;
}

}  // namespace

std::map<std::int32_t, std::string> logged_nodes(const LoggedCommunicator& communicator) {
  std::map<std::int32_t, std::string> nodes;
  std::set<std::string> hosts;
  for (const auto& [rank, facts] : communicator.ranks) {
    nodes[rank] = facts.host;
    hosts.insert(facts.host);
  }
  if (communicator.num_nodes <= hosts.size()) return nodes;
  // The n-th rank with a given local rank is on the n-th node that has so many ranks.
  std::map<std::pair<std::string, std::int32_t>, int> seen;
  for (const auto& [rank, facts] : communicator.ranks) {
    if (facts.local_rank < 0) continue;
    const int node = seen[{facts.host, facts.local_rank}]++;
    nodes[rank] = fmt::format("{}/{}", facts.host, node);
  }
  return nodes;
}

void add_topology(const NcclLog& log, model::Job& job) {
  for (model::Communicator& communicator : job.communicators) {
    if (!communicator.channels.empty()) continue;
    const LoggedCommunicator* logged = find_by_name(log, communicator.name);
    if (logged == nullptr) logged = find_by_members(log, communicator, job);
    if (logged == nullptr) {
      job.warnings.add("communicators that the NCCL logs do not know", "without rings and trees",
                       communicator.name);
      continue;
    }
    for (const auto& [rank, facts] : logged->ranks) {
      if (rank >= 0 && static_cast<std::size_t>(rank) < communicator.gpus.size()) {
        set_links(communicator, static_cast<std::uint32_t>(rank), facts.channels);
      }
    }
    const std::uint32_t incomplete = complete_links(communicator);
    if (incomplete > 0) {
      job.warnings.add("ranks whose rings the NCCL logs do not tell", "left without neighbours",
                       communicator.name, incomplete);
    }
  }
}

}  // namespace assay::goal
