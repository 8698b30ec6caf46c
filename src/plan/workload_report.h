// What clients see of a deployment under a workload, as tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/table.h"
#include "plan/serve_workload.h"

namespace assay::plan {

struct WorkloadSummary {
  std::string title = {};  // "1000 requests of trace.jsonl, 2.5 a second"
  std::int64_t gpus = 1;   // of all copies
  ServiceLevel level = {};
  double ttft_factor = 1;  // of a calibration
};

// Percentiles of the latencies, and what the deployment did.
std::vector<model::Table> workload_tables(const WorkloadMetrics& metrics,
                                          const WorkloadSummary& summary);

// "TTFT <= 500 ms and TPOT <= 20 ms"
std::string text_of(const ServiceLevel& level);

}  // namespace assay::plan
