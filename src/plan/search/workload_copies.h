// The deployments that may serve a workload, each as one copy that can be simulated in any number.
//
// Aggregated ones are all workers. Of disaggregated ones the closed form chooses those whose pools
// match for requests of the workload's mean lengths, once as if nothing of a prompt were in a
// cache, and once as if caches had all that they ever could.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/schedule/workload.h"
#include "plan/search/search.h"
#include "plan/search/serving_modes.h"
#include "plan/serve_workload.h"

namespace assay::plan {

// Requests go to so many copies in turn.
using ServeCopies = std::function<core::Result<WorkloadMetrics>(std::int64_t copies)>;

struct WorkloadCopy {
  Worker worker = {};  // of a split copy: the one that decodes
  Split split = {};
  ServeCopies serve = {};

  [[nodiscard]] std::int64_t gpus() const { return gpus_of_copy(worker, split); }

  [[nodiscard]] std::string text() const { return text_of_copy(worker, split); }
};

struct WorkloadCopies {
  std::vector<WorkloadCopy> copies = {};
  std::vector<Refused> refused = {};
  std::vector<std::string> notes = {};
  std::shared_ptr<const void> prices = nullptr;  // to which the copies refer
};

// Says why each one that is refused serves nothing.
core::Error no_copy_left(const std::string& model, const std::vector<Refused>& refused);

// `level` is what a good request keeps; model, request, workload and the engine's systems must
// outlive the result. Error: there is no copy; it says why.
core::Result<WorkloadCopies> workload_copies(const serving::Model& model,
                                             const SearchRequest& request,
                                             const Workload& workload,
                                             const ServiceLevel& level,
                                             ServingMode mode,
                                             const EngineSystems& engine);

}  // namespace assay::plan
