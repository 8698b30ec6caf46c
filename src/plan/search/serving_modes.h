// One search over aggregated and disaggregated deployments.
#pragma once

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/search/disaggregated.h"
#include "plan/search/search.h"

namespace assay::plan {

// The candidates of the modes that are asked for. `system` is that of aggregated workers and of
// prompts, `decode_system` that of instances that decode; the request's memory and node are of the
// former. Error: no mode has a candidate. A mode that has none beside another is a note.
core::Result<SearchResult> search_modes(const serving::Model& model,
                                        const SearchRequest& request,
                                        ServingMode mode,
                                        const PoolSystem& system,
                                        const PoolSystem& decode_system);

}  // namespace assay::plan
