// A worker that spans several nodes: what each node's command has besides, or how MPI starts all.
#pragma once

#include <cstdint>
#include <string>

#include "plan/files/engine_files.h"

namespace assay::plan {

// The port of the first node at which the others find it.
inline constexpr std::int64_t kNodesPort = 29500;

// One node, as its command's words name it: texts, or variables of whoever starts it.
struct NodePlace {
  std::string first;   // where the others reach the first node
  std::string number;  // of this one, from 0
};

// The options that tell a node its place. Precondition: the engine has them.
Words node_options(const EngineFiles& engine,
                   const PlannedDeployment& planned,
                   const NodePlace& place);

// "node-0:8,node-1:8", as mpirun reads it.
std::string hosts_text(const Words& names, std::int64_t gpus_of_node);

// A line of a script that sets `hosts` to the variable HOSTS or, without it, to these machines.
std::string hosts_line(const Words& names, std::int64_t gpus_of_node);

// Lines of a script that execute what follows by a process for each GPU of $hosts.
std::string mpi_lines(const PlannedDeployment& planned);

// Error: a cluster of Kubernetes or llm-d's chart cannot start the engine's workers over nodes.
core::Status check_kubernetes_nodes(const PlannedDeployment& planned);
core::Status check_llmd_nodes(const PlannedDeployment& planned);

}  // namespace assay::plan
