// Groups of routers that are all linked to each other, and links between every two groups.
#include <fmt/core.h>

#include <vector>

#include "simulate/fabric/topology.h"
#include "simulate/yaml_fields.h"

namespace assay::simulate {
namespace {

// A minimal way crosses as few links between groups as it can, however many routers that takes.
constexpr std::uint16_t kGlobalDistance = 256;

class Dragonfly final : public Topology {
 public:
  core::Status take(Fields& fields) {
    ASSAY_TRY(fields.take_count("nodes_per_router", nodes_per_router_));
    ASSAY_TRY(need(fields, nodes_per_router_, "nodes_per_router"));
    ASSAY_TRY(fields.take_count("routers_per_group", routers_per_group_));
    ASSAY_TRY(need(fields, routers_per_group_, "routers_per_group"));
    ASSAY_TRY(fields.take_count("links_between_groups", links_between_groups_));
    ASSAY_TRY(take_link(fields, link_));
    global_link_ = link_;
    if (!fields.has("global")) return {};
    Fields global = ASSAY_TRY(Fields::of(fields.at("global"), "'global'"));
    ASSAY_TRY(take_link(global, global_link_));
    return global.finish();
  }

  [[nodiscard]] std::uint64_t num_links(std::uint32_t nodes,
                                        std::uint32_t /*nics_per_node*/) const override {
    const std::uint64_t groups = num_groups(nodes);
    const std::uint64_t routers = routers_per_group_;
    return groups * routers * routers / 2 + groups * groups / 2 * links_between_groups_;
  }

  core::Status add(Wiring& wiring) const override {
    const std::uint32_t groups = num_groups(wiring.num_nodes());
    for (std::uint32_t group = 0; group < groups; ++group)
      add_group(wiring, group);
    const std::uint32_t nics = wiring.nics_per_node();
    for (std::uint32_t nic = 0; nic < wiring.num_nodes() * nics; ++nic)
      wiring.attach(nic, nic / nics / nodes_per_router_, {});
    // The links between two groups leave from routers in turn.
    std::vector<std::uint32_t> used(groups);
    const auto next_router = [&](std::uint32_t group) {
      return group * routers_per_group_ + used[group]++ % routers_per_group_;
    };
    for (std::uint32_t a = 0; a < groups; ++a) {
      for (std::uint32_t b = a + 1; b < groups; ++b) {
        for (std::uint32_t i = 0; i < links_between_groups_; ++i) {
          const std::uint32_t from = next_router(a);
          wiring.connect(from, next_router(b), {.spec = global_link_, .distance = kGlobalDistance});
        }
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint32_t num_groups(std::uint32_t nodes) const {
    return num_groups_of(num_groups_of(nodes, nodes_per_router_), routers_per_group_);
  }

  void add_group(Wiring& wiring, std::uint32_t group) const {
    for (std::uint32_t router = 0; router < routers_per_group_; ++router) {
      const std::uint32_t self = wiring.add_switch(fmt::format("group{}.router{}", group, router));
      for (std::uint32_t other = 0; other < router; ++other)
        wiring.connect(group * routers_per_group_ + other, self, {.spec = link_});
    }
  }

  std::uint32_t nodes_per_router_ = 0;
  std::uint32_t routers_per_group_ = 0;
  std::uint32_t links_between_groups_ = 1;  // between each two
  LinkSpec link_ = {};                      // within a group
  LinkSpec global_link_ = {};
};

const TopologySpec kDragonfly{.name = "dragonfly", .take = take_as<Dragonfly>};
ASSAY_REGISTER(TopologySpec, kDragonfly);

}  // namespace
}  // namespace assay::simulate
