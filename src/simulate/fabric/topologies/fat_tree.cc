// Pods of leaves and spines; spine i of every pod is linked to the same cores.
#include <fmt/core.h>

#include <algorithm>

#include "simulate/fabric/topologies/leaves.h"
#include "simulate/yaml_fields.h"

namespace assay::simulate {
namespace {

class FatTree final : public Topology {
 public:
  core::Status take(Fields& fields) {
    ASSAY_TRY(leaves_.take(fields));
    ASSAY_TRY(fields.take_count("leaves_per_pod", leaves_per_pod_));
    ASSAY_TRY(need(fields, leaves_per_pod_, "leaves_per_pod"));
    ASSAY_TRY(fields.take_count("spines_per_pod", spines_per_pod_));
    ASSAY_TRY(need(fields, spines_per_pod_, "spines_per_pod"));
    ASSAY_TRY(fields.take_count("cores_per_spine", cores_per_spine_));
    ASSAY_TRY(need(fields, cores_per_spine_, "cores_per_spine"));
    own_cores_ = fields.has("core_oversubscription");
    return fields.take_number("core_oversubscription", core_oversubscription_, 1e-3, 1e6);
  }

  [[nodiscard]] std::uint64_t num_links(std::uint32_t nodes,
                                        std::uint32_t /*nics_per_node*/) const override {
    const std::uint64_t spines = std::uint64_t{num_pods(nodes)} * spines_per_pod_;
    return std::uint64_t{leaves_.num_groups(nodes)} * spines_per_pod_ + spines * cores_per_spine_;
  }

  core::Status add(Wiring& wiring) const override {
    const bool merged = wiring.may_merge("core");
    const double up = leaves_.up_capacity(wiring.nics_per_node(), spines_per_pod_);
    const Trunk leaf_trunk{.spec = leaves_.link, .default_capacity = up};
    Trunk core_trunk{.spec = leaves_.link,
                     .default_capacity = up * share_of_core(),
                     .copies = merged ? cores_per_spine_ : 1};
    if (own_cores_ && leaves_.link.bytes_per_ns) *core_trunk.spec.bytes_per_ns *= share_of_core();
    const std::uint32_t cores_each = merged ? 1 : cores_per_spine_;
    std::vector<std::uint32_t> cores;
    for (std::uint32_t i = 0; i < spines_per_pod_ * cores_each; ++i)
      cores.push_back(wiring.add_switch(fmt::format("{}{}", merged ? "cores" : "core", i)));
    for (std::uint32_t pod = 0; pod < num_pods(wiring.num_nodes()); ++pod) {
      const std::vector<std::uint32_t> leaves = add_leaves(wiring, pod);
      for (std::uint32_t i = 0; i < spines_per_pod_; ++i) {
        const std::uint32_t spine = wiring.add_switch(fmt::format("pod{}.spine{}", pod, i));
        for (const std::uint32_t leaf : leaves)
          wiring.connect(leaf, spine, leaf_trunk);
        for (std::uint32_t core = 0; core < cores_each; ++core)
          wiring.connect(spine, cores[i * cores_each + core], core_trunk);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint32_t num_pods(std::uint32_t nodes) const {
    return num_groups_of(leaves_.num_groups(nodes), leaves_per_pod_);
  }

  // Returns what a link to a core has of one to a leaf, where a spine's links follow from each
  // other.
  [[nodiscard]] double share_of_core() const {
    return leaves_per_pod_ / (core_oversubscription_ * cores_per_spine_);
  }

  [[nodiscard]] std::vector<std::uint32_t> add_leaves(Wiring& wiring, std::uint32_t pod) const {
    std::vector<std::uint32_t> leaves;
    const std::uint32_t first = pod * leaves_per_pod_;
    const std::uint32_t end =
        first + std::min(leaves_per_pod_, leaves_.num_groups(wiring.num_nodes()) - first);
    for (std::uint32_t group = first; group < end; ++group)
      leaves_.add_group(wiring, group, fmt::format("pod{}.leaf{}", pod, group - first), leaves);
    return leaves;
  }

  Leaves leaves_;
  std::uint32_t leaves_per_pod_ = 0;
  std::uint32_t spines_per_pod_ = 0;
  std::uint32_t cores_per_spine_ = 0;
  double core_oversubscription_ = 1;  // of a spine
  bool own_cores_ = false;            // the file has it
};

const TopologySpec kFatTree{.name = "fat-tree", .take = take_as<FatTree>};
ASSAY_REGISTER(TopologySpec, kFatTree);

}  // namespace
}  // namespace assay::simulate
