#include "goal/chakra/read_traces.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/counted.h"
#include "goal/synth/collective_choice.h"

namespace assay::goal {
namespace {

using model::NcclFunction;
using model::Operation;
using Json = nlohmann::json;

constexpr const char* kAllRanks = "all ranks";
constexpr const char* kMessages = "messages";  // between any two ranks

// Indices into a rank's nodes, in an order in which they can run.
core::Result<std::vector<std::size_t>> order_of(const RankTrace& trace, model::Warnings& warnings) {
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (place.emplace(trace.nodes[i].id, i).second) continue;
    return core::Error{
        fmt::format("{}: two nodes have the number {}", trace.file, trace.nodes[i].id)};
  }
  std::vector<std::vector<std::size_t>> next(trace.nodes.size());
  std::vector<std::size_t> before(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    for (const std::uint64_t id : trace.nodes[i].data_deps) {
      const auto found = place.find(id);
      if (found == place.end()) {
        warnings.add("a node waits for one that is not there", "it does not wait for that",
                     fmt::format("{}: node {} for {}", trace.file, trace.nodes[i].id, id));
        continue;
      }
      next[found->second].push_back(i);
      ++before[i];
    }
  }
  using Free = std::pair<std::uint64_t, std::size_t>;  // the lowest number first
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 0) free.emplace(trace.nodes[i].id, i);
  }
  std::vector<std::size_t> order;
  while (!free.empty()) {
    order.push_back(free.top().second);
    free.pop();
    for (const std::size_t i : next[order.back()]) {
      if (--before[i] == 0) free.emplace(trace.nodes[i].id, i);
    }
  }
  if (order.size() == trace.nodes.size()) return order;
  return core::Error{fmt::format("{}: {} of its {} wait for each other in a circle", trace.file,
                                 trace.nodes.size() - order.size(),
                                 core::counted(trace.nodes.size(), "node"))};
}

// Tells a message by what both its ends know, and how often that was there before.
using MessageKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;

class Messages {
 public:
  // The number of a message among all from one rank to another, as its sender counts.
  void add_send(std::uint32_t source, std::uint32_t destination, std::uint32_t tag) {
    const std::uint64_t repeat = sends_[{source, destination, tag}]++;
    numbers_[{source, destination, tag, repeat}] = count_[{source, destination}]++;
  }

  // std::nullopt: nobody sends it.
  std::optional<std::uint64_t> receive(std::uint32_t source,
                                       std::uint32_t destination,
                                       std::uint32_t tag) {
    const std::uint64_t repeat = receives_[{source, destination, tag}]++;
    const auto found = numbers_.find({source, destination, tag, repeat});
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
  }

 private:
  using Tagged = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<Tagged, std::uint64_t> sends_;
  std::map<Tagged, std::uint64_t> receives_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> count_;
  std::map<MessageKey, std::uint64_t> numbers_;
};

class JobMaker {
 public:
  JobMaker(const std::vector<RankTrace>& traces,
           const RankGroups& groups,
           std::uint32_t gpus_per_node)
      : traces_(traces), groups_(groups), gpus_per_node_(gpus_per_node) {}

  core::Result<model::Job> made() {
    std::vector<std::vector<std::size_t>> orders;
    for (std::uint32_t rank = 0; rank < traces_.size(); ++rank) {
      orders.push_back(ASSAY_TRY(order_of(traces_[rank], job_.warnings)));
      job_.gpus.push_back({.node = fmt::format("node{}", rank / gpus_per_node_),
                           .process_id = rank,
                           .device = static_cast<std::int32_t>(rank % gpus_per_node_),
                           .states_waits = true});
      count_sends(rank, orders.back());
    }
    for (std::uint32_t rank = 0; rank < traces_.size(); ++rank)
      ASSAY_TRY(fill(rank, orders[rank]));
    return std::move(job_);
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> all_ranks() const {
    std::vector<std::uint32_t> ranks(traces_.size());
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
      ranks[rank] = rank;
    return ranks;
  }

  std::uint32_t communicator(const std::string& name, const std::vector<std::uint32_t>& ranks) {
    const auto [known, is_new] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(job_.communicators.size()));
    if (is_new) job_.communicators.push_back({.name = name, .gpus = ranks, .channels = {}});
    return known->second;
  }

