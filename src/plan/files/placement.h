// Where the instances of a disaggregated deployment run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/files/deployment.h"
#include "plan/files/engine_files.h"

namespace assay::plan {

struct PlacedInstance {
  Role role = Role::kPrefill;
  std::int64_t index = 0;  // in its pool
  std::int64_t node = 0;   // the first, where it spans several
  std::int64_t last_node = 0;
  std::int64_t first_gpu = 0;  // of the node
  std::int64_t port = 0;
  std::int64_t transfer_port = 0;  // 0: the engine finds one
};

// One instance behind the other, each within a node or on whole ones.
std::vector<PlacedInstance> place_instances(const PlannedDeployment& planned);

std::int64_t nodes_of(const std::vector<PlacedInstance>& placed);

// The machine of a node, of so many.
std::string host_of(const PlannedDeployment& planned, std::int64_t node, std::int64_t nodes);

// Where they answer, on the machines.
Instances placed_addresses(const PlannedDeployment& planned);

// Where they answer in a cluster of Kubernetes, as the pods of a StatefulSet with the pool's name.
Instances pod_addresses(const PlannedDeployment& planned);

}  // namespace assay::plan
