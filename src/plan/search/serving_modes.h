// One search over aggregated and disaggregated deployments.
#pragma once

#include <span>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/search/disaggregated.h"
#include "plan/search/search.h"

namespace assay::plan {

// An engine, with what it serves by.
struct EngineSystems {
  Engine engine = Engine::kTrtllm;
  serving::Precision precision = {};
  PoolSystem system = {};
  PoolSystem decode_system = {};
};

// The candidates of the modes that are asked for, of all engines in one ranking. An engine's
// `system` is that of aggregated workers and of prompts, its `decode_system` that of instances that
// decode; the request's memory and node are of the former. request.engine and request.precision are
// not read, and its calibration only where no engine's system has one. Error: no mode has a
// candidate. A mode that has none beside another is a note.
core::Result<SearchResult> search_modes(const serving::Model& model,
                                        const SearchRequest& request,
                                        ServingMode mode,
                                        std::span<const EngineSystems> engines);

// Every aggregated worker of several engines, as deployment_curves() has those of one calibration.
// Error: no engine has one. An engine that has none beside another is a note.
core::Result<DeploymentCurves> curves_of_engines(const serving::Model& model,
                                                 const SearchRequest& request,
                                                 std::span<const EngineSystems> engines);

}  // namespace assay::plan