  void count_sends(std::uint32_t rank, const std::vector<std::size_t>& order) {
    for (const std::size_t i : order) {
      const ChakraNode& node = traces_[rank].nodes[i];
      if (node.type == ChakraType::kSend)
        messages_.add_send(rank, node.destination.value_or(0), node.tag);
    }
  }

  core::Status fill(std::uint32_t rank, const std::vector<std::size_t>& order) {
    rank_ = rank;
    ends_.clear();
    streams_.clear();
    sequences_.clear();
    for (const std::size_t i : order) {
      const ChakraNode& node = traces_[rank].nodes[i];
      const std::set<std::uint32_t> waits = waits_of(node);
      const std::size_t first = gpu().operations.size();
      ASSAY_TRY(add(node, waits));
      // A node without operations passes on what it waits for.
      const bool is_nothing = gpu().operations.size() == first;
      ends_[node.id] =
          is_nothing ? waits : std::set{static_cast<std::uint32_t>(gpu().operations.size() - 1)};
      ++group_;
    }
    return {};
  }

  model::JobGpu& gpu() { return job_.gpus[rank_]; }

  [[nodiscard]] std::set<std::uint32_t> waits_of(const ChakraNode& node) const {
    std::set<std::uint32_t> waits;
    for (const std::uint64_t id : node.data_deps) {
      const auto found = ends_.find(id);
      if (found != ends_.end()) waits.insert(found->second.begin(), found->second.end());
    }
    return waits;
  }

  std::uint32_t stream(const std::string& name) {
    const auto [at, is_new] =
        streams_.try_emplace(name, static_cast<std::uint32_t>(gpu().streams.size()));
    if (is_new) gpu().streams.push_back(name);
    return at->second;
  }

  core::Status add(const ChakraNode& node, const std::set<std::uint32_t>& waits) {
    constexpr std::int64_t kNsOfUs = 1000;
    Operation operation{
        .group = group_,
        .start_ns = static_cast<std::int64_t>(node.start_us) * kNsOfUs,
        .end_ns = static_cast<std::int64_t>(node.start_us + node.duration_us) * kNsOfUs,
        .first_wait = static_cast<std::uint32_t>(gpu().waits.size()),
        .num_waits = static_cast<std::uint32_t>(waits.size())};
    if (node.type == ChakraType::kInvalid || node.type == ChakraType::kMetadata) return {};
    gpu().waits.insert(gpu().waits.end(), waits.begin(), waits.end());
    if (node.type == ChakraType::kCollective) return add_collective(node, operation);
    if (node.type == ChakraType::kSend || node.type == ChakraType::kReceive)
      return add_message(node, operation);
    const bool is_memory = node.type != ChakraType::kComputation;
    operation.communicator = model::kNoCommunicator;
    operation.stream = stream(is_memory ? "memory" : node.is_on_cpu ? "CPU" : "GPU");
    operation.compute_ns = node.duration_us * kNsOfUs;
    gpu().operations.push_back(operation);
    return {};
  }

  core::Status add_message(const ChakraNode& node, Operation operation) {
    const bool sends = node.type == ChakraType::kSend;
    const std::uint32_t peer = (sends ? node.destination : node.source).value_or(0);
    if (peer >= traces_.size()) {
      return core::Error{fmt::format("{}: node {} exchanges with rank {}, of {}",
                                     traces_[rank_].file, node.id, peer, traces_.size())};
    }
    operation.communicator = communicator(kMessages, all_ranks());
    std::uint64_t& sent =
        sequences_[{operation.communicator, NcclFunction::kSend, static_cast<std::int32_t>(peer)}];
    const std::optional<std::uint64_t> number =
        sends ? std::optional(sent) : messages_.receive(peer, rank_, node.tag);
    if (sends) ++sent;
    operation.function = sends ? NcclFunction::kSend : NcclFunction::kRecv;
    operation.peer = static_cast<std::int32_t>(peer);
    operation.bytes = node.bytes;
    operation.stream = stream(fmt::format("{} {}", sends ? "to" : "from", peer));
    // Nobody sends what has such a number.
    operation.sequence = number.value_or(kNobodys + group_);
    gpu().operations.push_back(operation);
    return {};
  }

