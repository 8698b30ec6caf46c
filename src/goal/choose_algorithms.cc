#include "goal/choose_algorithms.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "goal/topology.h"

namespace assay::goal {
namespace {

using model::Communicator;
using model::Job;
using model::NcclAlgorithm;
using model::Operation;

Chosen chosen_of(const Operation& operation) {
  return {operation.algorithm, operation.protocol,
          std::max(operation.num_channels, operation.num_parts)};
}

bool uses(const Job& job, NcclAlgorithm first, NcclAlgorithm second) {
  for (const model::JobGpu& gpu : job.gpus) {
    for (const Operation& operation : gpu.operations) {
      if (operation.algorithm == first || operation.algorithm == second) return true;
    }
  }
  return false;
}

class Chooser {
 public:
  Chooser(const Job& recorded, const ChoiceOptions& options, Job& scaled)
      : recorded_(recorded), options_(options), scaled_(scaled) {
    nvls_ = uses(recorded, NcclAlgorithm::kNvls, NcclAlgorithm::kNvlsTree);
    collnet_ = uses(recorded, NcclAlgorithm::kCollnetDirect, NcclAlgorithm::kCollnetChain);
  }

  std::vector<NewChoice> run() {
    for (std::uint32_t i = 0; i < scaled_.communicators.size(); ++i)
      prepare(i);
    for (std::uint32_t gpu = 0; gpu < scaled_.gpus.size(); ++gpu)
      choose_for(gpu);
    std::vector<NewChoice> choices;
    for (const auto& [kind, choice] : kinds_) {
      if (choice.recorded != choice.chosen) choices.push_back(choice);
    }
    return choices;
  }

 private:
  // An operation's calls that NCCL chose for together, as a key.
  using Group = std::vector<std::tuple<model::NcclFunction, std::uint64_t, std::uint32_t>>;
  using Kind = std::tuple<model::NcclFunction, std::uint64_t, std::uint32_t, Chosen, Chosen>;

  struct Grown {
    bool grown = false;
    model::NcclTopology topology = {};
    std::uint32_t first_gpu = model::kNoGpu;  // the member whose operations are counted
    std::map<Group, std::vector<model::NcclChoice>> known = {};
  };

  std::vector<std::string> nodes_of(const Communicator& communicator) const {
    std::vector<std::string> nodes;
    for (const std::uint32_t gpu : communicator.gpus)
      nodes.push_back(gpu == model::kNoGpu ? "" : scaled_.gpus[gpu].node);
    return nodes;
  }

  bool has_grown(const Communicator& communicator) const {
    for (const Communicator& before : recorded_.communicators) {
      if (before.name == communicator.name) return before.gpus.size() != communicator.gpus.size();
    }
    return false;
  }

  void prepare(std::uint32_t index) {
    Communicator& communicator = scaled_.communicators[index];
    Grown& grown = grown_.emplace_back();
    grown.grown = has_grown(communicator);
    if (!grown.grown) return;
    const std::vector<std::string> nodes = nodes_of(communicator);
    const std::set<std::string> distinct(nodes.begin(), nodes.end());
    grown.topology = model::nccl_topology({.num_ranks = static_cast<int>(nodes.size()),
                                           .num_nodes = static_cast<int>(distinct.size()),
                                           .nic_gbps = options_.nic_gbps,
                                           .nvls = nvls_,
                                           .collnet = collnet_});
    grown.first_gpu = communicator.gpus.front();
    make_channels(communicator, nodes, static_cast<std::size_t>(grown.topology.channels));
  }

  // Recorded rings serve one channel after the other; which of the two trees a channel takes
  // depends on the number of channels.
  static void make_channels(Communicator& communicator,
                            const std::vector<std::string>& nodes,
                            std::size_t channels) {
    if (communicator.channels.empty() || communicator.channels.size() == channels) return;
    const std::vector<std::vector<model::ChannelLinks>> before = std::move(communicator.channels);
    communicator.channels.clear();
    for (std::size_t i = 0; i < channels; ++i) {
      auto& links = communicator.channels.emplace_back(before[i % before.size()]);
      link_trees(links, nodes, tree_of_channel(i, channels), i);
    }
  }

