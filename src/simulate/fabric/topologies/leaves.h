// The leaves of a leaf-spine network and of a fat-tree: switches with the NICs of some nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/fabric/topology.h"

namespace assay::simulate {

struct Leaves {
  std::uint32_t nodes_per_leaf = 0;
  double oversubscription = 1;  // of a leaf
  LinkSpec link = {};           // between switches; the rate may follow from the oversubscription
  bool rails = false;           // NIC i of every node is at a leaf of rail i

  core::Status take(Fields& fields);

  // Returns how many groups of nodes there are, each of which has a leaf, or one for each rail.
  [[nodiscard]] std::uint32_t num_groups(std::uint32_t nodes) const;
  // Returns the capacity of one of a leaf's links to `spines` switches, in NICs.
  [[nodiscard]] double up_capacity(std::uint32_t nics_per_node, std::uint32_t spines) const;
  // Adds the leaves of a group and attaches its NICs.
  void add_group(Wiring& wiring,
                 std::uint32_t group,
                 const std::string& name,
                 std::vector<std::uint32_t>& leaves) const;
};

}  // namespace assay::simulate
