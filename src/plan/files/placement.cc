#include "plan/files/placement.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::plan {

std::vector<PlacedInstance> place_instances(const PlannedDeployment& planned) {
  std::vector<PlacedInstance> placed;
  std::int64_t node = 0;
  std::int64_t used = 0;
  std::int64_t transfer_port = files_of(planned.engine).transfer_port.first;
  for (const PlannedDeployment& pool : planned.pools) {
    const std::int64_t gpus = pool.worker.gpus();
    for (std::int64_t i = 0; i < pool.copies; ++i) {
      if (used + gpus > planned.gpus_per_node) {
        ++node;
        used = 0;
      }
      placed.push_back({.role = pool.role,
                        .index = i,
                        .node = node,
                        .first_gpu = used,
                        .port = pool.port + i,
                        .transfer_port = transfer_port});
      used += gpus;
      if (transfer_port > 0) transfer_port += transfer_ports_each(pool);
    }
  }
  return placed;
}

std::int64_t nodes_of(const std::vector<PlacedInstance>& placed) {
  return placed.empty() ? 0 : placed.back().node + 1;
}

std::string host_of(const PlannedDeployment& planned, std::int64_t node, std::int64_t nodes) {
  if (static_cast<std::size_t>(node) < planned.hosts.size())
    return planned.hosts[static_cast<std::size_t>(node)];
  return nodes == 1 ? "localhost" : fmt::format("node-{}", node);
}

Instances placed_addresses(const PlannedDeployment& planned) {
  const std::vector<PlacedInstance> placed = place_instances(planned);
  const std::int64_t nodes = nodes_of(placed);
  Instances instances;
  for (const PlacedInstance& one : placed) {
    const std::string address = fmt::format("{}:{}", host_of(planned, one.node, nodes), one.port);
    if (one.role == Role::kDecode) {
      instances.decode.push_back(address);
    } else {
      instances.prefill.push_back(address);
      instances.prefill_transfer_ports.push_back(one.transfer_port);
    }
  }
  return instances;
}

Instances pod_addresses(const PlannedDeployment& planned) {
  Instances instances;
  const std::int64_t transfer_port = files_of(planned.engine).transfer_port.first;
  for (const PlannedDeployment& pool : planned.pools) {
    for (std::int64_t i = 0; i < pool.copies; ++i) {
      const std::string address = fmt::format("{0}-{1}.{0}:{2}", pool.name, i, pool.port);
      if (pool.role == Role::kDecode) {
        instances.decode.push_back(address);
      } else {
        instances.prefill.push_back(address);
        instances.prefill_transfer_ports.push_back(transfer_port);
      }
    }
  }
  return instances;
}

}  // namespace assay::plan
