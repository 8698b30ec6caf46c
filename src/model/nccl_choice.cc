#include "model/nccl_choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace assay::model {
namespace {

using Algorithm = NcclAlgorithm;
using Function = NcclFunction;
using Protocol = NcclProtocol;

constexpr std::size_t kNumAlgorithms = 7;
constexpr std::array<Algorithm, kNumAlgorithms> kAll = {
    Algorithm::kTree,         Algorithm::kRing, Algorithm::kCollnetDirect,
    Algorithm::kCollnetChain, Algorithm::kNvls, Algorithm::kNvlsTree,
    Algorithm::kPat};
constexpr std::array<Protocol, 3> kCostedProtocols = {Protocol::kLl, Protocol::kLl128,
                                                      Protocol::kSimple};

using ByProtocol = std::array<double, 3>;                    // LL, LL128, Simple
using ByAlgorithm = std::array<ByProtocol, kNumAlgorithms>;  // in the order of kAll
using ByGpuAndNodes = std::array<std::array<double, 3>, 4>;  // GPU; one node, two, more

// Microseconds.
constexpr ByAlgorithm kBaseLatency = {{{6.8, 14.0, 8.4},
                                       {6.6, 14.0, 8.4},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {0, 0, 0},
                                       {8.0, 8.0, 8.0}}};
constexpr ByAlgorithm kNvlinkLatency = {{{0.6, 1.25, 4.0},
                                         {0.6, 1.9, 3.4},
                                         {0, 0, 3.7},
                                         {0, 0, 2.8},
                                         {0, 0, 25},
                                         {0, 0, 25},
                                         {0, 0, 4.0}}};
constexpr ByAlgorithm kPciLatency = {{{1.0, 1.9, 4.0},
                                      {1.0, 2.5, 5.7},
                                      {0, 0, 3.7},
                                      {0, 0, 2.8},
                                      {0, 0, 0},
                                      {0, 0, 0},
                                      {0, 0, 4.0}}};
constexpr ByAlgorithm kNetLatency = {{{5.0, 8.5, 14},
                                      {2.7, 4.0, 14.0},
                                      {0, 0, 31},
                                      {0, 0, 30},
                                      {0, 0, 18},
                                      {0, 0, 20.9},
                                      {0, 0, 14}}};

// The GPUs: Volta, Ampere, Hopper, Blackwell. 1e9 bytes per second.
// Of all channels; on several nodes the processor decides: Intel's or AMD's.
constexpr ByGpuAndNodes kMostLl = {
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {2 * 141.0, 2 * 45.0, 2 * 35.0}}};
constexpr ByGpuAndNodes kMostRingLl128 = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {2 * 36.7, 34.6, 2 * 36.7}}};
constexpr ByGpuAndNodes kMostTreeLl128 = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr ByGpuAndNodes kMostTree = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
constexpr ByGpuAndNodes kMostNvlsTree = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 43.8}}};
constexpr std::array<double, 4> kNvlsEfficiency = {0, 0, 0.85, 0.74};

// Trees of middle sizes do worse than the model. By the power of two from 64 B to 256 MB.
constexpr std::array<std::array<double, 23>, 3> kTreeCorrection = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

std::size_t gpu_row(int compute_capability) {
  if (compute_capability >= 100) return 3;
  if (compute_capability >= 90) return 2;
  return compute_capability >= 80 ? 1 : 0;
}

std::size_t index(Algorithm algorithm) {
  return static_cast<std::size_t>(algorithm);
}

