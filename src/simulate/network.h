// What messages cost between two ranks, in whole nanoseconds.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.h"
#include "simulate/parameters.h"

namespace assay::simulate {

// Longer than any schedule may take: 2^57 ns are four and a half years. Sums of a few such times
// stay within 64 bits.
inline constexpr std::int64_t kForeverNs = std::int64_t{1} << 57;

// One set of parameters. L, o and g count in whole nanoseconds, costs of bytes are rounded down,
// as LogGOPSim does; a message of 0 bytes costs as much as one of 1.
class Link {
 public:
  explicit Link(const LogGops& parameters)
      : latency_ns(std::llround(parameters.latency_ns)),
        overhead_ns(std::llround(parameters.overhead_ns)),
        gap_ns(std::llround(parameters.gap_ns)),
        gap_ns_per_byte_(parameters.gap_ns_per_byte),
        overhead_ns_per_byte_(parameters.overhead_ns_per_byte),
        rendezvous_bytes_(parameters.rendezvous_bytes) {}

  // The CPU's time for a message, on either side: o + (s-1) O.
  [[nodiscard]] std::int64_t cpu_ns(std::uint64_t bytes) const {
    return overhead_ns + per_byte(bytes, overhead_ns_per_byte_);
  }

  // (s-1) G
  [[nodiscard]] std::int64_t bandwidth_ns(std::uint64_t bytes) const {
    return per_byte(bytes, gap_ns_per_byte_);
  }

  [[nodiscard]] bool rendezvous(std::uint64_t bytes) const {
    return static_cast<double>(bytes == 0 ? 1 : bytes) > rendezvous_bytes_;
  }

  std::int64_t latency_ns;
  std::int64_t overhead_ns;
  std::int64_t gap_ns;

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

// Which of two links lies between two ranks.
class Network {
 public:
  // Without `intra` or without `node_of_rank` all ranks are `inter` apart. Fails on parameters
  // that are no times, and when the nodes are not those of num_ranks ranks.
  static core::Result<Network> make(const LogGops& inter,
                                    const std::optional<LogGops>& intra,
                                    const std::vector<std::uint32_t>& node_of_rank,
                                    std::size_t num_ranks);

  [[nodiscard]] const Link& between(std::uint32_t a, std::uint32_t b) const {
    return node_of_rank_.empty() || node_of_rank_[a] != node_of_rank_[b] ? inter_ : intra_;
  }

 private:
  Network(const Link& inter, const Link& intra, std::vector<std::uint32_t> node_of_rank)
      : inter_(inter), intra_(intra), node_of_rank_(std::move(node_of_rank)) {}

  Link inter_;
  Link intra_;
  std::vector<std::uint32_t> node_of_rank_;  // empty: each rank is a node
};

}  // namespace assay::simulate
