// The public planner's search: all workers, priced by its closed form, and what it picks of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "plan/compat/aggregated.h"
#include "plan/compat/disaggregated.h"
#include "plan/compat/measured.h"
#include "plan/compat/picks.h"
#include "plan/search/deployments.h"
#include "plan/search/search.h"

namespace assay::plan::compat {

struct SearchAsked {
  Setting setting = {};
  std::int64_t gpus = 8;
  ServingMode modes = ServingMode::kBoth;
  // The fewest GPUs for this load, instead of the most tokens on `gpus`.
  std::optional<Load> load = std::nullopt;
  double ttft_limit_ms = 2000;
  double tpot_limit_ms = 30;
  std::size_t most = 5;  // picks of each kind
};

struct LeftOut {
  Worker worker;
  std::string reason;
};

template <class Point>
struct Found {
  std::vector<Point> points = {};
  std::vector<Offer> offers = {};  // of the points that the search keeps
  std::vector<Pick> picks = {};
  std::vector<Pick> frontier = {};
};

struct SearchFound {
  Found<AggregatedPoint> aggregated = {};
  Found<DisaggregatedPoint> disaggregated = {};
  std::vector<LeftOut> left_out = {};
  // In which attention to prompts is priced.
  Quantization attention = Quantization::kBfloat16;
};

// Workers of up to 8 GPUs, or 16 with experts, in the order in which they are tried.
std::vector<Worker> tried_workers(const serving::Model& model, Engine engine, std::int64_t gpus);

// Error: no worker has a price; it says why the first has none.
core::Result<SearchFound> search(const serving::Model& model,
                                 const SearchAsked& asked,
                                 Measured& measured);

}  // namespace assay::plan::compat
