#include "allreduce/tuning.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "allreduce/borders.h"

namespace assay::allreduce {
namespace {

std::vector<Strategy> public_ones(const std::vector<Strategy>& strategies) {
  std::vector<Strategy> kept;
  std::copy_if(strategies.begin(), strategies.end(), std::back_inserter(kept),
               [](Strategy strategy) { return spec_of(strategy).is_public; });
  return kept;
}

DecisionOptions decision_options(const TuningOptions& options,
                                 const std::vector<Strategy>& strategies) {
  return {.strategies = strategies, .tie = options.tie, .fallback = options.fallback};
}

bool any_timed(const Timings& timings) {
  return std::any_of(timings.begin(), timings.end(),
                     [](const auto& entry) { return !entry.second.empty(); });
}

}  // namespace

core::Result<TunedTables> tune(const Benchmark& benchmark,
                               const TuningOptions& options,
                               const std::string& provenance) {
  TunedTables tables{.options = options,
                     .timings = timings_of(benchmark, options.launch, options.noise)};
  const bool named = !options.strategies.empty();
  tables.strategies = named ? options.strategies : all_strategies();
  tables.public_strategies = named ? public_ones(options.strategies) : public_strategies();
  if (!any_timed(tables.timings)) {
    return core::Error{
        fmt::format("no measurement of {} launches succeeded: there is nothing to "
                    "choose from",
                    name_of(options.launch))};
  }
  if (!any_timed(restricted(tables.timings, tables.strategies))) {
    return core::Error{"none of the strategies that may be chosen was timed"};
  }
  tables.choices = decide(tables.timings, decision_options(options, tables.strategies));
  DecisionOptions public_options = decision_options(options, tables.public_strategies);
  public_options.hidden_sizes = {kPublicHiddenSizes.begin(), kPublicHiddenSizes.end()};
  public_options.num_tokens = {kPublicTokens.begin(), kPublicTokens.end()};
  tables.public_choices = decide(tables.timings, public_options);
  tables.table = {.sm_version = benchmark.sm_version,
                  .launch = options.launch,
                  .fallback = options.fallback,
                  .provenance = provenance,
                  .slices = table_slices(tables.choices)};
  tables.lookup = lookup_table_of(tables.public_choices, options.data_type, benchmark.sm_version,
                                  options.fallback);
  return tables;
}

std::vector<int> missing_world_sizes(const LookupTable& table) {
  std::vector<int> missing;
  const std::size_t count = table.cells.size() / table.world_sizes.size();
  for (std::size_t i = 0; i < table.world_sizes.size(); ++i) {
    const auto from = table.cells.begin() + static_cast<std::ptrdiff_t>(i * count);
    const bool measured = std::any_of(from, from + static_cast<std::ptrdiff_t>(count),
                                      [](const LookupCell& cell) { return cell.is_measured; });
    if (!measured) missing.push_back(table.world_sizes[i]);
  }
  return missing;
}

}  // namespace assay::allreduce
