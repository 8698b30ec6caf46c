// One switch that never is in the way.
#include "simulate/fabric/topology.h"

namespace assay::simulate {
namespace {

class NonBlocking final : public Topology {
 public:
  [[nodiscard]] std::uint64_t num_links(std::uint32_t /*nodes*/,
                                        std::uint32_t /*nics_per_node*/) const override {
    return 0;
  }

  core::Status add(Wiring& wiring) const override {
    const std::uint32_t all = wiring.add_switch("switch");
    for (std::uint32_t nic = 0; nic < wiring.num_nodes() * wiring.nics_per_node(); ++nic)
      wiring.attach(nic, all, {});
    return {};
  }
};

const TopologySpec kNonBlocking{
    .name = "non-blocking", .take = [](Fields&) -> core::Result<std::shared_ptr<const Topology>> {
      return non_blocking();
    }};
ASSAY_REGISTER(TopologySpec, kNonBlocking);

}  // namespace

std::shared_ptr<const Topology> non_blocking() {
  return std::make_shared<NonBlocking>();
}

}  // namespace assay::simulate
