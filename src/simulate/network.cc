#include "simulate/network.h"

#include <fmt/core.h>

namespace assay::simulate {
namespace {

// A link slower than this is a mistake in units.
constexpr double kMostNs = 1e15;

core::Status check(const LogGops& parameters) {
  const struct {
    const char* name;
    double value;
  } all[] = {{"L", parameters.latency_ns},
             {"o", parameters.overhead_ns},
             {"g", parameters.gap_ns},
             {"G", parameters.gap_ns_per_byte},
             {"O", parameters.overhead_ns_per_byte},
             {"S", parameters.rendezvous_bytes}};

  for (const auto& [name, value] : all) {
    if (std::isfinite(value) && value >= 0 && value <= kMostNs) continue;
    return core::Error{fmt::format("{} is {}: it must be 0 to {:g}", name, value, kMostNs)};
  }
  return {};
}

}  // namespace

core::Result<Network> Network::make(const LogGops& inter,
                                    const std::optional<LogGops>& intra,
                                    const std::vector<std::uint32_t>& node_of_rank,
                                    std::size_t num_ranks) {
  ASSAY_TRY(check(inter));
  if (!intra || node_of_rank.empty()) return Network(Link(inter), Link(inter), {});
  if (auto good = check(*intra); !good.ok()) return good.error().context("within a node");
  if (node_of_rank.size() != num_ranks) {
    return core::Error{fmt::format("the nodes are those of {} ranks, the schedule has {}",
                                   node_of_rank.size(), num_ranks)};
  }
  return Network(Link(inter), Link(*intra), node_of_rank);
}

}  // namespace assay::simulate