std::size_t index(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

int log2_floor(std::uint64_t value) {
  return value == 0 ? -1 : static_cast<int>(std::bit_width(value)) - 1;
}

bool gathers_or_scatters(Function function) {
  return function == Function::kAllGather || function == Function::kReduceScatter;
}

bool is_collnet(Algorithm algorithm) {
  return algorithm == Algorithm::kCollnetDirect || algorithm == Algorithm::kCollnetChain;
}

bool is_nvls(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
}

// The costs of one function, algorithm and protocol, step by step as NCCL computes them.
class CostModel {
 public:
  CostModel(Function function, Algorithm algorithm, Protocol protocol, const NcclTopology& topology)
      : function_(function), algorithm_(algorithm), protocol_(protocol), topology_(topology) {}

  NcclCost cost() const {
    if (!considered()) return {};
    return {latency_us(), enabled() ? algorithm_gbps() : 0};
  }

 private:
  double per_node() const { return static_cast<double>(topology_.num_ranks) / topology_.num_nodes; }

  bool one_node() const { return topology_.num_nodes == 1; }

  bool simple() const { return protocol_ == Protocol::kSimple; }

  const NcclGraph& graph() const {
    switch (algorithm_) {
      case Algorithm::kRing:
        return topology_.ring;
      case Algorithm::kCollnetDirect:
        return topology_.collnet_direct;
      case Algorithm::kCollnetChain:
        return topology_.collnet_chain;
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        return topology_.nvls;
      default:
        return topology_.tree;
    }
  }

  // Whether the algorithm exists for the function.
  bool considered() const {
    if (topology_.num_ranks < 2 || graph().channels == 0) return false;
    const bool ring = algorithm_ == Algorithm::kRing;
    if (function_ == Function::kBroadcast || function_ == Function::kReduce) return ring;
    if (function_ == Function::kAllReduce) {
      if (algorithm_ == Algorithm::kPat) return false;
    } else if (gathers_or_scatters(function_)) {
      if (algorithm_ == Algorithm::kTree || algorithm_ == Algorithm::kCollnetChain) return false;
      if (algorithm_ == Algorithm::kNvlsTree) return false;
    } else {
      return false;
    }
    const bool all_protocols = ring || algorithm_ == Algorithm::kTree;
    return all_protocols || simple();
  }

  // Whether NCCL would use it here.
  bool enabled() const {
    constexpr int kMostLocalRanks = 8;
    switch (algorithm_) {
      case Algorithm::kNvlsTree:
        if (one_node()) return false;
        break;
      case Algorithm::kNvls:
        // NVLS over several nodes needs a network that reduces, too.
        if (!one_node() && topology_.collnet_direct.channels == 0) return false;
        break;
      case Algorithm::kPat:
        if (topology_.num_nodes != topology_.num_ranks) return false;
        break;
      case Algorithm::kCollnetDirect:
      case Algorithm::kCollnetChain:
        if (per_node() > kMostLocalRanks) return false;
        break;
      default:
        break;
    }
    if (is_nvls(algorithm_) && graph().channels < 2) return false;
    // Over several nodes, gathering and scattering in the network needs a card for each GPU.
    const bool in_network = algorithm_ == Algorithm::kNvls || is_collnet(algorithm_);
    if (in_network && !one_node() && gathers_or_scatters(function_) &&
        per_node() > topology_.collnet_direct.channels) {
      return false;
    }
    return protocol_ != Protocol::kLl128 || (topology_.ll128 && topology_.nvlink);
  }

  std::size_t nodes_column() const {
    return topology_.num_nodes <= 2 ? topology_.num_nodes - 1 : 2;
  }

  double most(const ByGpuAndNodes& table) const {
    return table.at(gpu_row(topology_.compute_capability)).at(nodes_column());
  }

  double most_ll() const {
    if (one_node()) return most(kMostLl);
    return kMostLl.at(topology_.cpu == NcclCpu::kAmd ? 1 : 0).at(nodes_column());
  }

  double channel_gbps() const {
    if (is_nvls(algorithm_)) return nvls_channel_gbps();
    const bool within = topology_.num_nodes <= 2 || is_collnet(algorithm_);
    return within ? graph().intra_gbps : graph().inter_gbps;
  }

  double nvls_channel_gbps() const {
    const double channels = graph().channels;
    double intra = graph().intra_gbps * (channels - 1) / channels *
                   kNvlsEfficiency.at(gpu_row(topology_.compute_capability));
    intra *= function_ == Function::kAllReduce ? 2 : (per_node() - 1) / per_node();
    if (algorithm_ == Algorithm::kNvls) return std::min(intra, graph().inter_gbps);
    const double inter = graph().inter_gbps * (topology_.num_nodes <= 2 ? 2 : 1);
    return std::min({intra, inter, most(kMostNvlsTree)});
  }

  // The data that all links of a GPU move together.
  double bus_gbps() const {
    const double channels = graph().channels;
    const double bus = channels * channel_gbps();
    switch (algorithm_) {
      case Algorithm::kRing:
        if (protocol_ == Protocol::kLl) return std::min(most_ll(), bus / 2);
        if (simple()) return bus;
        return std::min(bus * 0.92, channels * most(kMostRingLl128));
      case Algorithm::kTree:
        return tree_gbps(std::min(bus * 0.92, channels * most(kMostTree)));
      case Algorithm::kPat:
        return bus * 0.75;
      case Algorithm::kCollnetDirect:
        return collnet_direct_gbps(bus);
      default:
        return bus;
    }
  }

  double tree_gbps(double bus) const {
    if (protocol_ == Protocol::kLl) bus = std::min(bus / 3.8, most_ll());
    if (protocol_ == Protocol::kLl128) {
      const double share = one_node() ? 7.0 / 9.0 : 120.0 / 128.0;
      bus = std::min(bus * share, topology_.tree.channels * most(kMostTreeLl128));
    }
    // A node of one GPU cannot spread the two directions of a tree over two GPUs.
    return per_node() == 1 ? bus * 0.85 : bus;
  }

  double collnet_direct_gbps(double bus) const {
    if (gathers_or_scatters(function_)) {
      return per_node() * std::min(graph().intra_gbps, graph().inter_gbps * 0.9);
    }
    // At full speed every GPU has a network card of its own.
    const double gpus_per_card = per_node() / graph().channels;
    const double shared = bus / (gpus_per_card - (gpus_per_card - 1) / 2);
    return topology_.compute_capability >= 90 ? shared * 0.85 : shared;
  }

  int num_steps() const {
    if (function_ == Function::kAllReduce) return 2 * (topology_.num_ranks - 1);
    return gathers_or_scatters(function_) ? topology_.num_ranks - 1 : topology_.num_ranks;
  }

  double algorithm_gbps() const {
    const bool ring = algorithm_ == Algorithm::kRing;
    if (!ring && gathers_or_scatters(function_)) return bus_gbps();
    if (!ring && !is_nvls(algorithm_)) return bus_gbps() / 2;
    return bus_gbps() * topology_.num_ranks / num_steps();
  }

  double intra_us() const {
    const ByAlgorithm& table = topology_.nvlink ? kNvlinkLatency : kPciLatency;
    return table.at(index(algorithm_)).at(index(protocol_));
  }

  double inter_us() const {
    // With one GPU in each node nothing hides the network's latency.
    const Algorithm like = per_node() == 1 ? Algorithm::kTree : algorithm_;
    return kNetLatency.at(index(like)).at(index(protocol_));
  }

  double latency_us() const {
    const double base = kBaseLatency.at(index(algorithm_)).at(index(protocol_));
    const int local_steps = topology_.num_ranks / topology_.num_nodes - 1;
    const int levels = log2_floor(static_cast<std::uint64_t>(topology_.num_nodes));
    switch (algorithm_) {
      case Algorithm::kRing:
        return base + ring_us();
      case Algorithm::kTree:
        return base + 2 * (local_steps * intra_us() + levels * inter_us());
      case Algorithm::kCollnetDirect:
        return base + 2 * (std::min(1, local_steps) * intra_us() + local_steps * 0.4) + inter_us();
      case Algorithm::kCollnetChain:
        return base + 2 * local_steps * intra_us() + inter_us();
      case Algorithm::kNvls:
        return intra_us() + (one_node() ? 0 : inter_us());
      case Algorithm::kNvlsTree:
        return base + intra_us() + 2 * levels * inter_us();
      default:
        return base + levels * inter_us() / 3.5 + topology_.num_ranks * 2.8;
    }
  }

  double ring_us() const {
    if (function_ == Function::kBroadcast || function_ == Function::kReduce) return pipeline_us();
    // Every step over the network starts a transfer of the proxy.
    double start_us = 0;
    if (!one_node()) start_us = (topology_.cpu == NcclCpu::kAmd ? 2 : 1) * (simple() ? 3 : 1);
    const int rounds = function_ == Function::kAllReduce ? 2 : 1;
    const int between = rounds * (topology_.num_nodes - 1);
    return (num_steps() - between) * std::max(intra_us(), start_us) + between * inter_us();
  }

  double pipeline_us() const {
    const bool same = topology_.ring.same_channels;
    const Algorithm like = !same && simple() ? Algorithm::kTree : Algorithm::kRing;
    const ByAlgorithm& within = topology_.nvlink ? kNvlinkLatency : kPciLatency;
    const ByAlgorithm& table = one_node() ? within : kNetLatency;
    return table.at(index(like)).at(index(protocol_)) * (same ? 1 : num_steps());
  }

  Function function_;
  Algorithm algorithm_;
  Protocol protocol_;
  const NcclTopology& topology_;
};

}  // namespace

