// Finds the deployment that serves a workload best: requests that come by themselves rather than
// when others end, so that each way to spread the model over the GPUs has one answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/table.h"
#include "plan/price/tables.h"
#include "plan/schedule/workload.h"
#include "plan/search/search.h"
#include "plan/serve_workload.h"

namespace assay::plan {

struct WorkloadCandidate {
  Worker worker = {};
  std::int64_t copies = 1;  // as many as the GPUs hold
  WorkloadMetrics metrics = {};
  bool meets = false;  // enough requests are good

  [[nodiscard]] std::int64_t gpus() const { return copies * worker.gpus(); }
};

struct WorkloadLimits {
  ServiceLevel level = {};  // that a good request keeps
  double good_share = 0.9;  // of the requests, at least
};

struct WorkloadSearchResult {
  std::vector<WorkloadCandidate> candidates = {};  // the best first
  std::vector<Refused> refused = {};
};

// Simulates every worker that the GPUs allow, in as many copies as they hold, each with the
// engine's default limits. Those that keep the limits come first, then those with most good
// requests; equal ones by the p90 of their requests' latency. Of the request, the lengths, limits
// and the scheduler are not read. Error: no worker is left; it says why each is not.
core::Result<WorkloadSearchResult> search_workload(const serving::Model& model,
                                                   const SearchRequest& request,
                                                   const Workload& workload,
                                                   const WorkloadLimits& limits,
                                                   Tables& tables);

// The best of them, and the workers that are left out.
model::Book workload_search_book(const std::string& title,
                                 const WorkloadSearchResult& result,
                                 const WorkloadLimits& limits,
                                 const Calibration& calibration,
                                 std::size_t most);

}  // namespace assay::plan
