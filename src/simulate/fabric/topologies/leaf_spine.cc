// Leaves, each of which is linked to every spine; with rails, a leaf for each NIC of a node.
#include <fmt/core.h>

#include "simulate/fabric/topologies/leaves.h"
#include "simulate/yaml_fields.h"

namespace assay::simulate {
namespace {

class LeafSpine final : public Topology {
 public:
  core::Status take(Fields& fields) {
    ASSAY_TRY(leaves_.take(fields));
    ASSAY_TRY(fields.take_count("spines", spines_));
    ASSAY_TRY(need(fields, spines_, "spines"));
    return fields.take_flag("rails", leaves_.rails);
  }

  [[nodiscard]] std::uint64_t num_links(std::uint32_t nodes,
                                        std::uint32_t nics_per_node) const override {
    const std::uint64_t leaves =
        std::uint64_t{leaves_.num_groups(nodes)} * (leaves_.rails ? nics_per_node : 1);
    return leaves * spines_;
  }

  core::Status add(Wiring& wiring) const override {
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t group = 0; group < leaves_.num_groups(wiring.num_nodes()); ++group)
      leaves_.add_group(wiring, group, fmt::format("leaf{}", group), leaves);
    const bool merged = wiring.may_merge("spine");
    const Trunk trunk{.spec = leaves_.link,
                      .default_capacity = leaves_.up_capacity(wiring.nics_per_node(), spines_),
                      .copies = merged ? spines_ : 1};
    for (std::uint32_t i = 0; i < (merged ? 1 : spines_); ++i) {
      const std::uint32_t spine =
          wiring.add_switch(merged ? std::string("spines") : fmt::format("spine{}", i));
      for (const std::uint32_t leaf : leaves)
        wiring.connect(leaf, spine, trunk);
    }
    return {};
  }

 private:
  Leaves leaves_;
  std::uint32_t spines_ = 0;
};

const TopologySpec kLeafSpine{.name = "leaf-spine", .take = take_as<LeafSpine>};
ASSAY_REGISTER(TopologySpec, kLeafSpine);

}  // namespace
}  // namespace assay::simulate
