#include "plan/search/public_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "plan/engine.h"

namespace assay::plan {
namespace {

using model::Cell;
using model::Table;

constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

constexpr std::array kColumns = {"rank",
                                 "frontier",
                                 "model",
                                 "isl",
                                 "osl",
                                 "prefix",
                                 "concurrency",
                                 "request_rate",
                                 "bs",
                                 "global_bs",
                                 "ttft",
                                 "tpot",
                                 "request_latency",
                                 "seq/s",
                                 "seq/s/gpu",
                                 "tokens/s",
                                 "tokens/s/gpu",
                                 "tokens/s/user",
                                 "num_total_gpus",
                                 "replicas",
                                 "tp",
                                 "pp",
                                 "dp",
                                 "moe_tp",
                                 "moe_ep",
                                 "parallel",
                                 "(p)bs",
                                 "(p)global_bs",
                                 "(p)workers",
                                 "(p)tp",
                                 "(p)pp",
                                 "(p)dp",
                                 "(p)moe_tp",
                                 "(p)moe_ep",
                                 "(p)parallel",
                                 "(p)system",
                                 "(d)bs",
                                 "(d)global_bs",
                                 "(d)workers",
                                 "(d)tp",
                                 "(d)pp",
                                 "(d)dp",
                                 "(d)moe_tp",
                                 "(d)moe_ep",
                                 "(d)parallel",
                                 "(d)system",
                                 "gemm",
                                 "kvcache",
                                 "moe",
                                 "memory",
                                 "backend",
                                 "version",
                                 "system",
                                 "power_w",
                                 "tokens/s/gpu_cluster",
                                 "tokens/s/gpu_cluster_low",
                                 "tokens/s/gpu_cluster_high",
                                 "tpot_low",
                                 "tpot_high"};

using Row = std::map<std::string, Cell>;

std::string parallel_of(const Worker& worker, bool has_experts) {
  std::string text = fmt::format("tp{}pp{}", worker.tp, worker.pp);
  if (has_experts) text += fmt::format("dp{}etp{}ep{}", worker.dp, worker.moe_tp, worker.moe_ep);
  return text;
}

void add_worker(Row& row, const std::string& before, const Worker& worker, bool has_experts) {
  row[before + "tp"] = worker.tp;
  row[before + "pp"] = worker.pp;
  row[before + "dp"] = worker.dp;
  row[before + "moe_tp"] = worker.moe_tp;
  row[before + "moe_ep"] = worker.moe_ep;
  row[before + "parallel"] = parallel_of(worker, has_experts);
}

void add_batch(Row& row, const std::string& before, std::int64_t batch, const Worker& worker) {
  row[before + "bs"] = batch;
  row[before + "global_bs"] = batch * worker.dp * worker.pp;
}

void add_pools(Row& row, const PublicSubject& subject, const Candidate& one) {
  const bool has_experts = subject.model.has_experts();
  add_batch(row, "(p)", one.split.prefill_batch, one.split.prefill);
  add_batch(row, "(d)", one.split.decode_batch, one.worker);
  row["(p)workers"] = one.split.prefill_instances;
  row["(d)workers"] = one.split.decode_instances;
  add_worker(row, "(p)", one.split.prefill, has_experts);
  add_worker(row, "(d)", one.worker, has_experts);
  row["(p)system"] = subject.system;
  row["(d)system"] = subject.decode_system.empty() ? subject.system : subject.decode_system;
}

void add_bar(Row& row, const std::string& column, double value, const ErrorBar& bar) {
  if (!bar.is_known()) return;
  row[column + "_low"] = bar.of(value).low;
  row[column + "_high"] = bar.of(value).high;
}

void add_figures(Row& row, const SearchRequest& request, const Candidate& one) {
  const auto gpus = static_cast<double>(one.gpus());
  row["concurrency"] = one.concurrency;
  row["request_rate"] = one.requests_per_s;
  row["ttft"] = one.ttft_ms;
  if (request.has_tpot()) row["tpot"] = one.tpot_ms;
  row["request_latency"] = request_ms_of(one.ttft_ms, one.tpot_ms, request.output_tokens);
  row["seq/s"] = one.requests_per_s;
  row["seq/s/gpu"] = one.requests_per_s / gpus;
  row["tokens/s"] = one.tokens_per_s_per_gpu * gpus;
  row["tokens/s/gpu"] = one.tokens_per_s_per_gpu;
  if (request.has_tpot()) row["tokens/s/user"] = one.tokens_per_s_per_user;
  row["num_total_gpus"] = one.gpus();
  row["replicas"] = one.copies;
  row["memory"] = one.memory_bytes / kBytesPerGib;
  if (one.has_energy()) row["power_w"] = one.tokens_per_s_per_gpu / one.tokens_per_joule;
  row["tokens/s/gpu_cluster"] = one.cluster_tokens_per_s_per_gpu;
  add_bar(row, "tokens/s/gpu_cluster", one.cluster_tokens_per_s_per_gpu, one.rate_bar);
  if (request.has_tpot()) add_bar(row, "tpot", one.tpot_ms, one.bars.tpot);
}

Row row_of(const PublicSubject& subject, const SearchRequest& request, const Candidate& one) {
  const serving::Precision precision = served_precision(one.engine, subject.model, subject.cache);
  Row row = {{"model", subject.model.name},
             {"isl", request.prompt_tokens},
             {"osl", request.output_tokens},
             {"prefix", request.cached_prefix},
             {"gemm", std::string(name_of(precision.linear))},
             {"kvcache", std::string(name_of(precision.cache))},
             {"backend", std::string(name_of(one.engine))},
             {"version", subject.version},
             {"system", subject.system}};
  if (subject.model.has_experts()) row["moe"] = std::string(name_of(precision.experts));
  add_figures(row, request, one);
  if (one.is_split()) {
    add_pools(row, subject, one);
  } else {
    add_batch(row, "", one.concurrency / (one.worker.dp * one.worker.pp), one.worker);
    add_worker(row, "", one.worker, subject.model.has_experts());
  }
  return row;
}

bool is_same(const Candidate& a, const Candidate& b) {
  return a.is_same_copy(b) && a.concurrency == b.concurrency &&
         a.split.prefill_batch == b.split.prefill_batch &&
         a.split.decode_batch == b.split.decode_batch;
}

std::size_t place_of(const std::vector<Candidate>& all, const Candidate& one) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Candidate& other) { return is_same(one, other); });
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace

Table public_table(const PublicSubject& subject,
                   const SearchResult& result,
                   const SearchRequest& request,
                   const Picks& picks) {
  Table table{.name = "deployments", .title = "All deployments that were decided", .columns = {}};
  for (const char* column : kColumns)
    table.columns.push_back({.name = column});
  const std::vector<Candidate> best = frontier(result.candidates);
  std::vector<std::pair<std::size_t, const Candidate*>> ranked;
  for (const Candidate& one : result.candidates)
    ranked.emplace_back(place_of(picks.best, one), &one);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [place, one] : ranked) {
    Row row = row_of(subject, request, *one);
    if (picks.meet && place < picks.best.size()) row["rank"] = static_cast<std::int64_t>(place + 1);
    row["frontier"] = std::string(place_of(best, *one) < best.size() ? "yes" : "no");
    std::vector<Cell> cells;
    for (const char* column : kColumns)
      cells.push_back(row[column]);
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace assay::plan
