#include "plan/search/search_page.h"

#include <fmt/core.h>

#include "plan/search/search_figures.h"
#include "plan/search/search_report.h"

namespace assay::plan {
namespace {

constexpr const char* kLimits = "Limits are kept by";
constexpr const char* kByPrediction = "the prediction";
constexpr const char* kByBar = "TPOT's whole error bar";

std::vector<report::PageLine> lines_of(const std::vector<std::string>& texts,
                                       const std::vector<std::string>& cards = {}) {
  std::vector<report::PageLine> lines;
  for (std::size_t i = 0; i < texts.size(); ++i)
    lines.push_back({.text = texts[i], .card = i < cards.size() ? cards[i] : ""});
  return lines;
}

std::string bounds_title(const Picks& picks) {
  const StepParts& parts = picks.best.front().parts;
  return fmt::format("Most of a step of the {} deployment goes to {} ({:.0f} %)",
                     picks.meet ? "best" : "closest", largest_part(parts), largest_percent(parts));
}

std::string frontier_title(const std::vector<Candidate>& best) {
  const Candidate& most = best.back();
  const Candidate& fastest = best.front();
  return fmt::format("From {:.0f} tokens/s per GPU at {:.0f} for each user to {:.0f} at {:.0f}",
                     most.cluster_tokens_per_s_per_gpu, most.tokens_per_s_per_user,
                     fastest.cluster_tokens_per_s_per_gpu, fastest.tokens_per_s_per_user);
}

}  // namespace

SearchPage::SearchPage(const SearchPageRequest& made_for,
                       const SearchResult& result,
                       const SearchRequest& request,
                       const Picks& picks)
    : all_(candidates_table("deployments",
                            "All deployments",
                            result.candidates,
                            BarColumns::kPairs,
                            told_columns(result, request))),
      refused_(refused_table(result.refused, has_several_engines(result))) {
  const SearchAnswer answer = answer_of(made_for.subject, result, request, picks);
  page_.title = made_for.title;
  page_.answer.sentence = answer.sentence;
  page_.answer.compared = fmt::format(
      "{} of {} priced deployments {}; figures in brackets hold the measurement with a chance "
      "of 80 %",
      result.candidates.size(), result.priced,
      request.scheduler == Scheduler::kSimulation ? "decide and were simulated" : "were kept");
  page_.answer.why = lines_of(answer.why, {"bounds", "limits", "deployments"});
  page_.answer.next = lines_of(answer.next);
  page_.answer.warnings = lines_of(answer.warnings);
  page_.provenance = made_for.provenance;
  add_charts(result, request, picks);
  add_tables(energy_note(result));
}

void SearchPage::add_charts(const SearchResult& result,
                            const SearchRequest& request,
                            const Picks& picks) {
  const std::vector<Candidate> best = frontier(result.candidates);
  const std::string chance = fmt::format("a chance of {:g} %", 100 * request.confidence);
  page_.choices = {{.name = kLimits, .values = {chance, kByPrediction, kByBar}}};
  page_.cards.push_back(
      {.id = "frontier",
       .title = frontier_title(best),
       .content = frontier_figure(result, picks, page_.title),
       .notes = {"bars: 80 % intervals of the frontier, whose deployments no other one "
                 "beats in both"}});
  const auto add_map = [&](const char* id, const std::string& value, Kept kept,
                           const std::string& what) {
    page_.cards.push_back(
        {.id = id,
         .title = fmt::format("The most tokens/s per GPU at each pair of limits, {}", what),
         .content = limits_map(result, request, kept),
         .notes = {"hatched: nothing that was found keeps both limits"},
         .when = {{kLimits, value}}});
  };
  add_map("limits", chance, Kept::kBySearch, "kept with " + chance);
  add_map("limits-predicted", kByPrediction, Kept::kByPrediction, "as predicted");
  add_map("limits-bar", kByBar, Kept::kByErrorBar, "TPOT kept to the end of its error bar");
  report::CompositionChart bounds = bounds_chart(result, picks);
  if (bounds.bars.empty()) return;
  page_.cards.push_back({.id = "bounds",
                         .title = bounds_title(picks),
                         .content = std::move(bounds),
                         .notes = {"a mean step, by what its time goes to; behind the worker: "
                                   "requests in flight on a copy"}});
}

void SearchPage::add_tables(const std::string& of_energy) {
  std::vector<std::string> notes = all_.notes;
  notes.push_back(of_energy);
  page_.cards.push_back(
      {.id = "deployments",
       .title = fmt::format("All {} deployments that were decided", all_.row_count()),
       .content = report::TableCard{.table = all_, .shown = report::TableCard::Shown::kOpen},
       .notes = std::move(notes)});
  if (refused_.row_count() == 0) return;
  page_.cards.push_back({.id = "refused",
                         .title = "Workers that are left out",
                         .content = report::TableCard{.table = refused_}});
}

}  // namespace assay::plan
