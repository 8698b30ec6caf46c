// What a network file says: `assay simulate --network FILE.yaml`. docs/goal.md shows the format.
//
// Rates are in bytes per ns (GB/s), times in ns. What the file leaves out is as without a network:
// NICs send a byte in G, and if no latency is given at all, every path takes L.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "simulate/fabric/topology.h"
#include "simulate/network.h"

namespace assay::simulate {

enum class Routing : std::uint8_t {
  kEcmp,   // one of the shortest paths, by a hash of the two NICs and the CPU that sends
  kSpray,  // all shortest paths, evenly at each switch
  kFixed,  // one of the shortest paths, by the number of the NIC that receives
};

struct FixedRoute {
  std::string from;  // NICs
  std::string to;
  std::vector<std::string> via = {};  // all switches on the way
};

struct RoutingSpec {
  Routing routing = Routing::kEcmp;
  std::uint64_t seed = 1;
  std::vector<FixedRoute> routes = {};
};

// A failed, slower or faster link (both directions) or switch, or a failed or slower rank, from one
// time to another. Of several that hold at once for a link, the one that leaves it least counts.
struct Change {
  std::string a = {};  // a link's ends; only `a`: all links of a switch
  std::string b = {};
  std::optional<std::uint32_t> rank = std::nullopt;
  bool failed = false;
  double share = 1;                                   // of the rate that a link is built with
  std::optional<double> bytes_per_ns = std::nullopt;  // or the rate itself
  double slower = 1;  // a rank's calculations take so many times as long
  std::int64_t from_ns = 0;
  std::int64_t until_ns = kForeverNs;
};

// Traffic that does not adapt.
struct Background {
  std::string from = {};
  std::string to = {};
  bool link = false;  // the link between two neighbours, in both directions, rather than a path
  double share = 0;   // of the rate
  std::optional<double> bytes_per_ns = std::nullopt;
};

struct NoiseSpec {
  std::uint64_t seed = 1;
  double calculation_share = 0;  // mean by which a calculation takes longer
  double latency_ns = 0;         // mean that is added to a message's latency
};

struct NvlinkSpec {
  std::uint32_t ranks = 0;  // of a domain; 0: those of a node
  LinkSpec link = {};       // of a rank into the switch, and the same out of it
};

struct FabricSpec {
  std::string name = {};  // of the file
  // The first that is given says which ranks share a node; else the notes or --topology.
  std::vector<std::vector<std::uint32_t>> nodes = {};
  std::uint32_t ranks_per_node = 0;
  std::uint32_t nics_per_node = 0;  // 0: one for each rank
  LinkSpec nic = {};
  Packets packets = {};
  std::optional<NvlinkSpec> nvlink = std::nullopt;
  std::shared_ptr<const Topology> topology = non_blocking();
  RoutingSpec routing = {};
  std::vector<Change> changes = {};
  std::vector<Background> background = {};
  NoiseSpec noise = {};
};

core::Result<FabricSpec> read_fabric_spec(const std::string& path);

// The same for the text of a file, which errors call `name`.
core::Result<FabricSpec> parse_fabric_spec(std::string_view yaml, const std::string& name);

}  // namespace assay::simulate
