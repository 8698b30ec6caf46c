#include "plan/search/search_report.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace assay::plan {
namespace {

using model::Better;
using model::Table;

constexpr double kBytesPerGb = 1e9;

Table candidates_table(std::string name,
                       std::string title,
                       const std::vector<Candidate>& candidates,
                       bool names_engines) {
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
  if (names_engines) table.columns.insert(table.columns.begin(), {.name = "engine"});
  for (const Candidate& one : candidates) {
    const auto copies = static_cast<double>(one.copies);
    std::vector<model::Cell> row;
    if (names_engines) row.emplace_back(std::string(name_of(one.engine)));
    row.insert(row.end(), {one.is_split() ? "disagg" : "agg", one.text(), one.copies,
                           one.concurrency * one.copies, one.cluster_tokens_per_s_per_gpu,
                           one.tokens_per_s_per_user, one.requests_per_s * copies, one.ttft_ms,
                           one.tpot_ms, one.memory_bytes / kBytesPerGb});
    table.add_row(std::move(row));
  }
  return table;
}

std::string picks_title(const SearchRequest& request, const Picks& picks) {
  const std::string limits = fmt::format("TTFT <= {:g} ms and TPOT <= {:g} ms",
                                         request.ttft_limit_ms, request.tpot_limit_ms);
  if (picks.meet) return "The best of each worker with " + limits;
  return "No deployment has " + limits + "; this comes closest";
}

bool has_several_engines(const SearchResult& result) {
  std::set<Engine> engines;
  for (const Candidate& one : result.candidates)
    engines.insert(one.engine);
  for (const Refused& one : result.refused)
    engines.insert(one.engine);
  return engines.size() > 1;
}

}  // namespace

Table refused_table(const std::vector<Refused>& refused, bool names_engines) {
  std::map<std::string, std::pair<std::string, std::int64_t>> reasons;
  for (const Refused& one : refused) {
    auto& [first, count] = reasons[one.reason];
    if (count++ > 0) continue;
    first = names_engines ? fmt::format("{}: {}", name_of(one.engine), one.worker.text())
                          : one.worker.text();
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
  const bool names_engines = has_several_engines(result);
  book.tables.push_back(
      candidates_table("best", picks_title(request, picks), picks.best, names_engines));
  book.tables.push_back(candidates_table("frontier", "The frontier of throughput and speed",
                                         frontier(result.candidates), names_engines));
  if (request.scheduler == Scheduler::kSimulation) {
    book.tables.front().notes.push_back(
        fmt::format("{} of {} priced deployments decide and were simulated",
                    result.candidates.size(), result.priced));
  }
  for (const std::string& note : result.notes)
    book.tables.front().notes.push_back(note);
  if (!result.refused.empty()) book.tables.push_back(refused_table(result.refused, names_engines));
  return book;
}

}  // namespace assay::plan
