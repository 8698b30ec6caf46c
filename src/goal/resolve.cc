#include "goal/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "goal/lowering.h"
#include "goal/p2p_chunking.h"

namespace assay::goal {
namespace {

using model::Job;
using model::JobGpu;
using model::kNoGpu;
using model::NcclFunction;
using model::Operation;

constexpr std::uint32_t kNoExchange = 0xFFFFFFFF;

struct Key {
  std::uint32_t communicator;
  NcclFunction function;
  std::int32_t source;
  std::int32_t destination;
  std::uint64_t sequence;

  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = key.communicator;
    const auto mix = [&](std::uint64_t value) {
      hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    };
    mix(static_cast<std::uint64_t>(key.function));
    mix(static_cast<std::uint64_t>(key.source) << 32 | static_cast<std::uint32_t>(key.destination));
    mix(key.sequence);
    return hash;
  }
};

class Resolver {
 public:
  Resolver(const Job& job, Misfits misfits) : job_(job), misfits_(misfits) {
    resolved_.job = &job;
    find_ranks();
  }

  core::Result<Resolved> run() {
    ASSAY_TRY(check_members());
    join_operations();
    ASSAY_TRY(leave_out_misfits());
    find_routes();
    for (std::uint32_t i = 0; i < job_.communicators.size(); ++i)
      make_topology_of(i);
    make_shapes();
    for (std::uint32_t gpu = 0; gpu < job_.gpus.size(); ++gpu)
      list_calls(gpu);
    return std::move(resolved_);
  }

 private:
  struct Members {
    std::uint32_t seen = 0;
    std::uint32_t last_gpu = kNoGpu;
    std::string problem;  // empty: fits together
  };

  void find_ranks() {
    ranks_.resize(job_.communicators.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const auto& gpus = job_.communicators[i].gpus;
      for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
        if (gpus[rank] != kNoGpu) ranks_[i][gpus[rank]] = static_cast<std::int32_t>(rank);
      }
    }
  }

  std::int32_t rank_of(std::uint32_t gpu, std::uint32_t communicator) const {
    const auto found = ranks_[communicator].find(gpu);
    return found == ranks_[communicator].end() ? -1 : found->second;
  }

  std::string gpu_name(std::uint32_t gpu) const {
    const JobGpu& who = job_.gpus[gpu];
    return fmt::format("process {} of node {}", who.process_id, who.node);
  }

  // A communicator whose ranks were not all recorded has no whole exchange.
  core::Status check_members() {
    std::size_t usable = 0;
    std::string missing;
    for (const model::Communicator& communicator : job_.communicators) {
      const auto absent = std::count(communicator.gpus.begin(), communicator.gpus.end(), kNoGpu);
      if (absent == 0) {
        ++usable;
        continue;
      }
      const auto first = std::find(communicator.gpus.begin(), communicator.gpus.end(), kNoGpu);
      missing = fmt::format("communicator {}: {} of its {} ranks were not recorded, first rank {}",
                            communicator.name, absent, communicator.gpus.size(),
                            first - communicator.gpus.begin());
      if (misfits_ == Misfits::kFail) return core::Error{missing};
      resolved_.warnings.add("ranks of a communicator were not recorded",
                             "its operations are left out", missing);
    }
    if (usable > 0) return {};
    return core::Error{missing.empty() ? "the recording has no communicator"
                                       : missing + "; add the missing recordings"};
  }

  std::optional<Key> key_of(std::uint32_t gpu, const Operation& operation) {
    const std::int32_t rank = rank_of(gpu, operation.communicator);
    if (rank < 0) return std::nullopt;
    Key key{operation.communicator, operation.function, -1, -1, operation.sequence};
    if (is_point_to_point(operation.function)) {
      const bool sends = operation.function == NcclFunction::kSend;
      key.function = NcclFunction::kSendRecv;
      key.source = sends ? rank : operation.peer;
      key.destination = sends ? operation.peer : rank;
    }
    return key;
  }