  core::Result<std::uint32_t> group_of(const ChakraNode& node) {
    if (node.group.empty() || node.group == "0") return communicator(kAllRanks, all_ranks());
    const auto found = groups_.find(node.group);
    if (found == groups_.end()) {
      return core::Error{fmt::format(
          "{}: node {} is of group {}, whose ranks nothing tells: put a comm_group.json beside "
          "the traces, {{\"{}\": [0, 1, ...]}}",
          traces_[rank_].file, node.id, node.group, node.group)};
    }
    for (const std::uint32_t rank : found->second) {
      if (rank >= traces_.size()) {
        return core::Error{fmt::format("group {} has rank {}, and there are traces of {} ranks",
                                       node.group, rank, traces_.size())};
      }
    }
    return communicator("group " + node.group, found->second);
  }

  static std::optional<NcclFunction> function_of(ChakraCollective collective) {
    switch (collective) {
      case ChakraCollective::kAllReduce:
      case ChakraCollective::kBarrier:
        return NcclFunction::kAllReduce;
      case ChakraCollective::kReduce:
        return NcclFunction::kReduce;
      case ChakraCollective::kAllGather:
        return NcclFunction::kAllGather;
      case ChakraCollective::kBroadcast:
        return NcclFunction::kBroadcast;
      case ChakraCollective::kAllToAll:
        return NcclFunction::kAllToAll;
      case ChakraCollective::kReduceScatter:
      case ChakraCollective::kReduceScatterBlock:
        return NcclFunction::kReduceScatter;
      case ChakraCollective::kGather:
      case ChakraCollective::kScatter:
        break;
    }
    return std::nullopt;
  }

  core::Status add_collective(const ChakraNode& node, Operation operation) {
    const std::optional<NcclFunction> function = function_of(node.collective);
    operation.communicator = ASSAY_TRY(group_of(node));
    const std::vector<std::uint32_t>& members = job_.communicators[operation.communicator].gpus;
    const auto me = std::find(members.begin(), members.end(), rank_);
    if (me == members.end()) {
      return core::Error{fmt::format("{}: node {} is of group {}, which rank {} is not of",
                                     traces_[rank_].file, node.id, node.group, rank_)};
    }
    if (!function) {
      job_.warnings.add("a gather or a scatter has no lowering", "left out",
                        fmt::format("{}: node {}", traces_[rank_].file, node.id));
      return {};
    }
    if (members.size() == 1) return {};
    operation.stream = stream(job_.communicators[operation.communicator].name);
    const auto rank = static_cast<std::uint32_t>(me - members.begin());
    const auto ranks = static_cast<std::uint32_t>(members.size());
    if (*function == NcclFunction::kAllToAll) {
      add_all_to_all(node.bytes / ranks, {rank, ranks}, operation);
      return {};
    }
    constexpr std::uint64_t kBarrierBytes = 4;
    const bool is_barrier = node.collective == ChakraCollective::kBarrier;
    operation.function = *function;
    operation.bytes = is_barrier ? kBarrierBytes : node.bytes;
    if (*function == NcclFunction::kReduceScatter) operation.bytes = node.bytes / ranks;
    const bool has_root =
        *function == NcclFunction::kBroadcast || *function == NcclFunction::kReduce;
    if (has_root) operation.root = 0;
    choose(operation, ranks);
    operation.sequence = sequences_[{operation.communicator, operation.function, -1}]++;
    gpu().operations.push_back(operation);
    return {};
  }