  void choose_for(std::uint32_t gpu) {
    std::vector<Operation>& operations = scaled_.gpus[gpu].operations;
    for (std::size_t first = 0; first < operations.size();) {
      std::size_t end = first + 1;
      while (end < operations.size() && together(operations[first], operations[end]))
        ++end;
      if (has_grown(operations[first].communicator)) choose_for(gpu, first, end);
      first = end;
    }
  }

  bool has_grown(std::uint32_t communicator) const {
    return communicator != model::kNoCommunicator && grown_[communicator].grown;
  }

  static bool together(const Operation& a, const Operation& b) {
    return a.group == b.group && a.stream == b.stream && a.communicator == b.communicator;
  }

  void choose_for(std::uint32_t gpu, std::size_t first, std::size_t end) {
    std::vector<Operation*> members;
    Group group;
    for (std::size_t i = first; i < end; ++i) {
      Operation& operation = scaled_.gpus[gpu].operations[i];
      if (is_point_to_point(operation.function)) continue;
      members.push_back(&operation);
      group.emplace_back(operation.function, operation.bytes, operation.element_bytes);
    }
    if (members.empty()) return;
    Grown& grown = grown_[members.front()->communicator];
    const std::vector<model::NcclChoice>& choices = choices_of(grown, group);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Chosen before = chosen_of(*members[i]);
      apply(choices[i], *members[i]);
      if (gpu == grown.first_gpu) count(*members[i], before, grown);
    }
  }

  static const std::vector<model::NcclChoice>& choices_of(Grown& grown, const Group& group) {
    const auto [found, is_new] = grown.known.try_emplace(group);
    if (!is_new) return found->second;
    std::vector<model::NcclCall> calls;
    for (const auto& [function, bytes, element_bytes] : group)
      calls.push_back({function, bytes, element_bytes});
    found->second = model::choose_for_group(calls, grown.topology);
    return found->second;
  }

  // The recorded chunks belong to the recorded choice.
  static void apply(const model::NcclChoice& choice, Operation& operation) {
    const bool same =
        operation.algorithm == choice.algorithm && operation.protocol == choice.protocol;
    if (!same) operation.chunk_steps = operation.slice_steps = operation.step_bytes = 0;
    operation.algorithm = choice.algorithm;
    operation.protocol = choice.protocol;
    operation.num_channels = choice.channels;
    operation.num_parts = 0;
  }

  void count(const Operation& operation, const Chosen& before, const Grown& grown) {
    const auto num_ranks = static_cast<std::uint32_t>(grown.topology.num_ranks);
    const Chosen now = chosen_of(operation);
    NewChoice& choice = kinds_[{operation.function, operation.bytes, num_ranks, before, now}];
    choice = {operation.function, operation.bytes, num_ranks, before, now, choice.operations + 1};
  }

  const Job& recorded_;
  const ChoiceOptions& options_;
  Job& scaled_;
  bool nvls_ = false;
  bool collnet_ = false;
  std::vector<Grown> grown_;  // by communicator
  std::map<Kind, NewChoice> kinds_;
};

}  // namespace

std::vector<NewChoice> choose_algorithms(const Job& recorded,
                                         const ChoiceOptions& options,
                                         Job& scaled) {
  if (options.keep || scaled.gpus.size() == recorded.gpus.size()) return {};
  return Chooser(recorded, options, scaled).run();
}

namespace {

std::string text_of(const Chosen& chosen) {
  return fmt::format("{} {}, {} channel{}", name_of(chosen.algorithm), name_of(chosen.protocol),
                     chosen.channels, chosen.channels == 1 ? "" : "s");
}

}  // namespace

model::Table choices_table(const std::vector<NewChoice>& choices) {
  model::Table table{
      .name = "choices",
      .title = "What NCCL would choose at this size, where that is not what was recorded",
      .columns = {{.name = "function"},
                  {.name = "size", .unit = "B"},
                  {.name = "ranks"},
                  {.name = "recorded"},
                  {.name = "chosen"},
                  {.name = "operations", .description = "each counted once for all its ranks"}}};
  for (const NewChoice& choice : choices) {
    table.add_row({std::string(name_of(choice.function)), static_cast<std::int64_t>(choice.bytes),
                   static_cast<std::int64_t>(choice.num_ranks), text_of(choice.recorded),
                   text_of(choice.chosen), static_cast<std::int64_t>(choice.operations)});
  }
  return table;
}

}  // namespace assay::goal
