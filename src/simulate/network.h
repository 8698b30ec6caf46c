// The costs of messages between two ranks in whole nanoseconds, and the files that set them.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/schedule.h"

namespace assay::simulate {

using model::LogGops;

// No schedule may take longer: 2^57 ns are four and a half years. Sums of a few such times fit into
// 64 bits.
inline constexpr std::int64_t kForeverNs = std::int64_t{1} << 57;

// The time of what does not happen.
inline constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::max();

// What a message becomes on the wire: packets with headers.
struct Packets {
  std::uint32_t payload_bytes = 0;  // 0: no headers
  std::uint32_t header_bytes = 0;

  [[nodiscard]] std::uint64_t wire_bytes(std::uint64_t bytes) const {
    if (payload_bytes == 0) return bytes;
    const std::uint64_t least = bytes == 0 ? 1 : bytes;
    return least + (least - 1) / payload_bytes * header_bytes + header_bytes;
  }
};

// One set of parameters. L, o and g are rounded to whole nanoseconds; costs per byte are rounded
// down, as LogGOPSim does. A message of 0 bytes costs as much as one of 1 byte.
class Link {
 public:
  explicit Link(const LogGops& parameters)
      : latency_ns(std::llround(parameters.latency_ns)),
        overhead_ns(std::llround(parameters.overhead_ns)),
        gap_ns(std::llround(parameters.gap_ns)),
        gap_ns_per_byte_(parameters.gap_ns_per_byte),
        overhead_ns_per_byte_(parameters.overhead_ns_per_byte),
        rendezvous_bytes_(parameters.rendezvous_bytes) {}

  // Returns the CPU's time for a message, on either side: o + (s-1) O.
  [[nodiscard]] std::int64_t cpu_ns(std::uint64_t bytes) const {
    return overhead_ns + per_byte(bytes, overhead_ns_per_byte_);
  }

  // Returns (s-1) G, where s counts the headers of packets.
  [[nodiscard]] std::int64_t bandwidth_ns(std::uint64_t bytes) const {
    return per_byte(packets.wire_bytes(bytes), gap_ns_per_byte_);
  }

  [[nodiscard]] bool rendezvous(std::uint64_t bytes) const {
    return static_cast<double>(bytes == 0 ? 1 : bytes) > rendezvous_bytes_;
  }

  // Returns whether any message that a schedule can hold waits for its receive.
  [[nodiscard]] bool has_rendezvous() const { return rendezvous(model::kMostSize); }

  // Returns a time that no message is faster than, from the start of its send to its arrival.
  [[nodiscard]] std::int64_t shortest_ns() const { return overhead_ns + latency_ns; }

  // Returns whether a small message may arrive before a large one that left earlier.
  [[nodiscard]] bool overtakes() const { return overhead_ns_per_byte_ > 0 && gap_ns_per_byte_ > 0; }

  std::int64_t latency_ns;
  std::int64_t overhead_ns;
  std::int64_t gap_ns;
  Packets packets = {};

 private:
  static std::int64_t per_byte(std::uint64_t bytes, double ns_per_byte) {
    if (bytes <= 1 || ns_per_byte == 0) return 0;
    const double cost = static_cast<double>(bytes - 1) * ns_per_byte;
    return cost < static_cast<double>(kForeverNs) ? static_cast<std::int64_t>(cost)
                                                  : kForeverNs + 1;
  }

  double gap_ns_per_byte_;
  double overhead_ns_per_byte_;
  double rendezvous_bytes_;
};

// Selects the link between two ranks.
class Network {
 public:
  // Without `intra` or without `node_of_rank`, all ranks are `inter` apart. Fails when a parameter
  // is negative, infinite or too large, and when the nodes are not those of num_ranks ranks.
  static core::Result<Network> make(const LogGops& inter,
                                    const std::optional<LogGops>& intra,
                                    const std::vector<std::uint32_t>& node_of_rank,
                                    std::size_t num_ranks);

  // Lets messages between nodes have headers.
  void set_packets(const Packets& packets) { inter_.packets = packets; }

  [[nodiscard]] const Link& between(std::uint32_t a, std::uint32_t b) const {
    return node_of_rank_.empty() || node_of_rank_[a] != node_of_rank_[b] ? inter_ : intra_;
  }

  // Returns whether two ranks are on different nodes.
  [[nodiscard]] bool apart(std::uint32_t a, std::uint32_t b) const {
    return node_of_rank_.empty() ? a != b : node_of_rank_[a] != node_of_rank_[b];
  }

  [[nodiscard]] const Link& inter() const { return inter_; }

  [[nodiscard]] const Link& intra() const { return intra_; }

  // Empty: each rank is a node of its own.
  [[nodiscard]] const std::vector<std::uint32_t>& node_of_rank() const { return node_of_rank_; }

  [[nodiscard]] bool has_rendezvous() const {
    return inter_.has_rendezvous() || intra_.has_rendezvous();
  }

  [[nodiscard]] bool overtakes() const { return inter_.overtakes() || intra_.overtakes(); }

 private:
  Network(const Link& inter, const Link& intra, std::vector<std::uint32_t> node_of_rank)
      : inter_(inter), intra_(intra), node_of_rank_(std::move(node_of_rank)) {}

  Link inter_;
  Link intra_;
  std::vector<std::uint32_t> node_of_rank_;  // empty: each rank is a node of its own
};

// Parameters that something gives, by the names of their options: "L" is that of messages between
// nodes, "intra-L" that of messages within one.
using LinkValues = std::map<std::string, double>;

// Returns `link` with what is given of it; `prefix` is "" or "intra-".
LogGops with(const LinkValues& given, const std::string& prefix, LogGops link);

// Gives all parameters of a link.
void give(const LogGops& link, const std::string& prefix, LinkValues& given);

// The parameters and nodes in a JSON file:
//
//   {"inter": {"L": 3700, "o": 200, "g": 5, "G": 0.04, "O": 0, "S": 1e12}, "intra": {…},
//    "ranks_per_node": 8}
//
// L, o and g are in ns, G and O in ns per byte, S in bytes. What the file lacks it does not give.
// "costs" are for `assay goal generate`. Instead of "ranks_per_node" there may be "nodes":
// [[0, 1, 2, 3], [4, 5, 6, 7]], which names every rank once.

struct ParametersFile {
  LinkValues links = {};
  // Empty if the file names no nodes.
  std::vector<std::uint32_t> node_of_rank = {};
};

// `num_ranks` is the number of ranks of the schedule. Errors name the file and the field.
core::Result<ParametersFile> read_parameters(const std::filesystem::path& path,
                                             std::size_t num_ranks);

// The same for the text of a file, which errors call `name`.
core::Result<ParametersFile> parse_parameters(std::string_view text,
                                              const std::string& name,
                                              std::size_t num_ranks);

// Writes a file without nodes. `costs` is a JSON object for `assay goal generate --costs`, which
// the reader above ignores; "" for none.
core::Status write_parameters(const std::filesystem::path& path,
                              const LinkValues& links,
                              const std::string& costs = "");

}  // namespace assay::simulate