  void choose(Operation& operation, std::uint32_t ranks) const {
    std::set<std::string> nodes;
    for (const std::uint32_t rank : job_.communicators[operation.communicator].gpus)
      nodes.insert(job_.gpus[rank].node);
    const CollectiveChoice choice =
        choose_collective({.function = operation.function,
                           .bytes = operation.bytes,
                           .ranks = ranks,
                           .nodes = static_cast<std::uint32_t>(nodes.size())});
    operation.algorithm = choice.algorithm;
    operation.protocol = choice.protocol;
    operation.num_channels = choice.channels;
  }

  struct Seat {
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
  };

  void add_all_to_all(std::uint64_t bytes, const Seat& seat, Operation operation) {
    const auto add = [&](NcclFunction function, std::uint32_t peer) {
      operation.function = function;
      operation.peer = static_cast<std::int32_t>(peer);
      operation.bytes = bytes;
      operation.sequence = sequences_[{operation.communicator, function, operation.peer}]++;
      gpu().operations.push_back(operation);
    };
    for (std::uint32_t i = 1; i < seat.ranks; ++i) {
      add(NcclFunction::kSend, (seat.rank + i) % seat.ranks);
      add(NcclFunction::kRecv, (seat.rank + seat.ranks - i) % seat.ranks);
    }
  }

  static constexpr std::uint64_t kNobodys = std::uint64_t{1} << 62;

  const std::vector<RankTrace>& traces_;
  const RankGroups& groups_;
  std::uint32_t gpus_per_node_;
  model::Job job_;
  std::map<std::string, std::uint32_t> numbers_;  // of communicators
  Messages messages_;
  std::uint32_t rank_ = 0;
  std::uint32_t group_ = 0;
  std::unordered_map<std::uint64_t, std::set<std::uint32_t>> ends_;  // by node: operations
  std::map<std::string, std::uint32_t> streams_;
  std::map<std::tuple<std::uint32_t, NcclFunction, std::int32_t>, std::uint64_t> sequences_;
};

// A list of ranks, or nothing.
std::optional<std::vector<std::uint32_t>> ranks_in(const Json& list) {
  constexpr std::uint64_t kMostRanks = 1 << 24;
  if (!list.is_array()) return std::nullopt;
  std::vector<std::uint32_t> ranks;
  std::set<std::uint32_t> seen;
  for (const Json& one : list) {
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() > kMostRanks) return std::nullopt;
    ranks.push_back(one.get<std::uint32_t>());
    if (!seen.insert(ranks.back()).second) return std::nullopt;
  }
  if (ranks.empty()) return std::nullopt;
  return ranks;
}

}  // namespace

core::Result<RankGroups> parse_rank_groups(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return core::Error{name + ": no object of JSON"};
  RankGroups groups;
  for (const auto& [group, list] : json.items()) {
    std::optional<std::vector<std::uint32_t>> ranks = ranks_in(list);
    if (!ranks)
      return core::Error{fmt::format("{}: group {} is no list of different ranks", name, group)};
    groups.emplace(group, std::move(*ranks));
  }
  return groups;
}

// The text is a Python list of one text, "['[{...}]']", with JSON within.
RankGroups groups_in_metadata(const std::vector<ChakraNode>& nodes) {
  RankGroups groups;
  for (const ChakraNode& node : nodes) {
    if (node.type != ChakraType::kMetadata || node.values.size() < 4) continue;
    const Json json = Json::parse(node.values.substr(2, node.values.size() - 4), nullptr, false);
    if (!json.is_array()) continue;
    for (const Json& one : json) {
      if (!one.is_object() || !one.contains("pg_name") || !one.contains("ranks")) continue;
      const Json& name = one["pg_name"];
      std::optional<std::vector<std::uint32_t>> ranks = ranks_in(one["ranks"]);
      if (name.is_string() && ranks) groups.emplace(name.get<std::string>(), std::move(*ranks));
    }
  }
  return groups;
}

core::Result<model::Job> job_of_traces(const std::vector<RankTrace>& traces,
                                       const RankGroups& groups,
                                       std::uint32_t gpus_per_node) {
  return JobMaker(traces, groups, gpus_per_node).made();
}

}  // namespace assay::goal
