#include "plan/estimate.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace assay::plan {
namespace {

using model::Cell;

model::Table operators_table(const char* name,
                             const std::string& title,
                             const StepPrices& prices,
                             const Step& step) {
  model::Table table{.name = name,
                     .title = title,
                     .columns = {{.name = "operator"},
                                 {.name = "launches"},
                                 {.name = "time", .unit = "ms"},
                                 {.name = "share", .unit = "%"},
                                 {.name = "uncertainty", .unit = "%"},
                                 {.name = "fidelity"},
                                 {.name = "source"}}};
  const std::vector<OperatorCost> costs = prices.operators(step);
  double sum = 0;
  for (const OperatorCost& one : costs)
    sum += one.cost.ms;
  for (const OperatorCost& one : costs) {
    const OperatorPrice& price = *one.price;
    table.add_row({price.use().role, price.use().count, one.cost.ms, 100 * one.cost.ms / sum,
                   one.cost.sigma > 0 ? Cell(100 * std::expm1(one.cost.sigma)) : Cell(),
                   std::string(name_of(price.fidelity())), price.source()});
  }
  return table;
}

}  // namespace

model::Book estimate_book(const StepPrices& prices, const EstimateRequest& request) {
  const SteadyLoad& load = request.load;
  const SteadyLatencies found = steady_latencies(prices, load);
  model::Table latencies{.name = "estimate",
                         .title = request.title,
                         .columns = {{.name = "figure"}, {.name = "value"}, {.name = "unit"}}};
  latencies.add_row({"TTFT", found.ttft_ms, "ms"});
  latencies.add_row({"TPOT", found.tpot_ms, "ms"});
  latencies.add_row({"step that decodes", found.decode_step_ms, "ms"});
  latencies.add_row({"step with prompts", found.mixed_step_ms, "ms"});
  latencies.add_row({"steps with prompts", 100 * found.mixed_share, "%"});
  latencies.add_row({"requests", found.requests_per_s, "1/s"});
  const std::array<Chunks, 1> chunks = {
      Chunks{.requests = 1,
             .new_tokens = load.prompt_tokens - load.cached_prefix,
             .cached_tokens = load.cached_prefix}};
  const double cached =
      static_cast<double>(load.prompt_tokens) + 0.5 * static_cast<double>(load.output_tokens);
  model::Book book{.title = request.title};
  book.tables.push_back(std::move(latencies));
  book.tables.push_back(operators_table("decoding", "A step that decodes", prices,
                                        {.decodes = load.concurrency, .decode_cached = cached}));
  book.tables.push_back(operators_table("prompt", "A step that computes one prompt", prices,
                                        {.chunks = chunks, .finished_prompts = 1}));
  return book;
}

}  // namespace assay::plan
