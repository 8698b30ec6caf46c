#include "trace/compare/timeline_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/statistics.h"
#include "core/text.h"

namespace assay::trace {
namespace {

// These add up to total_time.
constexpr std::array<const char*, 6> kParts = {"computation_time",    "exposed_comm_time",
                                               "exposed_memcpy_time", "idle_time",
                                               "micro_idle_time",     "macro_idle_time"};

const char* per_step(Basis basis) {
  return basis.window == Basis::Window::kStep ? " per step" : "";
}

// "57.000", or with the noise between runs "57.000 (56.900 … 57.100 ms over 3 runs)".
std::string mean_in_words(double mean, const Range& range, std::size_t count, Basis basis) {
  std::string text = fmt::format("{:.3f}", mean);
  if (basis.repetition == Repetition::kRun && count > 1)
    text += fmt::format(" ({})", range_in_words(range, "ms", count, 3));
  return text;
}

bool repeated(const Sides& sides) {
  return sides.baseline.runs.size() > 1 || sides.test.runs.size() > 1;
}

// "59.900 … 60.100 ms over 3 runs" of one side's total_time.
std::string runs_in_words(const std::vector<TimelineFigure>& figures) {
  SeriesByType types = mean_over_ranks(figures, Repetition::kRun);
  const std::vector<double>& runs = types[kTotalTime].time_ms;
  return range_in_words({.low = core::minimum(runs), .high = core::maximum(runs)}, "ms",
                        runs.size(), 3);
}

// What the interval does not know, and how to learn it.
std::string noise_in_words(const TimelinePair& pair, const Sides& sides) {
  if (pair.basis.repetition == Repetition::kRun) return "It knows the noise between repeated runs.";
  if (!repeated(sides))
    return "It knows the noise between the steps of these two runs, not between repeated runs.";
  const bool test_repeated = sides.test.runs.size() > 1;
  const Configuration& often = test_repeated ? sides.test : sides.baseline;
  const Configuration& once = test_repeated ? sides.baseline : sides.test;
  return fmt::format(
      "It knows the noise between the steps of these runs, not between repeated runs: {} was run "
      "once. Repeat it too; {} takes {}.",
      once.label, often.label, runs_in_words(test_repeated ? pair.test : pair.baseline));
}

std::string faster_or_slower(const Change& change) {
  if (std::isnan(change.percent)) return fmt::format("{:+.3f} ms away", change.difference);
  return fmt::format("{:.2f} % {}", std::fabs(change.percent),
                     change.percent >= 0 ? "faster" : "slower");
}

}  // namespace

std::string headline_in_words(const TimelineChange& headline, Basis basis, const Sides& sides) {
  const Change& change = headline.time_ms;
  const std::string figures = fmt::format(
      "{} against {} ms{}", mean_in_words(change.test, change.test_range, change.test_count, basis),
      mean_in_words(change.baseline, change.baseline_range, change.baseline_count, basis),
      per_step(basis));
  const std::string& baseline = sides.baseline.label;
  const std::string& test = sides.test.label;
  switch (change.verdict) {
    case Verdict::kOnlyBaseline:
      return fmt::format("Only {} has a total_time: nothing to compare.", baseline);
    case Verdict::kOnlyTest:
      return fmt::format("Only {} has a total_time: nothing to compare.", test);
    case Verdict::kSimilar:
      return fmt::format("No difference between {} and {} can be shown: {}.", test, baseline,
                         figures);
    case Verdict::kUnknown:
      return fmt::format("{} looks {} than {} ({}), but whether that is real is unknown.", test,
                         faster_or_slower(change), baseline, figures);
    default:
      return fmt::format("{} is {} than {}: {}.", test, faster_or_slower(change), baseline,
                         figures);
  }
}

std::string in_words(const TimelineChange& change, Basis basis) {
  const std::string verdict = timeline_verdict(change.time_ms, basis);
  if (std::isnan(change.time_ms.difference)) return verdict + ".";
  return fmt::format("{}: {:+.3f} ms{}.", verdict, change.time_ms.difference, per_step(basis));
}

std::string is_it_real(const TimelineChange& headline,
                       const TimelinePair& pair,
                       const Sides& sides) {
  const Basis basis = pair.basis;
  const Change& change = headline.time_ms;
  if (change.verdict == Verdict::kOnlyBaseline || change.verdict == Verdict::kOnlyTest)
    return "Unknown. One side has no timeline.";
  if (basis.repetition == Repetition::kNone)
    return "Unknown. A side names no profiled steps, so there is nothing to take the noise from.";
  const char* repetition = noun(basis.repetition);
  const std::string counts =
      fmt::format("{} and {} {}s", change.baseline_count, change.test_count, repetition);
  if (change.verdict == Verdict::kUnknown)
    return fmt::format("Unknown. A confidence interval needs 2 {}s on each side; here {}.",
                       repetition, counts);
  const bool real = is_real(change.verdict);
  const std::string interval =
      std::isnan(change.percent_low)
          ? fmt::format("change is {:+.3f} to {:+.3f} ms", change.low, change.high)
          : fmt::format("improvement is {:+.2f} to {:+.2f} %", change.percent_low,
                        change.percent_high);
  return fmt::format("{}. The {:.3g} % confidence interval of the {} ({}): it {} zero. {}",
                     real ? "Yes" : "It may be noise", 100 * sides.options.confidence, interval,
                     counts, real ? "leaves out" : "holds", noise_in_words(pair, sides));
}

std::string parts_in_words(const std::vector<TimelineChange>& changes, Basis basis) {
  std::vector<TimelineChange> parts;
  for (const TimelineChange& change : changes) {
    const bool part = std::find(kParts.begin(), kParts.end(), change.type) != kParts.end();
    if (part && !std::isnan(change.time_ms.difference)) parts.push_back(change);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::fabs(a.time_ms.difference) > std::fabs(b.time_ms.difference);
  });
  std::vector<std::string> texts;
  texts.reserve(parts.size());
  for (const TimelineChange& part : parts)
    texts.push_back(fmt::format("{} {:+.3f} ms ({})", part.type, part.time_ms.difference,
                                timeline_verdict(part.time_ms, basis)));
  return texts.empty() ? "Unknown." : core::join(texts, ", ") + ".";
}