NcclCost nccl_cost(NcclFunction function,
                   NcclAlgorithm algorithm,
                   NcclProtocol protocol,
                   const NcclTopology& topology) {
  return CostModel(function, algorithm, protocol, topology).cost();
}

namespace {

constexpr std::uint64_t kLeastTraffic = 16ULL << 10;  // of a channel
constexpr std::uint64_t kBatch = 10;                  // calls that one batch of device work holds

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

std::uint64_t ranks(const NcclTopology& topology) {
  return static_cast<std::uint64_t>(topology.num_ranks);
}

// Bytes of a call's largest buffer, by which NCCL chooses.
std::uint64_t largest_buffer(Function function, std::uint64_t bytes, const NcclTopology& topology) {
  return gathers_or_scatters(function) ? bytes * ranks(topology) : bytes;
}

std::uint64_t traffic_per_byte(Function function, Protocol protocol, const NcclTopology& topology) {
  std::uint64_t traffic = function == Function::kAllReduce ? 2 : 1;
  if (gathers_or_scatters(function)) traffic = ranks(topology);
  return protocol == Protocol::kLl ? 4 * traffic : traffic;
}

struct Candidate {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  double time_us = 0;
};

std::optional<double> time_us(Function function,
                              const Candidate& candidate,
                              std::uint64_t bytes,
                              std::uint64_t tasks_per_channel,
                              const NcclTopology& topology) {
  NcclCost cost = nccl_cost(function, candidate.algorithm, candidate.protocol, topology);
  if (cost.bandwidth_gbps <= 0) return std::nullopt;
  const bool all_reduce = function == Function::kAllReduce;
  const int size = log2_floor(bytes / 64);
  if (all_reduce && candidate.algorithm == Algorithm::kTree && size >= 0 && size < 23) {
    cost.bandwidth_gbps *=
        kTreeCorrection.at(index(candidate.protocol)).at(static_cast<std::size_t>(size));
  }
  const bool ring = candidate.algorithm == Algorithm::kRing;
  const std::uint64_t parts = static_cast<std::uint64_t>(topology.channels) * ranks(topology);
  if (all_reduce && ring && candidate.protocol == Protocol::kSimple && topology.num_nodes > 1 &&
      bytes / parts >= 64) {
    cost.latency_us *= topology.compute_capability < 80 ? 1.9 : 1.4;  // large rings saturate late
  }
  const std::uint64_t waits = ring ? tasks_per_channel : divide_up(tasks_per_channel, kBatch);
  return cost.latency_us * static_cast<double>(waits) +
         static_cast<double>(bytes) / (1000 * cost.bandwidth_gbps);
}

Candidate fastest(Function function,
                  std::uint64_t bytes,
                  std::uint64_t tasks_per_channel,
                  const NcclTopology& topology) {
  Candidate best{.time_us = std::numeric_limits<double>::infinity()};
  for (const Algorithm algorithm : kAll) {
    for (const Protocol protocol : kCostedProtocols) {
      Candidate candidate{algorithm, protocol};
      const auto time = time_us(function, candidate, bytes, tasks_per_channel, topology);
      if (!time || *time >= best.time_us) continue;
      candidate.time_us = *time;
      best = candidate;
    }
  }
  // A communicator of one rank copies, as a ring does.
  if (std::isinf(best.time_us)) best.time_us = 0;
  return best;
}

std::uint64_t most_threads(const Candidate& chosen) {
  if (is_collnet(chosen.algorithm) || chosen.algorithm == Algorithm::kPat) {
    return chosen.algorithm == Algorithm::kPat ? 0 : 640;
  }
  return chosen.protocol == Protocol::kLl128 ? 640 : 512;
}

// Bytes that make a thread worth its while.
std::uint64_t thread_threshold(const Candidate& chosen, const NcclTopology& topology) {
  if (is_collnet(chosen.algorithm)) return 512;
  if (chosen.protocol == Protocol::kSimple) return 64;
  const bool ring_ll = chosen.algorithm == Algorithm::kRing && chosen.protocol == Protocol::kLl;
  return ring_ll ? 8 * ranks(topology) : 8;
}

std::uint64_t collnet_direct_channels(std::uint64_t bytes, const NcclTopology& topology) {
  const std::uint64_t heads =
      static_cast<std::uint64_t>(std::max(topology.collnet_direct.channels, 1));
  auto channels = static_cast<std::uint64_t>(topology.channels);
  std::uint64_t threshold = 512;
  const auto too_many = [&] { return bytes < channels * 640 * heads * threshold; };
  for (std::uint64_t least = 16; least >= 1 && too_many(); least /= 2) {
    while (too_many() && channels > least) {
      if (channels == least + least / 2) threshold /= 2;
      --channels;
    }
  }
  return channels;
}

std::uint64_t most_channels(const Candidate& chosen,
                            std::uint64_t bytes,
                            const NcclTopology& topology) {
  const auto all = static_cast<std::uint64_t>(topology.channels);
  const auto nvls = static_cast<std::uint64_t>(topology.nvls_channels);
  if (chosen.algorithm == Algorithm::kNvlsTree) return nvls;
  if (chosen.algorithm == Algorithm::kNvls) {
    return topology.num_nodes > 1 ? std::min(nvls, all) : nvls;
  }
  if (chosen.algorithm == Algorithm::kCollnetDirect) {
    return collnet_direct_channels(bytes, topology);
  }
  const std::uint64_t per_channel = most_threads(chosen) * thread_threshold(chosen, topology);
  if (per_channel == 0) return all;
  return std::clamp<std::uint64_t>(bytes / per_channel, 1, all);
}

// The calls of a group, from which NCCL makes one plan.
class GroupPlanner {
 public:
  GroupPlanner(std::span<const NcclCall> calls, const NcclTopology& topology)
      : calls_(calls), topology_(topology), choices_(calls.size()) {}

