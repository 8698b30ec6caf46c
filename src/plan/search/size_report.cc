#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "plan/search/search_report.h"
#include "plan/search/size.h"

namespace assay::plan {
namespace {

using model::Better;

std::string load_text(const TargetLoad& load) {
  if (load.concurrency > 0) return fmt::format("{} requests in flight", load.concurrency);
  return fmt::format("{:g} requests/s", load.requests_per_s);
}

std::string size_title(const SizeRequest& size,
                       const SearchRequest& request,
                       const SizeResult& result) {
  const std::string limits = limits_text(request);
  const std::string load = load_text(size.load);
  if (!result.meets_limits) {
    return fmt::format("No deployment has {}; this comes closest, and would carry {}", limits,
                       load);
  }
  if (!result.meets_load)
    return fmt::format("{} GPUs do not carry {} with {}; these would", size.most_gpus, load,
                       limits);
  return fmt::format("The fewest GPUs that carry {} with {}, of each worker", load, limits);
}

}  // namespace

model::Book size_book(const std::string& title,
                      const SizeRequest& size,
                      const SearchRequest& request,
                      const SizeResult& result) {
  model::Table table{.name = "size",
                     .title = size_title(size, request, result),
                     .columns = {{.name = "mode"},
                                 {.name = "one copy"},
                                 {.name = "copies"},
                                 {.name = "GPUs", .better = Better::kLower},
                                 {.name = "capacity", .unit = "requests/s"},
                                 {.name = "concurrency"},
                                 {.name = "tokens/s per GPU", .better = Better::kHigher},
                                 {.name = "tokens/s per user", .better = Better::kHigher},
                                 {.name = "TTFT", .unit = "ms", .better = Better::kLower},
                                 {.name = "TPOT", .unit = "ms", .better = Better::kLower},
                                 {.name = "memory", .unit = "GB"}}};
  if (size.names_engines) table.columns.insert(table.columns.begin(), {.name = "engine"});
  constexpr double kGiga = 1e9;
  const auto of_further_tokens = [&](double figure) {
    return request.has_tpot() ? model::Cell(figure) : model::Cell();
  };
  for (const Sized& one : result.best) {
    const Candidate& of = one.candidate;
    std::vector<model::Cell> row = {of.is_split() ? "disagg" : "agg",
                                    of.text(),
                                    one.copies,
                                    one.gpus(),
                                    of.requests_per_s * static_cast<double>(one.copies),
                                    of.concurrency * one.copies,
                                    of.tokens_per_s_per_gpu,
                                    of_further_tokens(of.tokens_per_s_per_user),
                                    of.ttft_ms,
                                    of_further_tokens(of.tpot_ms),
                                    of.memory_bytes / kGiga};
    if (size.names_engines) row.insert(row.begin(), std::string(name_of(of.engine)));
    table.add_row(std::move(row));
  }
  const bool is_simulated = request.scheduler == Scheduler::kSimulation;
  table.notes.push_back(lengths_note(request));
  table.notes.push_back(confidence_note());
  table.notes.emplace_back(
      "capacity, concurrency and latencies are those of copies as full as they are here; at the "
      "load that is asked for none is fuller");
  if (result.decided > 0) {
    table.notes.push_back(fmt::format(
        "{} aggregated deployments were {}; of each that is listed, one copy less breaks the "
        "limits, or does not carry the load",
        result.decided, is_simulated ? "simulated" : "priced by the closed form"));
  }
  if (result.searched.priced > 0) {
    table.notes.push_back(
        is_simulated
            ? fmt::format("of {} disaggregated deployments that were priced {} were simulated: "
                          "others might need fewer GPUs",
                          result.searched.priced, result.searched.candidates.size())
            : fmt::format("{} disaggregated deployments were priced by the closed form",
                          result.searched.priced));
  }
  if (!result.best.empty()) add_note(bound_note(result.best.front().candidate.parts), table);
  for (const std::string& note : result.notes)
    table.notes.push_back(note);
  for (const std::string& note : result.searched.notes)
    table.notes.push_back(note);
  model::Book book{.title = title};
  book.tables.push_back(std::move(table));
  return book;
}

}  // namespace assay::plan