std::string ranks_in_words(const TimelinePair& pair, const std::string& type, double confidence) {
  std::map<std::string, std::vector<std::string>> ranks_by_verdict;
  const auto ranks = compare_ranks(pair, confidence);
  for (const auto& [rank, changes] : ranks)
    for (const TimelineChange& change : changes)
      if (change.type == type)
        ranks_by_verdict[timeline_verdict(change.time_ms, pair.basis)].push_back(
            std::to_string(rank));
  std::vector<std::string> texts;
  texts.reserve(ranks_by_verdict.size());
  for (const auto& [verdict, members] : ranks_by_verdict)
    texts.push_back(fmt::format("{} on {} of {} ranks ({})", verdict, members.size(), ranks.size(),
                                core::join(members, ", ")));
  return texts.empty() ? "Unknown." : type + " is " + core::join(texts, "; ") + ".";
}

std::string whole_window_in_words(const Sides& sides) {
  const TimelinePair pair = whole_trace_pair(sides);
  const std::vector<TimelineChange> changes = compare_means(pair, sides.options.confidence);
  const TimelineChange* total = headline(changes);
  if (total == nullptr || std::isnan(total->time_ms.difference)) return "";
  const Change& whole = total->time_ms;
  const std::string text =
      fmt::format("{} is {} than {}: {:.3f} against {:.3f} ms.", sides.test.label,
                  faster_or_slower(whole), sides.baseline.label, whole.test, whole.baseline);
  if (pair.basis.repetition == Repetition::kRun)
    return fmt::format("{} {} over {} and {} runs.", text, timeline_verdict(whole, pair.basis),
                       whole.baseline_count, whole.test_count);
  return text + (repeated(sides) ? " One window a rank and run: no noise known."
                                 : " One window a rank: no noise known.");
}

}  // namespace assay::trace
