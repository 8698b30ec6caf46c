#include "trace/compare/stragglers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::trace {
namespace {

using Settings = std::span<const SettingFigures>;

// A rank is a stable straggler if it leads in more than this share of the halves of runs.
constexpr double kStableShare = 0.5;
// Less than this share of what the others wait is no cause of it, and less than half of it leaves
// most without a cause.
constexpr double kLeastSharePercent = 1;
constexpr double kMostSharePercent = 50;
// A time that is shorter is that of no kernel and no call.
constexpr double kLeastCauseMs = 0.001;

// Returns the ranks that come last most often in some collectives.
std::set<int> leaders(std::span<const Arrival> arrivals) {
  std::map<int, int> counts;
  int most = 0;
  for (const Arrival& arrival : arrivals)
    if (arrival.last_rank) most = std::max(most, ++counts[*arrival.last_rank]);
  std::set<int> result;
  for (const auto& [rank, count] : counts)
    if (count == most) result.insert(rank);
  return result;
}

// The values of each rank beyond the middle one.
std::map<int, double> beyond_the_middle(const std::map<int, double>& values) {
  std::vector<double> all;
  for (const auto& [rank, value] : values)
    all.push_back(value);
  const double middle = core::median(all);
  std::map<int, double> result;
  for (const auto& [rank, value] : values)
    result[rank] = value - middle;
  return result;
}

std::map<int, double> computed_ms(const SettingFigures& setting) {
  std::map<int, double> result;
  for (const auto& [rank, types] : by_rank(setting.steady, Repetition::kRun))
    if (const auto found = types.find("computation_time"); found != types.end())
      result[rank] = core::mean(found->second.time_ms);
  return result;
}

double value_or_nan(const std::map<int, double>& values, int rank) {
  const auto found = values.find(rank);
  return found == values.end() ? kNaN : found->second;
}

std::vector<RankArrivals> arrivals_of(const SettingFigures& setting, std::size_t position) {
  std::map<int, RankArrivals> ranks;
  std::int64_t halves = 0;
  for (const RunArrivals& run : setting.arrivals) {
    const std::span<const Arrival> all = run.arrivals;
    for (const Arrival& arrival : all) {
      for (const int rank : arrival.ranks)
        ++ranks[rank].collectives;
      if (!arrival.last_rank) continue;
      RankArrivals& last = ranks[*arrival.last_rank];
      ++last.last;
      last.others_wait_ms += arrival.others_wait_us / 1000;
    }
    for (const auto& half : {all.first(all.size() / 2), all.subspan(all.size() / 2)}) {
      if (half.empty()) continue;
      ++halves;
      for (const int rank : leaders(half))
        ++ranks[rank].halves_led;
    }
  }
  const auto compute = beyond_the_middle(computed_ms(setting));
  const auto host = beyond_the_middle(setting.host_ms);
  std::vector<RankArrivals> result;
  for (auto& [rank, arrivals] : ranks) {
    arrivals.setting = position;
    arrivals.rank = rank;
    arrivals.halves = halves;
    arrivals.others_wait_ms =
        setting.steps > 0 ? arrivals.others_wait_ms / static_cast<double>(setting.steps) : kNaN;
    arrivals.compute_ms = value_or_nan(compute, rank);
    arrivals.host_ms = value_or_nan(host, rank);
    result.push_back(arrivals);
  }
  std::stable_sort(result.begin(), result.end(), [](const RankArrivals& a, const RankArrivals& b) {
    return a.last_percent() > b.last_percent();
  });
  return result;
}

// Two ranks are last half of the time each even by chance; more ranks less often.
bool is_stable(const RankArrivals& rank, std::size_t ranks) {
  return ranks > 1 && rank.halves > 1 &&
         static_cast<double>(rank.halves_led) > kStableShare * static_cast<double>(rank.halves) &&
         rank.last_percent() > 100.0 / static_cast<double>(ranks);
}

// Returns ", 12 % of what the others wait"; "" where that is not known.
std::string share_in_words(double percent) {
  if (!std::isfinite(percent)) return "";
  const std::string share = percent < 99.5 ? fmt::format("{:.2g} %", percent) : "all";
  return fmt::format(", {} of what the others wait", share);
}

}  // namespace

