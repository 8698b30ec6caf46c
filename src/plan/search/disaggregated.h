// Finds the disaggregated deployments of a model: instances of prompts beside instances that
// decode, in numbers whose rates match.
//
// Every instance of prompts is priced at every batch, and every one that decodes, by its mean step.
// A pair makes copies of x instances of prompts and y that decode, with the least x that keeps up;
// the y that serves most on all GPUs stands for the pair. Those near the frontier are simulated.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/cache_transfer.h"
#include "plan/calibrate/calibration.h"
#include "plan/price/tables.h"
#include "plan/search/search.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

// What the instances of a pool run on.
struct PoolSystem {
  const store::SystemFacts* facts = nullptr;
  Tables* tables = nullptr;
  std::string version = {};  // of the engine; "": the one that files are for
  Calibration calibration = {};
  std::optional<CalibrationErrors> calibration_errors = std::nullopt;
};

// Those of TTFT are of the pool of prompts, those of TPOT of the pool that decodes.
std::optional<CalibrationErrors> calibration_errors_of(const PoolSystem& prefill,
                                                       const PoolSystem& decode);

// How caches go within a copy of so many GPUs: within a node where each of so many copies has a
// node's place to itself on all the GPUs.
CachePath path_of_copies(const PoolSystem& prefill,
                         const PoolSystem& decode,
                         std::int64_t gpus_of_copy,
                         std::int64_t copies,
                         std::int64_t gpus);

// Candidates as those of search(), all of them split. The request's memory, node, link and
// calibration are not read: those of the pools' systems are.
// Error: no pair of instances fits the GPUs; it says why.
core::Result<SearchResult> search_disaggregated(const serving::Model& model,
                                                const SearchRequest& request,
                                                const PoolSystem& prefill,
                                                const PoolSystem& decode);

}  // namespace assay::plan