  void join_operations() {
    exchange_of_.resize(job_.gpus.size());
    for (std::uint32_t gpu = 0; gpu < job_.gpus.size(); ++gpu) {
      const auto& operations = job_.gpus[gpu].operations;
      exchange_of_[gpu].assign(operations.size(), kNoExchange);
      for (std::uint32_t i = 0; i < operations.size(); ++i)
        join(gpu, i);
    }
  }

  void join(std::uint32_t gpu, std::uint32_t index) {
    const Operation& operation = job_.gpus[gpu].operations[index];
    const auto key = key_of(gpu, operation);
    if (!key) {
      resolved_.warnings.add("an operation on a communicator that its GPU is no rank of",
                             "left out", describe(gpu, operation));
      return;
    }
    const auto number = static_cast<std::uint32_t>(resolved_.exchanges.size());
    const auto [found, is_new] = numbers_.emplace(*key, number);
    if (is_new) {
      resolved_.exchanges.push_back({key->function, key->communicator, key->source,
                                     key->destination, key->sequence, 0, gpu, index});
      members_.emplace_back();
    } else {
      compare(found->second, gpu, operation);
    }
    Members& members = members_[found->second];
    const bool to_itself = key->source >= 0 && key->source == key->destination;
    if (members.last_gpu == gpu && !to_itself && members.problem.empty()) {
      members.problem = describe(gpu, operation) + ", twice";
    }
    members.last_gpu = gpu;
    ++members.seen;
    exchange_of_[gpu][index] = found->second;
  }

  void compare(std::uint32_t number, std::uint32_t gpu, const Operation& operation) {
    const Exchange& exchange = resolved_.exchanges[number];
    const Operation& first = job_.gpus[exchange.gpu].operations[exchange.operation];
    const bool agree = std::tie(first.bytes, first.algorithm, first.protocol, first.root,
                                first.num_channels, first.num_parts) ==
                       std::tie(operation.bytes, operation.algorithm, operation.protocol,
                                operation.root, operation.num_channels, operation.num_parts);
    if (agree || !members_[number].problem.empty()) return;
    members_[number].problem =
        fmt::format("{}, but {}", describe(exchange.gpu, first), describe(gpu, operation));
  }

  std::string describe(std::uint32_t gpu, const Operation& operation) const {
    return fmt::format("{}: {} #{} on {} of {} bytes, {} {}, {} channels", gpu_name(gpu),
                       name_of(operation.function), operation.sequence,
                       job_.communicators[operation.communicator].name, operation.bytes,
                       name_of(operation.algorithm), name_of(operation.protocol),
                       std::max(operation.num_channels, operation.num_parts));
  }

  std::int32_t communicator_size(const Exchange& exchange) const {
    return static_cast<std::int32_t>(job_.communicators[exchange.communicator].gpus.size());
  }

  std::uint32_t expected_members(const Exchange& exchange) const {
    if (exchange.function == NcclFunction::kSendRecv) return 2;
    return static_cast<std::uint32_t>(communicator_size(exchange));
  }

