#include "goal/resolve.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "goal/chunking.h"

namespace assay::goal {
namespace {

using model::Job;
using model::JobGpu;
using model::kNoGpu;
using model::NcclFunction;
using model::Operation;

class Resolver {
 public:
  Resolver(const Job& job, Misfits misfits) : job_(job), misfits_(misfits) { resolved_.job = &job; }

  core::Result<Resolved> run() {
    Joined joined = ASSAY_TRY(join_operations(job_, misfits_, resolved_.warnings));
    resolved_.exchanges = std::move(joined.exchanges);
    keep_ = std::move(joined.keep);
    exchange_of_ = std::move(joined.exchange_of);
    find_routes();
    for (std::uint32_t i = 0; i < job_.communicators.size(); ++i)
      make_topology_of(i);
    make_shapes();
    for (std::uint32_t gpu = 0; gpu < job_.gpus.size(); ++gpu)
      list_calls(gpu);
    return std::move(resolved_);
  }

 private:
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

  // The collectives of one group take one range of channels after the other.
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

  // The sends and receives of a group go in NCCL's rounds, collectives before them in their order.
  std::int64_t round_of(const Call& call) const {
    const Exchange& exchange = resolved_.exchanges[call.exchange];
    if (exchange.function != NcclFunction::kSendRecv) return -1;
    const NodeLayout& nodes = resolved_.topologies[exchange.communicator].nodes;
    return pair_round(nodes, exchange.source, exchange.destination);
  }

  void list_calls(std::uint32_t gpu) {
    const JobGpu& from = job_.gpus[gpu];
    const auto& operations = from.operations;
    GpuCalls& made = resolved_.gpus.emplace_back();
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      const std::uint32_t exchange = exchange_of_[gpu][i];
      if (exchange != kNoExchange && keep_[exchange]) made.calls.push_back({exchange, i});
    }
    const auto place = [&](const Call& call) {
      const Operation& operation = operations[call.operation];
      const bool by_times = !from.states_waits;
      return std::make_tuple(operation.stream, by_times ? operation.start_ns : 0,
                             by_times ? operation.group : 0, by_times ? round_of(call) : 0,
                             call.operation);
    };
    std::sort(made.calls.begin(), made.calls.end(),
              [&](const Call& a, const Call& b) { return place(a) < place(b); });
    for (std::uint32_t i = 0; i < made.calls.size(); ++i)
      add_to_launch(made, i, operations);
    if (from.states_waits) add_computations(made, operations);
  }

  static void add_computations(GpuCalls& made, const std::vector<Operation>& operations) {
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      const Operation& operation = operations[i];
      if (operation.communicator == model::kNoCommunicator)
        made.launches.push_back({operation.stream, operation.start_ns, operation.end_ns, 0, 0, i});
    }
    std::sort(made.launches.begin(), made.launches.end(), [](const Launch& a, const Launch& b) {
      return std::tie(a.stream, a.first_operation) < std::tie(b.stream, b.first_operation);
    });
  }

  static void add_to_launch(GpuCalls& made,
                            std::uint32_t index,
                            const std::vector<Operation>& operations) {
    const std::uint32_t number = made.calls[index].operation;
    const Operation& operation = operations[number];
    const Operation* before = index > 0 ? &operations[made.calls[index - 1].operation] : nullptr;
    const bool joins =
        before != nullptr && before->stream == operation.stream && before->group == operation.group;
    if (!joins) {
      made.launches.push_back(
          {operation.stream, operation.start_ns, operation.end_ns, index, 0, number});
    }
    Launch& launch = made.launches.back();
    launch.end_ns = std::max(launch.end_ns, operation.end_ns);
    ++launch.num_calls;
  }

  const Job& job_;
  Misfits misfits_;
  Resolved resolved_;
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
