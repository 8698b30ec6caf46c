#include "plan/files/placement.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::plan {

namespace {

// GPUs of nodes, taken one behind the other.
class Nodes {
 public:
  explicit Nodes(const std::string& system) : system_(system) {}

  // The first node of an instance. A node has the GPUs of one system, and none is shared by an
  // instance that has whole nodes.
  std::int64_t take(const PlannedDeployment& pool) {
    if (used_ > 0 && (used_ + pool.gpus_of_node() > pool.gpus_per_node || pool.spans_nodes() ||
                      pool.system != system_))
      next();
    system_ = pool.system;
    const std::int64_t node = node_;
    first_gpu_ = used_;
    node_ += pool.nodes_of_worker() - 1;
    used_ += pool.gpus_of_node();
    return node;
  }

  [[nodiscard]] std::int64_t first_gpu() const { return first_gpu_; }

 private:
  void next() {
    ++node_;
    used_ = 0;
  }

  std::string system_;
  std::int64_t node_ = 0;
  std::int64_t used_ = 0;  // of its GPUs
  std::int64_t first_gpu_ = 0;
};

}  // namespace

std::vector<PlacedInstance> place_instances(const PlannedDeployment& planned) {
  std::vector<PlacedInstance> placed;
  Nodes nodes(planned.system);
  std::int64_t transfer_port = files_of(planned.engine).transfer_port.first;
  for (const PlannedDeployment& pool : planned.pools) {
    for (std::int64_t i = 0; i < pool.copies; ++i) {
      const std::int64_t node = nodes.take(pool);
      placed.push_back({.role = pool.role,
                        .index = i,
                        .node = node,
                        .last_node = node + pool.nodes_of_worker() - 1,
                        .first_gpu = nodes.first_gpu(),
                        .port = pool.port + i,
                        .transfer_port = transfer_port});
      if (transfer_port > 0) transfer_port += transfer_ports_each(pool);
    }
  }
  return placed;
}

std::int64_t nodes_of(const std::vector<PlacedInstance>& placed) {
  return placed.empty() ? 0 : placed.back().last_node + 1;
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
