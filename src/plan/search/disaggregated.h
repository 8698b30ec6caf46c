// Finds the disaggregated deployments of a model: instances of prompts beside instances that
// decode, in numbers whose rates match.
//
// Every instance of prompts is priced at every batch, and every one that decodes, by its mean step.
// A pair makes copies of x instances of prompts and y that decode, with the least x that keeps up;
// the y that serves most on all GPUs stands for the pair. Those near the frontier are simulated.
#pragma once

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/price/tables.h"
#include "plan/search/search.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

// What the instances of a pool run on.
struct PoolSystem {
  const store::SystemFacts* facts = nullptr;
  Tables* tables = nullptr;
};

// Candidates as those of search(), all of them split. The request's memory and node are not read.
// Error: no pair of instances fits the GPUs; it says why.
core::Result<SearchResult> search_disaggregated(const serving::Model& model,
                                                const SearchRequest& request,
                                                const PoolSystem& prefill,
                                                const PoolSystem& decode);

}  // namespace assay::plan
