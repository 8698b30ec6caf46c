#include "plan/search/search_report.h"

#include <fmt/core.h>

#include <map>
#include <utility>

namespace assay::plan {
namespace {

using model::Better;
using model::Table;

constexpr double kBytesPerGb = 1e9;

Table candidates_table(std::string name,
                       std::string title,
                       const std::vector<Candidate>& candidates) {
  Table table{.name = std::move(name),
              .title = std::move(title),
              .columns = {{.name = "mode"},
                          {.name = "one copy"},
                          {.name = "copies"},
                          {.name = "concurrency"},
                          {.name = "tokens/s per GPU", .better = Better::kHigher},
                          {.name = "tokens/s per user", .better = Better::kHigher},
                          {.name = "requests", .unit = "1/s", .better = Better::kHigher},
                          {.name = "TTFT", .unit = "ms", .better = Better::kLower},
                          {.name = "TPOT", .unit = "ms", .better = Better::kLower},
                          {.name = "memory", .unit = "GB"}}};
  for (const Candidate& one : candidates) {
    const auto copies = static_cast<double>(one.copies);
    table.add_row({one.is_split() ? "disagg" : "agg", one.text(), one.copies,
                   one.concurrency * one.copies, one.cluster_tokens_per_s_per_gpu,
                   one.tokens_per_s_per_user, one.requests_per_s * copies, one.ttft_ms, one.tpot_ms,
                   one.memory_bytes / kBytesPerGb});
  }
  return table;
}

std::string picks_title(const SearchRequest& request, const Picks& picks) {
  const std::string limits = fmt::format("TTFT <= {:g} ms and TPOT <= {:g} ms",
                                         request.ttft_limit_ms, request.tpot_limit_ms);
  if (picks.meet) return "The best of each worker with " + limits;
  return "No deployment has " + limits + "; this comes closest";
}

}  // namespace

Table refused_table(const std::vector<Refused>& refused) {
  std::map<std::string, std::pair<std::string, std::int64_t>> reasons;
  for (const Refused& one : refused) {
    auto& [first, count] = reasons[one.reason];
    if (count++ == 0) first = one.worker.text();
  }
  Table table{.name = "left out",
              .title = "Workers that are left out",
              .columns = {{.name = "workers"}, {.name = "the first"}, {.name = "why"}}};
  for (const auto& [reason, workers] : reasons)
    table.add_row({workers.second, workers.first, reason});
  return table;
}

model::Book search_book(const std::string& title,
                        const SearchResult& result,
                        const SearchRequest& request,
                        const Picks& picks) {
  model::Book book{.title = title};
  book.tables.push_back(candidates_table("best", picks_title(request, picks), picks.best));
  book.tables.push_back(candidates_table("frontier", "The frontier of throughput and speed",
                                         frontier(result.candidates)));
  if (request.scheduler == Scheduler::kSimulation) {
    book.tables.front().notes.push_back(
        fmt::format("{} of {} priced deployments are near the frontier and were simulated",
                    result.candidates.size(), result.priced));
  }
  for (const std::string& note : result.notes)
    book.tables.front().notes.push_back(note);
  if (!result.refused.empty()) book.tables.push_back(refused_table(result.refused));
  return book;
}

}  // namespace assay::plan
