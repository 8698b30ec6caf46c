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

// A straggler leads in more than this share of the halves of runs.
constexpr double kSteadyShare = 0.5;
// The probability that noise alone names a rank in any of the settings.
constexpr double kNoiseNames = 0.05;
// Fewer runs are cut in parts, since they are too few to tell a rank from noise.
constexpr std::size_t kLeastParts = 6;
// One long wait counts as so many median ones: it would else be more than all others together, and
// their noise.
constexpr double kMostMedians = 3;
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

// Holds what another rank waits for each rank, the mean over the collectives of a part of a run.
using Waits = std::map<int, double>;

Waits waits_of(std::span<const Arrival> arrivals, double most_us) {
  Waits result;
  for (const Arrival& arrival : arrivals)
    if (arrival.last_rank)
      result[*arrival.last_rank] +=
          std::min(arrival.others_wait_us, most_us) / static_cast<double>(arrivals.size());
  return result;
}

double median_wait_us(std::span<const RunArrivals> runs) {
  std::vector<double> waits;
  for (const RunArrivals& run : runs)
    for (const Arrival& arrival : run.arrivals)
      if (arrival.last_rank) waits.push_back(arrival.others_wait_us);
  return core::median(waits);
}

std::vector<Waits> waits_in_parts(std::span<const RunArrivals> runs) {
  const double most_us = kMostMedians * median_wait_us(runs);
  const std::size_t wanted =
      (kLeastParts + runs.size() - 1) / std::max<std::size_t>(1, runs.size());
  std::vector<Waits> result;
  for (const RunArrivals& run : runs) {
    const std::span<const Arrival> all = run.arrivals;
    const std::size_t parts = std::min(wanted, all.size());
    for (std::size_t i = 0; i < parts; ++i) {
      const std::size_t begin = all.size() * i / parts;
      result.push_back(waits_of(all.subspan(begin, all.size() * (i + 1) / parts - begin), most_us));
    }
  }
  return result;
}

// Returns by how much longer the others wait for one rank than for another, in each part.
std::vector<double> longer_waits(std::span<const Waits> parts, int rank, int other) {
  std::vector<double> result;
  for (const Waits& part : parts) {
    const auto wait = [&part](int of) {
      const auto found = part.find(of);
      return found == part.end() ? 0 : found->second;
    };
    result.push_back(wait(rank) - wait(other));
  }
  return result;
}

// Tells by a t test over the parts, corrected for the number of ranks that might have been named.
bool is_beyond_noise(std::span<const double> longer, std::size_t candidates) {
  if (longer.size() < 2 || !(core::mean(longer) > 0)) return false;
  const auto count = static_cast<double>(longer.size());
  const double error = core::sample_deviation(longer) / std::sqrt(count);
  const double one_sided =
      (1 - core::student_confidence(core::mean(longer) / error, count - 1)) / 2;
  return one_sided * static_cast<double>(candidates) <= kNoiseNames;
}

// `ranks` are those of the setting, the one that comes last most often first.
bool is_first_steady(std::span<const RankArrivals> ranks,
                     std::span<const RunArrivals> runs,
                     std::size_t settings) {
  if (ranks.size() < 2) return false;
  const RankArrivals& first = ranks.front();
  if (first.last_percent() == ranks[1].last_percent() || first.halves < 2 ||
      static_cast<double>(first.halves_led) <= kSteadyShare * static_cast<double>(first.halves))
    return false;
  const std::vector<Waits> parts = waits_in_parts(runs);
  return std::all_of(ranks.begin() + 1, ranks.end(), [&](const RankArrivals& other) {
    return is_beyond_noise(longer_waits(parts, first.rank, other.rank), ranks.size() * settings);
  });
}

std::map<int, RankArrivals> counted_arrivals(std::span<const RunArrivals> runs) {
  std::map<int, RankArrivals> ranks;
  std::int64_t halves = 0;
  for (const RunArrivals& run : runs) {
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
  for (auto& [rank, arrivals] : ranks)
    arrivals.halves = halves;
  return ranks;
}

std::vector<RankArrivals> arrivals_of(Settings settings, std::size_t position) {
  const SettingFigures& setting = settings[position];
  const auto compute = beyond_the_middle(computed_ms(setting));
  const auto host = beyond_the_middle(setting.host_ms);
  std::vector<RankArrivals> result;
  for (auto& [rank, arrivals] : counted_arrivals(setting.arrivals)) {
    result.push_back(arrivals);
    RankArrivals& one = result.back();
    one.setting = position;
    one.rank = rank;
    one.others_wait_ms =
        setting.steps > 0 ? one.others_wait_ms / static_cast<double>(setting.steps) : kNaN;
    one.compute_ms = value_or_nan(compute, rank);
    one.host_ms = value_or_nan(host, rank);
  }
  std::stable_sort(result.begin(), result.end(), [](const RankArrivals& a, const RankArrivals& b) {
    return a.last_percent() > b.last_percent();
  });
  if (is_first_steady(result, setting.arrivals, settings.size())) result.front().steady = true;
  return result;
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
    for (const RankArrivals& rank : arrivals_of(settings, i))
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
  std::vector<std::string> texts;
  std::set<std::size_t> told;
  for (const RankArrivals& rank : ranks) {
    told.insert(rank.setting);
    if (!rank.steady) continue;
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
                  {.name = "others wait (ms)",
                   .unit = "ms",
                   .better = model::Better::kLower,
                   .description = "for this rank when it comes last: another rank, per step"},
                  {.name = "computes longer (ms)",
                   .unit = "ms",
                   .description = "in a steady step, than the middle rank"},
                  {.name = "host keeps it longer (ms)",
                   .unit = "ms",
                   .description = "in a steady step, than the middle rank"},
                  {.name = "why"}}};  // the last one, since it is as long as a sentence

  for (const RankArrivals& rank : ranks)
    table.add_row({settings[rank.setting].label, std::int64_t{rank.rank}, rank.last,
                   rank.collectives, rank.last_percent(), rank.halves_led, rank.halves,
                   model::cell_of(rank.others_wait_ms), model::cell_of(rank.compute_ms),
                   model::cell_of(rank.host_ms),
                   rank.last > 0 ? model::Cell(why_last(rank)) : model::Cell()});
  if (const std::string words = stragglers_in_words(settings, ranks); !words.empty())
    table.notes = {words};
  table.style.opens_with_text = true;
  return table;
}

}  // namespace assay::trace
