#include "simulate/fabric/topologies/leaves.h"

#include <fmt/core.h>

#include <algorithm>

#include "simulate/yaml_fields.h"

namespace assay::simulate {

core::Status Leaves::take(Fields& fields) {
  ASSAY_TRY(fields.take_count("nodes_per_leaf", nodes_per_leaf));
  ASSAY_TRY(need(fields, nodes_per_leaf, "nodes_per_leaf"));
  ASSAY_TRY(take_link(fields, link));
  const bool both = fields.has("oversubscription") && link.bytes_per_ns;
  if (both) return fields.error("has both 'bandwidth' and 'oversubscription': one follows");
  return fields.take_number("oversubscription", oversubscription, 1e-3, 1e6);
}

std::uint32_t Leaves::num_groups(std::uint32_t nodes) const {
  return num_groups_of(nodes, nodes_per_leaf);
}

double Leaves::up_capacity(std::uint32_t nics_per_node, std::uint32_t spines) const {
  const double ports = static_cast<double>(nodes_per_leaf) * (rails ? 1 : nics_per_node);
  return ports / (oversubscription * spines);
}

void Leaves::add_group(Wiring& wiring,
                       std::uint32_t group,
                       const std::string& name,
                       std::vector<std::uint32_t>& leaves) const {
  const std::uint32_t nics = wiring.nics_per_node();
  const std::uint32_t num_rails = rails ? nics : 1;
  const std::uint32_t first_node = group * nodes_per_leaf;
  const std::uint32_t end_node =
      first_node + std::min(nodes_per_leaf, wiring.num_nodes() - first_node);
  for (std::uint32_t rail = 0; rail < num_rails; ++rail) {
    const std::uint32_t leaf =
        wiring.add_switch(num_rails == 1 ? name : fmt::format("{}.rail{}", name, rail));
    leaves.push_back(leaf);
    for (std::uint32_t node = first_node; node < end_node; ++node) {
      for (std::uint32_t nic = rail; nic < nics; nic += num_rails)
        wiring.attach(node * nics + nic, leaf, {});
    }
  }
}

}  // namespace assay::simulate
