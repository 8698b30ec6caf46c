// The description of a system, SYSTEM.yaml, that lies beside placed tables.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/database/store_export.h"
#include "store/systems/shipped.h"

namespace assay::store {

// The fields without which the public planner ends with an error (planner_tables.h names the
// versions that were looked at): NCCL's memory for any number of GPUs in a host, among others.
inline constexpr std::array<std::string_view, 20> kPlannerFields = {
    "gpu.mem_bw",
    "gpu.mem_bw_empirical_scaling_factor",
    "gpu.mem_empirical_constant_latency",
    "gpu.mem_capacity",
    "gpu.bfloat16_tc_flops",
    "gpu.sm_version",
    "node.num_gpus_per_node",
    "node.inter_node_bw",
    "node.intra_node_bw",
    "node.p2p_latency",
    "misc.other_mem",
    "misc.nccl_version",
    "misc.nccl_mem.1",
    "misc.nccl_mem.2",
    "misc.nccl_mem.3",
    "misc.nccl_mem.4",
    "misc.nccl_mem.5",
    "misc.nccl_mem.6",
    "misc.nccl_mem.7",
    "misc.nccl_mem.8"};

// The text of the file for tables that were placed for `name`. That of a shipped system is the one
// that ships; any other is written from the store's rows. The error says what the store lacks.
core::Result<std::string> system_text_to_place(const Store& store,
                                               const ShippedSystem* shipped,
                                               const std::string& name,
                                               const Placed& placed);

// A sentence for each thing for which the planner would refuse the file, or not find the tables
// that were placed.
std::vector<std::string> problems_for_planner(std::string_view yaml,
                                              const std::string& name,
                                              const Placed& placed);

}  // namespace assay::store
