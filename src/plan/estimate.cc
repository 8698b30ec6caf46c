#include "plan/estimate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "plan/energy.h"
#include "plan/uncertainty/error_bars.h"

namespace assay::plan {
namespace {

using model::Cell;

// Layers of several kinds repeat operators, which readers want as one.
struct Row {
  const OperatorPrice* price = nullptr;
  std::int64_t launches = 0;
  double ms = 0;
  double sigma_ms = 0;
  Work work = {};
};

std::vector<Row> rows_of(const std::vector<OperatorCost>& costs) {
  std::vector<Row> rows;
  for (const OperatorCost& one : costs) {
    auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.price->use().role == one.price->use().role &&
             row.price->source() == one.price->source();
    });
    if (same == rows.end()) same = rows.insert(rows.end(), Row{.price = one.price});
    same->launches += one.price->use().count;
    same->ms += one.cost.ms;
    same->sigma_ms += one.cost.ms * std::expm1(one.cost.sigma);
    const Work work = one.price->work(one.amounts);
    same->work.bytes += work.bytes;
    same->work.flops += work.flops;
  }
  return rows;
}

Cell positive(double value) {
  return value > 0 ? Cell(value) : Cell();
}

}  // namespace

model::Table operators_table(const char* name,
                             const std::string& title,
                             const StepPrices& prices,
                             const Step& step) {
  constexpr double kGiga = 1e9;
  model::Table table{.name = name,
                     .title = title,
                     .columns = {{.name = "operator"},
                                 {.name = "launches"},
                                 {.name = "time", .unit = "ms", .better = model::Better::kLower},
                                 {.name = "share", .unit = "%"},
                                 {.name = "uncertainty", .unit = "%"},
                                 {.name = "moved", .unit = "GB"},
                                 {.name = "computed", .unit = "GFLOP"},
                                 {.name = "fidelity"},
                                 {.name = "source"}}};
  const std::vector<Row> rows = rows_of(prices.operators(step));
  double sum = 0;
  for (const Row& row : rows)
    sum += row.ms;
  for (const Row& row : rows) {
    table.add_row({row.price->use().role, row.launches, row.ms, 100 * row.ms / sum,
                   positive(100 * row.sigma_ms / row.ms), positive(row.work.bytes / kGiga),
                   positive(row.work.flops / kGiga), std::string(name_of(row.price->fidelity())),
                   row.price->source()});
  }
  return table;
}

std::vector<model::Table> operators_tables(const StepPrices& prices, const SteadyLoad& load) {
  const std::array<Chunks, 1> chunks = {
      Chunks{.requests = 1,
             .new_tokens = load.prompt_tokens - load.cached_prefix,
             .cached_tokens = load.cached_prefix}};
  const double cached =
      static_cast<double>(load.prompt_tokens) + 0.5 * static_cast<double>(load.output_tokens);
  return {
      operators_table("decoding", "A step that decodes", prices,
                      {.decodes = load.concurrency, .decode_cached = cached}),
      operators_table("prompt",
                      load.groups_of_experts > 1 ? "A step that computes one prompt in each group"
                                                 : "A step that computes one prompt",
                      prices, {.chunks = chunks, .finished_prompts = 1})};
}

namespace {

std::string pipeline_note(const EstimateRequest& request, const SteadyLoad& load) {
  constexpr double kGiga = 1e9;
  const Pipeline& pipeline = request.pipeline;
  const bool is_within = pipeline.stages <= pipeline.stages_per_node;
  const StageLink& link = is_within ? pipeline.within : pipeline.between;
  return fmt::format(
      "{} batches of {} requests follow each other through {} stages, {}; tokens are sent at {:g} "
      "GB/s {}, {}",
      pipeline.stages, load.concurrency, pipeline.stages,
      pipeline.excess > 1 ? "of which the longest has more layers than its share" : "all as long",
      link.bytes_per_s / kGiga, is_within ? "within a node" : "between nodes",
      link.is_measured ? "as a message between 2 GPUs reached"
                       : "the link's own figure and not a measurement");
}

void add_figure(
    model::Table& table, const char* name, double value, const char* unit, const ErrorBar& bar) {
  const Interval ends = bar.of(value);
  table.add_row({name, value, ends.low, ends.high, unit});
}

model::Table latencies_table(const StepPrices& prices,
                             const EstimateRequest& request,
                             const SteadyLoad& load) {
  const StagedCost cost(prices, request.pipeline);
  const SteadyLatencies found =
      steady_latencies_of(request.worker, CalibratedCost(cost, request.calibration), request.loop);
  const double ttft_ms = request.calibration.ttft_factor * found.ttft_ms;
  const LoadParts parts = parts_of_load(costs_of_load(prices, load));
  const LatencyBars bars = latency_bars(parts, request.calibration_errors);
  const ErrorBar rate = rate_bar(bars, ttft_ms, found.tpot_ms, load.output_tokens);
  const double tokens_per_s = found.requests_per_s * static_cast<double>(load.output_tokens) /
                              static_cast<double>(request.gpus_of_stage * load.groups);
  model::Table table{.name = "estimate",
                     .title = request.title,
                     .columns = {{.name = "figure"},
                                 {.name = "value"},
                                 {.name = "low"},
                                 {.name = "high"},
                                 {.name = "unit"}}};
  table.notes.emplace_back("between low and high with a chance of 80 %");
  add_note(bound_note(parts.mean), table);
  if (request.benchmark_ttft_ms)
    table.notes.emplace_back(
        "a benchmark sends ten requests for each in flight, the first all at once; its TTFT is "
        "simulated, and measurements are compared with it");
  table.add_row({"TTFT", ttft_ms, {}, {}, "ms"});
  if (request.benchmark_ttft_ms)
    add_figure(table, "TTFT of a benchmark", *request.benchmark_ttft_ms, "ms", bars.ttft);
  if (load.output_tokens > 1) add_figure(table, "TPOT", found.tpot_ms, "ms", bars.tpot);
  add_figure(table, "tokens per GPU", tokens_per_s, "1/s", rate);
  add_figure(table, "requests", found.requests_per_s, "1/s", rate);
  const auto add = [&](const char* name, double value, const char* unit) {
    table.add_row({name, value, {}, {}, unit});
  };
  add("step that decodes", found.decode_step_ms, "ms");
  add("step with prompts", found.mixed_step_ms, "ms");
  add("steps with prompts", 100 * found.mixed_share, "%");
  if (load.speculation.tokens > 0) {
    add("drafted tokens", static_cast<double>(load.speculation.tokens), "of a request");
    add("tokens per step", found.decode_step_tokens, "of a request");
    table.notes.push_back(speculation_note(load.speculation));
  }
  if (request.pipeline.stages > 1) {
    add("tokens from stage to stage", cost.transfer_ms(load.concurrency), "ms");
    table.notes.push_back(pipeline_note(request, load));
  }
  return table;
}

}  // namespace

model::Book estimate_book(const StepPrices& prices, const EstimateRequest& request) {
  model::Book book{.title = request.title};
  const SteadyLoad load = steady_load_of(request.worker, request.loop);
  book.tables.push_back(latencies_table(prices, request, load));
  if (!request.memory.columns.empty()) book.tables.push_back(request.memory);
  add_energy(energy_of_load(prices, costs_of_load(prices, load), load, request.gpus_of_stage),
             book);
  for (model::Table& table : operators_tables(prices, load))
    book.tables.push_back(std::move(table));
  return book;
}

}  // namespace assay::plan