  std::vector<NcclChoice> run() {
    std::map<std::pair<Function, std::uint32_t>, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      alike[{calls_[i].function, calls_[i].element_bytes}].push_back(i);
    for (auto& [kind, members] : alike) {
      std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
        return calls_[a].bytes < calls_[b].bytes;
      });
      choose_together(members);
    }
    share_channels();
    return std::move(choices_);
  }

 private:
  // Calls within a factor of 4 of the smallest are chosen for as if they were one.
  void choose_together(std::span<const std::size_t> members) {
    for (std::size_t first = 0; first < members.size();) {
      const std::uint64_t smallest = calls_[members[first]].bytes;
      std::uint64_t bytes = 0;
      std::size_t end = first;
      do {
        bytes += calls_[members[end++]].bytes;
      } while (end < members.size() && calls_[members[end]].bytes < 4 * smallest);
      choose_for(members.subspan(first, end - first), bytes);
      first = end;
    }
  }

  void choose_for(std::span<const std::size_t> members, std::uint64_t bytes) {
    const Function function = calls_[members.front()].function;
    const std::uint64_t whole = largest_buffer(function, bytes, topology_);
    const std::uint64_t tasks =
        divide_up(calls_.size(), static_cast<std::uint64_t>(topology_.channels));
    const Candidate chosen = fastest(function, whole, tasks, topology_);
    const std::uint64_t channels = most_channels(chosen, whole, topology_);
    for (const std::size_t i : members) {
      choices_[i] = {chosen.algorithm, chosen.protocol,
                     static_cast<std::uint32_t>(std::max<std::uint64_t>(channels, 1)),
                     chosen.time_us * 1000};
    }
  }

  std::uint64_t traffic(std::size_t i) const {
    const NcclCall& call = calls_[i];
    return call.bytes * traffic_per_byte(call.function, choices_[i].protocol, topology_);
  }

  // NVLS has channels of its own; with CollNet all channels take an equal part of each call.
  static int kind(const NcclChoice& choice) { return is_nvls(choice.algorithm) ? 1 : 0; }

  void share_channels() {
    std::array<std::uint64_t, 2> all_traffic = {};
    std::array<std::uint64_t, 2> channels = {};
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const auto k = static_cast<std::size_t>(kind(choices_[i]));
      all_traffic.at(k) += std::max(kLeastTraffic, traffic(i));
      channels.at(k) += choices_[i].channels;
    }
    channels[0] = std::min(channels[0], static_cast<std::uint64_t>(topology_.channels));
    channels[1] = std::min(channels[1], static_cast<std::uint64_t>(topology_.nvls_channels));
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const auto k = static_cast<std::size_t>(kind(choices_[i]));
      if (is_collnet(choices_[i].algorithm) || channels.at(k) == 0) continue;
      const std::uint64_t share = std::max(kLeastTraffic, all_traffic.at(k) / channels.at(k));
      choices_[i].channels = channels_of(i, share, channels.at(k));
    }
  }

  // The channels that the cells of a call fill, each with `share` bytes of traffic.
  std::uint32_t channels_of(std::size_t i, std::uint64_t share, std::uint64_t all) const {
    const NcclCall& call = calls_[i];
    const std::uint64_t per_byte = traffic_per_byte(call.function, choices_[i].protocol, topology_);
    const std::uint64_t cell = divide_up(divide_up(kLeastTraffic, per_byte), 16) * 16;
    const std::uint64_t cells = std::max<std::uint64_t>(divide_up(call.bytes, cell), 1);
    const std::uint64_t per_channel = std::min(cells, divide_up(share, cell * per_byte));
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(divide_up(cells, per_channel), 1, all));
  }

  std::span<const NcclCall> calls_;
  const NcclTopology& topology_;
  std::vector<NcclChoice> choices_;
};

}  // namespace

