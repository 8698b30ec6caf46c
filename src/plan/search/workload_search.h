// Finds the deployment that serves a workload best: requests that come by themselves rather than
// when others end, so that each way to spread the model over the GPUs has one answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/table.h"
#include "plan/schedule/workload.h"
#include "plan/search/search.h"
#include "plan/search/serving_modes.h"
#include "plan/serve_workload.h"

namespace assay::plan {

struct WorkloadCandidate {
  Engine engine = Engine::kTrtllm;
  Worker worker = {};  // of a split copy: the one that decodes
  Split split = {};
  std::int64_t copies = 1;  // as many as the GPUs hold
  WorkloadMetrics metrics = {};
  bool meets = false;      // enough requests are good
  double ttft_factor = 1;  // of the engine's calibration, on TTFT in the metrics

  [[nodiscard]] std::int64_t gpus() const { return copies * gpus_of_copy(worker, split); }
};

struct WorkloadLimits {
  ServiceLevel level = {};     // that a good request keeps
  double good_share = 0.9;     // of the requests, at least
  std::int64_t most_gpus = 0;  // of size_workload()
};

struct WorkloadSearchResult {
  std::vector<WorkloadCandidate> candidates = {};  // the best first
  std::vector<Refused> refused = {};
  std::vector<std::string> notes = {};
};

// Simulates the deployments of workload_copies(), in as many copies as the GPUs hold, each with the
// engine's default limits. Those that keep the limits come first, then those with most good
// requests; equal ones by the p90 of their requests' latency. Of the request, the engine, the
// lengths, the scheduler and what the engines' systems have are not read. Error: no engine has
// anything left; it says why.
core::Result<WorkloadSearchResult> search_workload(const serving::Model& model,
                                                   const SearchRequest& request,
                                                   const Workload& workload,
                                                   const WorkloadLimits& limits,
                                                   ServingMode mode,
                                                   std::span<const EngineSystems> engines);

// The fewest GPUs that serve it.
struct WorkloadSize {
  // The least copies of each deployment with which enough requests are good, the fewest GPUs first;
  // none where the most GPUs are too few. With one copy less too few requests were good, or there
  // is none less.
  std::vector<WorkloadCandidate> best = {};
  WorkloadCandidate closest = {};  // with the most GPUs, where there is no best
  std::int64_t simulated = 0;      // deployments, each number of copies by itself
  bool names_engines = false;      // several were asked for
  std::vector<Refused> refused = {};
  std::vector<std::string> notes = {};
};

// Looks for the least copies of each deployment by the simulation, as if more copies were never
// worse. Deployments that cannot be among the request.top smallest of all engines are given up.
// Errors: as search_workload().
core::Result<WorkloadSize> size_workload(const serving::Model& model,
                                         const SearchRequest& request,
                                         const Workload& workload,
                                         const WorkloadLimits& limits,
                                         ServingMode mode,
                                         std::span<const EngineSystems> engines);

model::Book workload_size_book(const std::string& title,
                               const WorkloadSize& result,
                               const WorkloadLimits& limits);

// The best of them, and the workers that are left out.
model::Book workload_search_book(const std::string& title,
                                 const WorkloadSearchResult& result,
                                 const WorkloadLimits& limits,
                                 std::size_t most);

}  // namespace assay::plan