std::vector<RankArrivals> rank_arrivals(Settings settings) {
  std::vector<RankArrivals> result;
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (const RankArrivals& rank : arrivals_of(settings[i], i))
      result.push_back(rank);
  return result;
}

std::string why_last(const RankArrivals& rank) {
  const char* nothing = "nothing that the traces show";
  const bool waits = rank.host_ms > 0 && !(rank.compute_ms > rank.host_ms);
  const double most_ms = waits ? rank.host_ms : rank.compute_ms;
  const double percent = 100 * most_ms / rank.others_wait_ms;
  if (!(most_ms > kLeastCauseMs) || percent < kLeastSharePercent) return nothing;
  const std::string cause = fmt::format("{} {:.3g} ms a step longer {}than the middle rank{}",
                                        waits ? "waits" : "computes", most_ms,
                                        waits ? "for its host " : "", share_in_words(percent));
  return percent < kMostSharePercent ? fmt::format("mostly {}; it {}", nothing, cause) : cause;
}

std::string stragglers_in_words(Settings settings, std::span<const RankArrivals> ranks) {
  std::map<std::size_t, std::size_t> counts;
  for (const RankArrivals& rank : ranks)
    ++counts[rank.setting];
  std::vector<std::string> texts;
  std::set<std::size_t> told;
  for (const RankArrivals& rank : ranks) {
    if (!told.insert(rank.setting).second || !is_stable(rank, counts[rank.setting])) continue;
    texts.push_back(
        fmt::format("{}: rank {} in {:.0f} % of collectives, most often in {} of {} "
                    "halves of runs ({})",
                    settings[rank.setting].label, rank.rank, rank.last_percent(), rank.halves_led,
                    rank.halves, why_last(rank)));
  }
  if (ranks.empty()) return "";
  if (texts.empty()) return "No rank comes last steadily in any setting.";
  const std::size_t steady = texts.size();
  return fmt::format("A rank comes last steadily in {} of {}. {}.", steady,
                     core::counted(told.size(), "setting"), core::join(texts, "; "));
}

model::Table stragglers_table(Settings settings) {
  const std::vector<RankArrivals> ranks = rank_arrivals(settings);
  model::Table table{
      .name = kStragglersSheet,
      .title = "Which ranks the others wait for in collectives, how often, how stable and why",
      .columns = {{.name = "setting"},
                  {.name = "rank"},
                  {.name = "came last", .description = "collectives, over all runs"},
                  {.name = "of collectives"},
                  {.name = "came last (%)", .unit = "%", .better = model::Better::kLower},
                  {.name = "halves of runs led",
                   .description = "halves in which no rank came last more often: how stable it is"},
                  {.name = "of halves"},
                  {.name = "why"},
                  {.name = "others wait (ms)",
                   .unit = "ms",
                   .better = model::Better::kLower,
                   .description = "for this rank when it comes last: another rank, per step"},
                  {.name = "computes longer (ms)",
                   .unit = "ms",
                   .description = "in a steady step, than the middle rank"},
                  {.name = "host keeps it longer (ms)",
                   .unit = "ms",
                   .description = "in a steady step, than the middle rank"}}};
  for (const RankArrivals& rank : ranks)
    table.add_row({settings[rank.setting].label, std::int64_t{rank.rank}, rank.last,
                   rank.collectives, rank.last_percent(), rank.halves_led, rank.halves,
                   rank.last > 0 ? model::Cell(why_last(rank)) : model::Cell(),
                   model::cell_of(rank.others_wait_ms), model::cell_of(rank.compute_ms),
                   model::cell_of(rank.host_ms)});
  if (const std::string words = stragglers_in_words(settings, ranks); !words.empty())
    table.notes = {words};
  table.style.opens_with_text = true;
  return table;
}

}  // namespace assay::trace