std::vector<NcclChoice> choose_for_group(std::span<const NcclCall> calls,
                                         const NcclTopology& topology) {
  return GroupPlanner(calls, topology).run();
}

namespace {

// What NCCL takes for the NVLinks of a GPU together, and for PCI Express 5.0 to a network card.
// 1e9 bytes per second.
double nvlink_gbps(int compute_capability) {
  if (compute_capability >= 100) return 18 * 40.1;
  if (compute_capability >= 90) return 18 * 20.6;
  return compute_capability >= 80 ? 12 * 20.0 : 6 * 20.0;
}

double pci_gbps(int compute_capability) {
  return compute_capability >= 90 ? 48 : 24;
}

// The bandwidths that the search tries for a channel, the highest first.
std::span<const double> speeds(int compute_capability, bool between_nodes) {
  static constexpr std::array kOldIntra = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                                           9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
  static constexpr std::array kOldInter = {48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0,
                                           12.0, 10.0, 9.0,  7.0,  6.0,  5.0,  4.0,
                                           3.0,  2.4,  1.2,  0.24, 0.12};
  static constexpr std::array kHopperIntra = {60.0, 50.0, 40.0, 30.0, 24.0, 20.0,
                                              15.0, 12.0, 11.0, 6.0,  3.0};
  static constexpr std::array kHopperInter = {48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                              15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
  static constexpr std::array kBlackwellIntra = {90.0, 80.0, 70.0, 60.0, 50.0, 40.0,
                                                 30.0, 24.0, 20.0, 19.0, 18.0};
  static constexpr std::array kBlackwellInter = {96.0, 48.0, 45.1, 42.0, 40.0, 30.0,
                                                 24.0, 22.0, 20.0, 17.5, 15.0, 12.0,
                                                 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
  if (compute_capability >= 100) {
    return between_nodes ? std::span<const double>(kBlackwellInter) : kBlackwellIntra;
  }
  if (compute_capability >= 90) {
    return between_nodes ? std::span<const double>(kHopperInter) : kHopperIntra;
  }
  return between_nodes ? std::span<const double>(kOldInter) : kOldIntra;
}

class GraphSearch {
 public:
  explicit GraphSearch(const NcclCluster& cluster) : cluster_(cluster) {
    gpus_ = std::max(cluster.num_ranks / std::max(cluster.num_nodes, 1), 1);
    cards_ = cluster.nics_per_node > 0 ? cluster.nics_per_node : gpus_;
    between_ = cluster.num_nodes > 1;
    const int compute_capability = cluster.compute_capability;
    nvlink_ = nvlink_gbps(compute_capability);
    // Cards that several GPUs share are reached through the processor, but not more slowly.
    card_ = std::min(cluster.nic_gbps, pci_gbps(compute_capability));
    speeds_ = speeds(compute_capability, between_);
  }

  NcclTopology run() const {
    NcclTopology made;
    made.num_ranks = cluster_.num_ranks;
    made.num_nodes = cluster_.num_nodes;
    made.compute_capability = cluster_.compute_capability;
    if (cluster_.num_ranks < 2) return made;
    made.ll128 = !between_ || cluster_.near_cards;
    made.ring = ring();
    made.tree = tree(made.ring);
    made.channels = channels(made.ring);
    if (cluster_.nvls && gpus_ > 1 && cluster_.compute_capability >= 90) {
      made.nvls = nvls();
      made.nvls_channels = nvls_channels();
    }
    if (cluster_.collnet && between_) {
      made.collnet_chain = made.tree;
      made.collnet_direct = {std::min(gpus_, cards_), made.tree.intra_gbps, made.ring.inter_gbps,
                             false};
    }
    return made;
  }

 private:
  // The channels that fit on the links. A ring enters and leaves a node through one card, so
  // that it crosses as many NVLinks of the node as there are GPUs.
  int fitting(double speed) const {
    constexpr int kMost = 32;
    int channels = gpus_ > 1 ? static_cast<int>(nvlink_ / speed) : kMost;
    if (between_) channels = std::min(channels, cards_ * static_cast<int>(card_ / speed));
    return std::min(channels, kMost);
  }

  NcclGraph ring() const {
    NcclGraph best;
    for (const double speed : speeds_) {
      const double found = best.channels * best.intra_gbps;
      if (best.channels > 0 && speed <= 0.49 * best.inter_gbps) break;
      const int channels = fitting(speed);
      if (channels * speed > found) {
        best = {channels, speed, speed, !between_ || cards_ == 1};
      }
    }
    if (best.channels == 0) return {1, speeds_.back(), speeds_.back(), true};
    return doubled(best);
  }

  // Two channels do better than one of twice the bandwidth, where there are not many.
  NcclGraph doubled(NcclGraph graph) const {
    constexpr int kMost = 32;
    const bool many = graph.intra_gbps < 50 && graph.channels > 4;
    if (graph.intra_gbps < 25 || (cluster_.compute_capability > 80 && many)) return graph;
    const int channels = std::min(2 * graph.channels, kMost);
    if (channels == graph.channels) return graph;
    graph.channels = channels;
    graph.intra_gbps /= 2;
    graph.inter_gbps /= 2;
    return graph;
  }

  // Trees take the channels of rings. Where those differ, a node's chain crosses one NVLink less
  // and may be faster than the network.
  NcclGraph tree(NcclGraph ring) const {
    if (!between_) return ring;
    const double room = gpus_ > 1 ? nvlink_ * gpus_ / (gpus_ - 1) : ring.inter_gbps;
    const double most = std::min(room / ring.channels, 2 * ring.inter_gbps);
    for (const double speed : speeds_) {
      if (speed > most || speed <= ring.intra_gbps) continue;
      ring.intra_gbps = speed;
      break;
    }
    return ring;
  }

  int channels(const NcclGraph& ring) const {
    constexpr int kMost = 64;
    const int twice = std::min(2 * ring.channels, kMost);
    const bool few = twice < 16 && ring.intra_gbps > 45;
    return between_ && cluster_.compute_capability >= 90 && few ? 2 * twice : twice;
  }

  // Every GPU is the head of one channel: it takes twice a channel's bandwidth, the others once.
  NcclGraph nvls() const {
    NcclGraph graph{gpus_, 0, 0, false};
    for (const double speed : speeds_) {
      if ((gpus_ + 1) * speed > nvlink_ || (between_ && speed > card_)) continue;
      graph.intra_gbps = speed;
      break;
    }
    graph.inter_gbps = graph.intra_gbps;
    for (const double speed : speeds_) {
      if (!between_ || cards_ < gpus_ || speed > card_) continue;
      graph.inter_gbps = std::min(speed, 2 * graph.intra_gbps);
      break;
    }
    return graph;
  }

  int nvls_channels() const {
    if (cluster_.compute_capability < 100) return 16;
    return between_ ? 32 : 24;
  }

  const NcclCluster& cluster_;
  int gpus_ = 1;  // of a node
  int cards_ = 1;
  bool between_ = false;
  double nvlink_ = 0;
  double card_ = 0;
  std::span<const double> speeds_;
};

}  // namespace

NcclTopology nccl_topology(const NcclCluster& cluster) {
  return GraphSearch(cluster).run();
}

}  // namespace assay::model