  core::Status leave_out_misfits() {
    keep_.assign(resolved_.exchanges.size(), true);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < resolved_.exchanges.size(); ++i) {
      ASSAY_TRY(judge(i));
      if (keep_[i]) ++kept;
    }
    if (kept > 0) return {};
    if (resolved_.exchanges.empty()) return core::Error{"the recording has no operation of NCCL"};
    return core::Error{
        fmt::format("none of the {} operations was recorded on all of its ranks alike; first: {}",
                    resolved_.exchanges.size(), resolved_.warnings.all().back().example)};
  }

  core::Status judge(std::size_t i) {
    const Exchange& exchange = resolved_.exchanges[i];
    const Operation& operation = job_.gpus[exchange.gpu].operations[exchange.operation];
    std::string reason;
    std::string example;
    if (!members_[i].problem.empty()) {
      reason = "ranks disagree about an operation";
      example = members_[i].problem;
    } else if (members_[i].seen != expected_members(exchange)) {
      reason = "an operation was not recorded once on each of its ranks";
      example = fmt::format("{}: seen {} times, {} ranks", describe(exchange.gpu, operation),
                            members_[i].seen, expected_members(exchange));
    } else if (operation.root >= communicator_size(exchange)) {
      reason = "an operation with a root that is no rank of its communicator";
      example = fmt::format("{}: root {}", describe(exchange.gpu, operation), operation.root);
    } else if (find_lowering(operation.function, operation.algorithm) == nullptr &&
               expected_members(exchange) > 1) {
      reason = "an algorithm that has no lowering";
      example = describe(exchange.gpu, operation);
    } else {
      return {};
    }
    if (misfits_ == Misfits::kFail) return core::Error{reason + ": " + example};
    resolved_.warnings.add(reason, "left out of the schedule", example);
    keep_[i] = false;
    return {};
  }

  std::vector<std::string> nodes_of(std::uint32_t communicator) const {
    std::vector<std::string> nodes;
    for (const std::uint32_t gpu : job_.communicators[communicator].gpus) {
      nodes.push_back(gpu == kNoGpu ? "" : job_.gpus[gpu].node);
    }
    return nodes;
  }

  void find_routes() {
    routes_.assign(job_.communicators.size(), Routes{.rings = false, .trees = false});
    for (std::size_t i = 0; i < resolved_.exchanges.size(); ++i) {
      const Exchange& exchange = resolved_.exchanges[i];
      const Operation& operation = job_.gpus[exchange.gpu].operations[exchange.operation];
      Routes& routes = routes_[exchange.communicator];
      routes.rings |= operation.algorithm == model::NcclAlgorithm::kRing;
      routes.trees |= operation.algorithm == model::NcclAlgorithm::kTree;
    }
  }

  void make_topology_of(std::uint32_t communicator) {
    std::vector<std::string> nodes = nodes_of(communicator);
    resolved_.topologies.push_back(make_topology(job_.communicators[communicator], nodes,
                                                 routes_[communicator], resolved_.warnings));
    std::sort(nodes.begin(), nodes.end());
    const auto end = std::unique(nodes.begin(), nodes.end());
    num_nodes_.push_back(static_cast<std::uint32_t>(end - nodes.begin()));
  }

  void make_shapes() {
    for (std::size_t i = 0; i < resolved_.exchanges.size(); ++i) {
      if (keep_[i]) make_shape(resolved_.exchanges[i]);
    }
  }

  CutRequest cut_request(const Exchange& exchange, std::vector<model::ChannelPart>& parts) const {
    const JobGpu& gpu = job_.gpus[exchange.gpu];
    const Operation& operation = gpu.operations[exchange.operation];
    const auto first = gpu.parts.begin() + operation.first_part;
    parts.assign(first, first + operation.num_parts);
    CutRequest request{.operation = operation, .parts = parts};
    const auto& members = job_.communicators[exchange.communicator].gpus;
    request.num_ranks = static_cast<std::uint32_t>(members.size());
    request.num_nodes = num_nodes_[exchange.communicator];
    if (exchange.function == NcclFunction::kSendRecv) {
      const auto node = [&](std::int32_t rank) -> const std::string& {
        return job_.gpus[members[static_cast<std::size_t>(rank)]].node;
      };
      const bool same = node(exchange.source) == node(exchange.destination);
      request.distance = same ? Distance::kSameNode : Distance::kOtherNode;
      const auto offset = static_cast<std::uint32_t>(exchange.destination - exchange.source +
                                                     static_cast<std::int32_t>(members.size()));
      request.first_channel = offset % request.num_ranks * p2p_channels(request) % kP2pChannels;
    } else {
      request.first_channel = channels_before(exchange);
    }
    return request;
  }

  // Collectives of one group take one range of channels after another.
  std::uint32_t channels_before(const Exchange& exchange) const {
    const auto& operations = job_.gpus[exchange.gpu].operations;
    const Operation& operation = operations[exchange.operation];
    std::uint32_t channels = 0;
    for (std::uint32_t i = exchange.operation; i-- > 0;) {
      if (operations[i].group != operation.group || operations[i].stream != operation.stream) break;
      channels += operations[i].num_channels;
    }
    return channels;
  }

  void make_shape(Exchange& exchange) {
    std::vector<model::ChannelPart> parts;
    const CutRequest request = cut_request(exchange, parts);
    const Operation& operation = request.operation;
    std::vector<std::uint64_t> key = {
        exchange.communicator,
        static_cast<std::uint64_t>(operation.function == NcclFunction::kRecv ? NcclFunction::kSend
                                                                             : operation.function),
        static_cast<std::uint64_t>(operation.algorithm),
        static_cast<std::uint64_t>(operation.protocol),
        static_cast<std::uint64_t>(operation.root),
        operation.bytes,
        operation.element_bytes,
        operation.num_channels,
        static_cast<std::uint64_t>(operation.chunk_steps) << 32 | operation.slice_steps,
        operation.step_bytes,
        request.first_channel,
        static_cast<std::uint64_t>(request.distance)};
    for (const model::ChannelPart& part : parts) {
      key.insert(key.end(), {part.channel, part.count, part.chunk_count, part.last_chunk_count});
    }
    const auto number = static_cast<std::uint32_t>(resolved_.shapes.size());
    const auto [found, is_new] = shapes_.emplace(std::move(key), number);
    if (is_new) {
      const Cut cut = cut_operation(request);
      resolved_.shapes.push_back({protocol_of(request), cut});
    }
    exchange.shape = found->second;
  }

  void list_calls(std::uint32_t gpu) {
    const auto& operations = job_.gpus[gpu].operations;
    GpuCalls& made = resolved_.gpus.emplace_back();
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      const std::uint32_t exchange = exchange_of_[gpu][i];
      if (exchange != kNoExchange && keep_[exchange]) made.calls.push_back({exchange, i});
    }
    const auto place = [&](const Call& call) {
      const Operation& operation = operations[call.operation];
      return std::make_tuple(operation.stream, operation.start_ns, operation.group, call.operation);
    };
    std::sort(made.calls.begin(), made.calls.end(),
              [&](const Call& a, const Call& b) { return place(a) < place(b); });
    for (std::uint32_t i = 0; i < made.calls.size(); ++i)
      add_to_launch(made, i, operations);
  }

  static void add_to_launch(GpuCalls& made,
                            std::uint32_t index,
                            const std::vector<Operation>& operations) {
    const Operation& operation = operations[made.calls[index].operation];
    const Operation* before = index > 0 ? &operations[made.calls[index - 1].operation] : nullptr;
    const bool joins =
        before != nullptr && before->stream == operation.stream && before->group == operation.group;
    if (!joins) {
      made.launches.push_back({operation.stream, operation.start_ns, operation.end_ns, index, 0});
    }
    Launch& launch = made.launches.back();
    launch.end_ns = std::max(launch.end_ns, operation.end_ns);
    ++launch.num_calls;
  }

  const Job& job_;
  Misfits misfits_;
  Resolved resolved_;
  std::vector<std::unordered_map<std::uint32_t, std::int32_t>> ranks_;  // by communicator, GPU
  std::unordered_map<Key, std::uint32_t, KeyHash> numbers_;
  std::vector<Members> members_;                         // by exchange
  std::vector<bool> keep_;                               // by exchange
  std::vector<std::vector<std::uint32_t>> exchange_of_;  // by GPU, operation
  std::vector<Routes> routes_;                           // by communicator
  std::vector<std::uint32_t> num_nodes_;                 // by communicator
  std::map<std::vector<std::uint64_t>, std::uint32_t> shapes_;
};

}  // namespace

core::Result<Resolved> resolve(const Job& job, Misfits misfits) {
  return Resolver(job, misfits).run();
}

}  // namespace assay::goal
