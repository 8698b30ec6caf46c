#include "goal/inputs/nccl_log_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "goal/inputs/links.h"
#include "goal/inputs/nccl_log.h"

namespace assay::goal {

namespace fs = std::filesystem;

std::vector<fs::path> nccl_logs_beside(const std::vector<fs::path>& files,
                                       const InputOptions& options) {
  if (!options.nccl_logs.empty()) return options.nccl_logs;
  std::set<fs::path> folders;
  for (const fs::path& file : files)
    folders.insert(file.has_parent_path() ? file.parent_path() : fs::path("."));
  std::vector<fs::path> logs;
  for (const fs::path& folder : folders) {
    const auto names = core::list_directory(folder);
    if (!names.ok())
      continue;  // The folder held the recording a moment ago: it was removed meanwhile, which is
                 // no fault.
    for (const fs::path& name : names.value()) {
      if (is_nccl_log(folder / name)) logs.push_back(folder / name);
    }
  }
  return logs;
}

core::Status add_logged_topology(const std::vector<fs::path>& files,
                                 const InputOptions& options,
                                 model::Job& job) {
  const std::vector<fs::path> logs = nccl_logs_beside(files, options);
  if (logs.empty()) return {};
  const NcclLog log = ASSAY_TRY(read_nccl_logs(logs, job.warnings));
  if (job.nccl_version.empty()) job.nccl_version = log.nccl_version;
  add_topology(log, job);
  return {};
}

namespace {

using Gpus = std::vector<std::uint32_t>;

// Returns the GPU of a logged rank: by process id, and by host name where several nodes have that
// id.
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

// Returns the communicator's GPUs in the order of the log's ranks; std::nullopt if the log names
// other GPUs.
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

// A recording that began late names communicators by a hash that logs do not have. Communicators of
// the same processes are the same.
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

std::string host_of_node(const std::string& node) {
  return node.substr(0, node.find('/'));
}

void add_topology(const NcclLog& log, model::Job& job) {
  for (model::Communicator& communicator : job.communicators) {
    if (!communicator.channels.empty()) continue;
    const LoggedCommunicator* logged = find_by_name(log, communicator.name);
    if (logged == nullptr) logged = find_by_members(log, communicator, job);
    if (logged == nullptr) {
      job.warnings.add("communicators whose rings no NCCL log tells",
                       "left without rings and trees", communicator.name);
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

namespace {

using CallKind = std::pair<model::NcclFunction, std::uint64_t>;  // a function and its bytes
using Choices = std::map<CallKind, std::vector<const LoggedChoice*>>;

std::map<std::string, Choices> choices_by_communicator(const NcclLog& log) {
  std::map<std::string, Choices> all;
  for (const LoggedCommunicator& communicator : log.communicators) {
    for (const LoggedChoice& choice : communicator.choices)
      all[communicator.name][{choice.function, choice.bytes}].push_back(&choice);
  }
  return all;
}

// Returns the choices of a process whose communicator is unknown.
Choices untied_choices(const NcclLog& log, const model::JobGpu& rank_0) {
  Choices choices;
  for (const UntiedChoice& untied : log.untied) {
    const bool same =
        untied.process_id == rank_0.process_id && untied.host == host_of_node(rank_0.node);
    if (same) choices[{untied.choice.function, untied.choice.bytes}].push_back(&untied.choice);
  }
  return choices;
}

bool agree(const std::vector<const LoggedChoice*>& choices) {
  return std::all_of(choices.begin(), choices.end(), [&](const LoggedChoice* choice) {
    const LoggedChoice& first = *choices.front();
    return choice->algorithm == first.algorithm && choice->protocol == first.protocol &&
           choice->last_channel - choice->first_channel == first.last_channel - first.first_channel;
  });
}

// Returns by communicator what the log tells of its calls. Only rank 0 logs choices, so that calls
// of a kind that chose the same in all of its communicators chose that in each.
std::vector<Choices> choices_of(const NcclLog& log, const model::Job& job) {
  std::map<std::string, Choices> named = choices_by_communicator(log);
  std::vector<Choices> all;
  for (const model::Communicator& communicator : job.communicators) {
    Choices& choices = all.emplace_back(std::move(named[communicator.name]));
    if (communicator.gpus.empty() || communicator.gpus.front() == model::kNoGpu) continue;
    for (auto& [kind, untied] : untied_choices(log, job.gpus[communicator.gpus.front()])) {
      if (agree(untied)) choices.emplace(kind, std::move(untied));
    }
  }
  return all;
}

void assume(model::Operation& operation, model::Warnings& warnings, const std::string& name) {
  constexpr std::uint64_t kMostLlBytes = 32768;
  operation.algorithm = model::NcclAlgorithm::kRing;
  operation.protocol =
      operation.bytes <= kMostLlBytes ? model::NcclProtocol::kLl : model::NcclProtocol::kSimple;
  warnings.add("collectives whose algorithm no NCCL log tells",
               "assumed: RING, with LL up to 32 KiB and SIMPLE above", name);
}

bool needs_choice(const model::Operation& operation) {
  return operation.algorithm == model::NcclAlgorithm::kNone &&
         operation.function <= model::NcclFunction::kAllReduce;
}

void choose(const Choices& choices,
            std::map<CallKind, std::size_t>& seen,
            model::Operation& operation,
            model::Warnings& warnings,
            const std::string& name) {
  const CallKind call(operation.function, operation.bytes);
  const auto found = choices.find(call);
  if (found == choices.end()) return assume(operation, warnings, name);
  const std::vector<const LoggedChoice*>& logged = found->second;
  const LoggedChoice& choice = *logged[std::min(seen[call]++, logged.size() - 1)];
  operation.algorithm = choice.algorithm;
  operation.protocol = choice.protocol;
  operation.num_channels = choice.last_channel - choice.first_channel + 1;
}

}  // namespace

void add_choices(const NcclLog& log, model::Job& job) {
  const std::vector<Choices> all = choices_of(log, job);
  for (model::JobGpu& gpu : job.gpus) {
    std::map<std::uint32_t, std::map<CallKind, std::size_t>> seen;
    for (model::Operation& operation : gpu.operations) {
      if (!needs_choice(operation)) continue;
      const std::string& name = job.communicators[operation.communicator].name;
      choose(all[operation.communicator], seen[operation.communicator], operation, job.warnings,
             name);
    }
  }
}

}  // namespace assay::goal
