#include "plan/search/workload_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "plan/price/step_prices.h"
#include "plan/search/search_report.h"
#include "plan/workload_report.h"

namespace assay::plan {
namespace {

core::Result<WorkloadCandidate> serve_by(const Worker& worker,
                                         const serving::Model& model,
                                         const SearchRequest& request,
                                         const Workload& workload,
                                         const WorkloadLimits& limits,
                                         Tables& tables) {
  const ServedWorker served{.engine = request.engine,
                            .deployment = deployment_of(model, worker, request.precision),
                            .groups = worker.dp,
                            .memory = request.memory(worker.gpus())};
  const StepPrices prices = ASSAY_TRY(StepPrices::bind(model, served.deployment, tables));
  WorkloadCandidate made{.worker = worker, .copies = request.gpus / worker.gpus()};
  made.metrics = ASSAY_TRY(serve_workload(
      model, served, CalibratedCost(prices, request.calibration), workload,
      {.copies = made.copies, .level = before_calibration(limits.level, request.calibration)}));
  made.meets = made.metrics.serving.good_share >= limits.good_share;
  return made;
}

bool comes_before(const WorkloadCandidate& a, const WorkloadCandidate& b) {
  const auto rank = [](const WorkloadCandidate& one) {
    const ServingMetrics& serving = one.metrics.serving;
    return std::make_tuple(!one.meets, -serving.good_share, serving.latency_ms.p90);
  };
  return rank(a) < rank(b);
}

core::Error no_worker_left(const std::string& model, const std::vector<Refused>& refused) {
  std::set<std::string> told;
  std::vector<std::string> lines;
  for (const Refused& one : refused) {
    if (told.insert(one.reason).second) lines.push_back(one.worker.text() + ": " + one.reason);
  }
  return core::Error{
      fmt::format("no deployment of {} serves the workload: {}", model, core::join(lines, "; "))};
}

std::string title_of(const WorkloadSearchResult& result, const WorkloadLimits& limits) {
  const std::string wanted =
      fmt::format("{:g} % of requests with {}", 100 * limits.good_share, text_of(limits.level));
  if (result.candidates.front().meets) return "The best with at least " + wanted;
  return "No deployment has " + wanted + "; these come closest";
}

}  // namespace

core::Result<WorkloadSearchResult> search_workload(const serving::Model& model,
                                                   const SearchRequest& request,
                                                   const Workload& workload,
                                                   const WorkloadLimits& limits,
                                                   Tables& tables) {
  WorkloadSearchResult result;
  const std::int64_t most = std::min(request.gpus, request.gpus_per_node);
  Workers workers = workers_of(model, request.engine, request.precision, most);
  for (ExcludedWorker& excluded : workers.excluded)
    result.refused.push_back({excluded.worker, std::move(excluded.reason)});
  for (const Worker& worker : workers.possible) {
    auto made = serve_by(worker, model, request, workload, limits, tables);
    if (made.ok()) {
      result.candidates.push_back(std::move(made).value());
    } else {
      result.refused.push_back({worker, made.error().message});
    }
  }
  if (result.candidates.empty()) return no_worker_left(model.name, result.refused);
  std::stable_sort(result.candidates.begin(), result.candidates.end(), comes_before);
  return result;
}

model::Book workload_search_book(const std::string& title,
                                 const WorkloadSearchResult& result,
                                 const WorkloadLimits& limits,
                                 const Calibration& calibration,
                                 std::size_t most) {
  using model::Better;
  model::Table table{.name = "best",
                     .title = title_of(result, limits),
                     .columns = {{.name = "worker"},
                                 {.name = "copies"},
                                 {.name = "good", .unit = "%", .better = Better::kHigher},
                                 {.name = "goodput", .unit = "1/s", .better = Better::kHigher},
                                 {.name = "tokens/s per GPU", .better = Better::kHigher}}};
  for (const char* latency : {"TTFT", "TPOT"}) {
    for (const char* part : {"p50", "p90", "p99"})
      table.columns.push_back(
          {.name = fmt::format("{} {}", latency, part), .unit = "ms", .better = Better::kLower});
  }
  table.columns.push_back({.name = "reused", .unit = "%", .better = Better::kHigher});
  for (std::size_t i = 0; i < std::min(most, result.candidates.size()); ++i) {
    const WorkloadCandidate& one = result.candidates[i];
    const ServingMetrics& serving = one.metrics.serving;
    const double factor = calibration.ttft_factor;
    table.add_row({one.worker.text(), one.copies, 100 * serving.good_share, serving.goodput_per_s,
                   serving.output_tokens_per_s / static_cast<double>(one.gpus()),
                   factor * serving.ttft_ms.p50, factor * serving.ttft_ms.p90,
                   factor * serving.ttft_ms.p99, serving.tpot_ms.p50, serving.tpot_ms.p90,
                   serving.tpot_ms.p99, 100 * one.metrics.reused_share});
  }
  table.notes.emplace_back(
      "good: requests that keep the limits, each by itself; reused: prompt tokens that prefix "
      "caches had");
  model::Book book{.title = title};
  book.tables.push_back(std::move(table));
  if (!result.refused.empty()) book.tables.push_back(refused_table(result.refused));
  return book;
}

}  // namespace assay::plan
