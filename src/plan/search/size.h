// The fewest GPUs that carry a load within limits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "plan/search/search.h"

namespace assay::plan {

// What all copies together must carry; 0 of one of them.
struct TargetLoad {
  double requests_per_s = 0;
  std::int64_t concurrency = 0;
};

struct SizeRequest {
  TargetLoad load = {};
  std::int64_t most_gpus = 512;
  // The GPUs of a disaggregated copy at most: those of some nodes.
  std::int64_t searched_gpus = 16;
  // Several engines are asked for, so that each deployment says which one it is of.
  bool names_engines = false;
};

// A candidate, with so many copies that they carry the load.
struct Sized {
  Candidate candidate = {};
  std::int64_t copies = 0;

  [[nodiscard]] std::int64_t gpus() const { return copies * candidate.gpus(); }
};

struct SizeResult {
  // The best of each worker within the limits and the most GPUs, the one with the fewest GPUs
  // first. Where there is none: the one that comes closest.
  std::vector<Sized> best = {};
  bool meets_limits = false;   // of latency
  bool meets_load = false;     // with the most GPUs
  std::int64_t decided = 0;    // aggregated deployments that were looked at, each batch by itself
  SearchResult searched = {};  // disaggregated ones
  std::vector<std::string> notes = {};
};

// Gives the disaggregated candidates that so many GPUs have.
using SearchAt = std::function<core::Result<SearchResult>(std::int64_t gpus)>;

// What is sized: aggregated workers at any batch, and disaggregated copies of a search; null where
// these are not asked for.
struct SizeInputs {
  std::span<const DeploymentCurve> curves = {};
  SearchAt split_at = nullptr;
};

// Of each aggregated worker the least copies are found by what its scheduler decides, as if a
// larger batch served no less and were no faster: of so many copies each carries its share of the
// load with the smallest batch that can, which must keep the limits. The closed form says where to
// look first. Workers that cannot be among the `most` smallest are given up. Disaggregated copies
// are those of a search of some nodes, then of searches of one GPU less than carries the load,
// until that does not. Error: that of the search, where there are no curves.
core::Result<SizeResult> size_deployment(const SizeRequest& size,
                                         const SearchRequest& request,
                                         const SizeInputs& inputs,
                                         std::size_t most);

model::Book size_book(const std::string& title,
                      const SizeRequest& size,
                      const SearchRequest& request,
                      const SizeResult& result);

}  // namespace assay::plan
