// NCCL's choice of algorithm, protocol and channels for a collective, for jobs that nobody ran.
//
// NCCL estimates for every algorithm and protocol a latency and a bandwidth, and takes the one with
// the least latency + bytes / bandwidth. This is the model of NCCL 2.28.9 (src/graph/tuning.cc,
// src/enqueue.cc) with its constants. Between 2.24 and 2.29 rings and trees of Ampere and Hopper
// are estimated alike; 2.28 changed what it expects of NVLS. What is not known here: NCCL's
// environment variables, tuner plugins, registered buffers, and that NCCL avoids rings of more than
// 8 ranks for sums of FP8.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/collective.h"

namespace assay::model {

// What NCCL's search for paths found for one kind of algorithm: channels of equal bandwidth.
struct NcclGraph {
  int channels = 0;           // 0: the algorithm is not possible
  double intra_gbps = 0;      // of one channel within a node, 1e9 bytes per second
  double inter_gbps = 0;      // of one channel between nodes
  bool same_channels = true;  // all channels visit the GPUs in the same order
};

enum class NcclCpu : std::uint8_t { kOther, kAmd };

// A communicator as the model sees it.
struct NcclTopology {
  int num_ranks = 1;
  int num_nodes = 1;
  int compute_capability = 90;  // the lowest of its GPUs, as 90 for 9.0
  NcclCpu cpu = NcclCpu::kOther;
  bool nvlink = true;  // GPUs of a node reach each other over NVLink, otherwise over PCI
  bool ll128 = true;   // the paths keep the order of 128 bytes: NVLink, NICs near their GPU or PXN
  int channels = 1;    // channels of rings and trees
  int nvls_channels = 0;
  NcclGraph ring = {};
  NcclGraph tree = {};
  NcclGraph nvls = {};
  NcclGraph collnet_direct = {};  // channels 0 where the network does not reduce
  NcclGraph collnet_chain = {};
};

// Nodes alike, with one or more of the GPUs of each in the communicator.
struct NcclCluster {
  int num_ranks = 1;
  int num_nodes = 1;
  int compute_capability = 90;
  int nics_per_node = 0;   // 0: one for each GPU
  double nic_gbps = 50;    // one direction, 1e9 bytes per second: 50 for 400 Gbit/s
  bool near_cards = true;  // every GPU reaches a card through a PCI switch or another GPU (PXN)
  bool nvls = false;       // NVSwitches with multicast, which NCCL uses
  bool collnet = false;    // a network that reduces, with the plugin for it
};

// Returns what NCCL's search finds on nodes whose GPUs are joined by NVLink and NVSwitches, each
// with a network card of its own where there are as many. Other nodes need the graphs that NCCL's
// log names ("Pattern …").
NcclTopology nccl_topology(const NcclCluster& cluster);

struct NcclCost {
  double latency_us = 0;
  double bandwidth_gbps = 0;  // of the algorithm: bytes of the call's largest buffer per time; 0
                              // where NCCL does not consider it
};

// The numbers of the table that NCCL_DEBUG_SUBSYS=TUNING prints.
NcclCost nccl_cost(NcclFunction function,
                   NcclAlgorithm algorithm,
                   NcclProtocol protocol,
                   const NcclTopology& topology);

struct NcclCall {
  NcclFunction function = NcclFunction::kAllReduce;
  // As Operation::bytes: what one rank gives to AllGather or gets from ReduceScatter.
  std::uint64_t bytes = 0;
  std::uint32_t element_bytes = 1;
};

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  std::uint32_t channels = 1;
  double estimated_ns = 0;  // NCCL's estimate for all calls that it chose for together
};

// Returns the choice for each of the collectives that a program called within one group, in their
// order; one call alone is a group. Calls of one function whose sizes are within a factor of 4 get
// the same algorithm and protocol, and the calls of a group share the channels.
std::vector<NcclChoice> choose_for_group(std::span<const NcclCall> calls,
                                         const NcclTopology& topology);

inline NcclChoice choose(const NcclCall& call, const NcclTopology& topology) {
  return choose_for_group({&call, 1}, topology).front();
}

}  // namespace assay::model
