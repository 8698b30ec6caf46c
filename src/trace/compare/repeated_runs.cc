#include "trace/compare/repeated_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>

#include "core/text.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {
namespace {

// Counts and zeros agree between runs that are not the same, as those of a rank without GPU work.
bool is_measured(const model::Cell& cell) {
  const double value = model::number(cell);
  return std::isfinite(value) && value != std::floor(value);
}

std::optional<std::size_t> fingerprint(const model::Book& book) {
  std::string text;
  bool tells = false;
  for (const model::Table& table : book.tables) {
    for (const model::Cell& cell : table.cells) {
      text += model::text(cell) + '\n';
      tells = tells || is_measured(cell);
    }
  }
  return tells ? std::optional(std::hash<std::string>()(text)) : std::nullopt;
}

std::string on_ranks(std::span<const int> ranks) {
  return fmt::format(" on {} {}, not on the others", ranks.size() == 1 ? "rank" : "ranks",
                     core::join(ranks, ", "));
}

}  // namespace

std::map<int, Fingerprint> fingerprints(std::span<const RankReport> ranks) {
  std::map<int, Fingerprint> runs;
  for (const RankReport& rank : ranks)
    if (const auto own = fingerprint(rank.book)) runs[rank.run][rank.rank] = *own;
  return runs;
}

std::vector<int> equal_ranks(const Fingerprint& a, const Fingerprint& b) {
  std::vector<int> ranks;
  for (const auto& [rank, own] : a) {
    const auto other = b.find(rank);
    if (other != b.end() && other->second == own) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<RepeatedRun> remove_repeated(std::vector<Configuration>& runs,
                                         std::vector<int>& repeats) {
  std::vector<RepeatedRun> repeated;
  std::vector<Fingerprint> kept;
  std::vector<Configuration> kept_runs;
  std::vector<int> kept_repeats;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Fingerprint own = fingerprints(runs[i].ranks)[0];
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Fingerprint& earlier) {
      return !equal_ranks(own, earlier).empty();
    });
    if (same != kept.end()) {
      const auto original = static_cast<std::size_t>(std::distance(kept.begin(), same));
      repeated.push_back({.run = repeats[i], .original = kept_repeats[original]});
      continue;
    }
    kept.push_back(std::move(own));
    kept_runs.push_back(std::move(runs[i]));
    kept_repeats.push_back(repeats[i]);
  }
  runs = std::move(kept_runs);
  repeats = std::move(kept_repeats);
  return repeated;
}

std::string repeated_in_words(const std::string& label, std::span<const RepeatedRun> repeated) {
  std::map<int, std::vector<int>> same;
  for (const RepeatedRun& run : repeated) {
    std::vector<int>& runs = same[run.original];
    if (runs.empty()) runs.push_back(run.original);
    runs.push_back(run.run);
  }
  std::vector<std::string> texts;
  for (const auto& [original, runs] : same)
    texts.push_back("repeats " + core::join(runs, ", "));
  if (texts.empty()) return "";
  return fmt::format(
      "{} has the same events at the same times in {}: they are one measurement and count once",
      label, core::join(texts, ", and in "));
}

std::string shared_in_words(const std::string& baseline,
                            const std::map<int, Fingerprint>& baseline_runs,
                            const std::string& test,
                            const std::map<int, Fingerprint>& test_runs) {
  for (const auto& [run, own] : baseline_runs) {
    for (const auto& [other_run, other] : test_runs) {
      const std::vector<int> ranks = equal_ranks(own, other);
      if (ranks.empty()) continue;
      const bool all = ranks.size() == std::min(own.size(), other.size());
      return fmt::format(
          "{} and {} have the same events at the same times{}: they are one measurement{}, and "
          "tell no difference between the two",
          run_name(baseline, run), run_name(test, other_run), all ? "" : on_ranks(ranks),
          all ? "" : " there");
    }
  }
  return "";
}

}  // namespace assay::trace
