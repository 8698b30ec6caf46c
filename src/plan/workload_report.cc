#include "plan/workload_report.h"

#include <fmt/core.h>

#include <utility>

#include "core/text.h"

namespace assay::plan {
namespace {

using model::Better;
using model::Table;

void add_spread(Table& table, const char* name, const Spread& spread, double factor = 1) {
  table.add_row(
      {name, factor * spread.mean, factor * spread.p50, factor * spread.p90, factor * spread.p99});
}

Table latencies_table(const WorkloadMetrics& metrics, const WorkloadSummary& summary) {
  Table table{.name = "latencies", .title = summary.title, .columns = {{.name = "latency"}}};
  for (const char* figure : {"mean", "p50", "p90", "p99"})
    table.columns.push_back({.name = figure, .unit = "ms", .better = Better::kLower});
  const ServingMetrics& serving = metrics.serving;
  add_spread(table, "TTFT", serving.ttft_ms, summary.ttft_factor);
  add_spread(table, "TPOT", serving.tpot_ms);
  add_spread(table, "time between tokens", serving.between_tokens_ms);
  add_spread(table, "request", serving.latency_ms);
  return table;
}

Table service_table(const WorkloadMetrics& metrics, const WorkloadSummary& summary) {
  constexpr double kMsOfSecond = 1000;
  Table table{.name = "service",
              .title = "What the deployment does",
              .columns = {{.name = "figure"}, {.name = "value"}, {.name = "unit"}}};
  const ServingMetrics& serving = metrics.serving;
  const auto gpus = static_cast<double>(summary.gpus);
  table.add_row({"requests", serving.measured_requests, ""});
  table.add_row({"from the first arrival to the last end", serving.duration_ms / kMsOfSecond, "s"});
  table.add_row({"requests that end", serving.requests_per_s, "1/s"});
  table.add_row({"tokens/s per GPU", serving.output_tokens_per_s / gpus, "1/s"});
  table.add_row({"requests within " + text_of(summary.level), 100 * serving.good_share, "%"});
  table.add_row({"goodput", serving.goodput_per_s, "1/s"});
  table.add_row({"prompt tokens found in prefix caches", 100 * metrics.reused_share, "%"});
  if (metrics.pools) {
    table.add_row({"instances of prompts are busy", 100 * metrics.pools->prefill_busy_share, "%"});
    table.add_row({"instances that decode are busy", 100 * metrics.pools->decode_busy_share, "%"});
    table.add_row({"caches are sent and arrive within", metrics.pools->mean_transfer_ms, "ms"});
  }
  table.add_row({"requests in a step", serving.mean_batch, ""});
  table.add_row({"tokens that the cache of a group holds", metrics.kv_tokens, ""});
  table.add_row({"most of them in use",
                 100 * serving.peak_kv_tokens / static_cast<double>(metrics.kv_tokens), "%"});
  table.add_row({"requests that were thrown out", serving.preemptions, ""});
  return table;
}

Table turns_table(const WorkloadMetrics& metrics, const WorkloadSummary& summary) {
  Table table{.name = "turns",
              .title = "The turns of conversations",
              .columns = {{.name = "turn"},
                          {.name = "requests"},
                          {.name = "prompt", .unit = "tokens"},
                          {.name = "found in caches", .unit = "%", .better = Better::kHigher}}};
  for (const char* figure : {"TTFT mean", "TTFT p50", "TTFT p90", "TTFT p99"})
    table.columns.push_back({.name = figure, .unit = "ms", .better = Better::kLower});
  const double factor = summary.ttft_factor;
  for (const TurnMetrics& turn : metrics.serving.turns) {
    const auto prompts = static_cast<double>(turn.prompt_tokens);
    table.add_row({fmt::format("{}{}", turn.number, turn.and_later ? " and later" : ""),
                   turn.requests, prompts / static_cast<double>(turn.requests),
                   100 * static_cast<double>(turn.found_tokens) / prompts,
                   factor * turn.ttft_ms.mean, factor * turn.ttft_ms.p50, factor * turn.ttft_ms.p90,
                   factor * turn.ttft_ms.p99});
  }
  table.notes.emplace_back(
      "a turn's prompt is all that was said before it; the turns of a client go to the same "
      "instance");
  return table;
}

}  // namespace

std::string text_of(const ServiceLevel& level) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<double>& limit_ms) {
    if (limit_ms) parts.push_back(fmt::format("{} <= {:g} ms", name, *limit_ms));
  };
  add("TTFT", level.ttft_ms);
  add("TPOT", level.tpot_ms);
  add("latency", level.latency_ms);
  return core::join(parts, " and ");
}

std::vector<Table> workload_tables(const WorkloadMetrics& metrics, const WorkloadSummary& summary) {
  std::vector<Table> tables = {latencies_table(metrics, summary), service_table(metrics, summary)};
  if (!metrics.serving.turns.empty()) tables.push_back(turns_table(metrics, summary));
  return tables;
}

}  // namespace assay::plan
