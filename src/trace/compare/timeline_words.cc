#include "trace/compare/timeline_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::trace {
namespace {

const char* per_step(Basis basis) {
  return basis.window == Basis::Window::kStep ? " per steady step" : "";
}

// Describes the total_time of one side: "59.900 … 60.100 ms over 3 runs".
std::string runs_in_words(const std::vector<TimelineFigure>& figures) {
  SeriesByType types = mean_over_ranks(figures, Repetition::kRun);
  const std::vector<double>& runs = types[kTotalTime].time_ms;
  return range_in_words({.low = core::minimum(runs), .high = core::maximum(runs)}, "ms",
                        runs.size(), 3);
}

// Returns the side that was run once.
const Configuration& lone_run(const Sides& sides) {
  return sides.baseline.runs.size() > 1 ? sides.test : sides.baseline;
}

// Says which noise the interval does not cover, and how to measure it.
std::string noise_in_words(const TimelinePair& pair, const Sides& sides) {
  if (pair.basis.repetition == Repetition::kRun)
    return fmt::format("It knows the noise between repeated runs: {} takes {}, {} takes {}.",
                       sides.baseline.label, runs_in_words(pair.baseline), sides.test.label,
                       runs_in_words(pair.test));
  if (pair.basis.repetition != Repetition::kLoneRun)
    return "It knows the noise between the steps of these two runs, not between repeated runs.";
  const bool test_repeated = sides.test.runs.size() > 1;
  return fmt::format(
      "It takes the noise between the runs of {}, which takes {}, for that of {}, too, "
      "which was run once.",
      (test_repeated ? sides.test : sides.baseline).label,
      runs_in_words(test_repeated ? pair.test : pair.baseline), lone_run(sides).label);
}

const char* faster_or_slower(double percent) {
  return percent >= 0 ? "faster" : "slower";
}

// Returns "1.88 to 3.31 %" where the direction is already clear, otherwise "45.7 % slower to 3.22 %
// faster". Nothing takes more than 100 % less time, so an end beyond that tells nothing.
std::string interval_in_words(const Change& change) {
  if (std::isnan(change.percent_low))
    return fmt::format("{:+.3f} to {:+.3f} ms", change.low, change.high);
  if (change.percent_high > 100) {
    return change.percent_low > 0
               ? fmt::format("at least {} %", percent_text(change.percent_low))
               : fmt::format("at most {} % slower", percent_text(change.percent_low));
  }
  // Where both are called the same, no sentence tells the direction.
  const bool same = change.verdict == Verdict::kSame;
  if (change.percent_low > 0)
    return fmt::format("{} to {} %{}", percent_text(change.percent_low),
                       percent_text(change.percent_high), same ? " faster" : "");
  if (change.percent_high < 0)
    return fmt::format("{} to {} %{}", percent_text(change.percent_high),
                       percent_text(change.percent_low), same ? " slower" : "");
  return fmt::format("{} % {} to {} % {}", percent_text(change.percent_low), "slower",
                     percent_text(change.percent_high), "faster");
}

// Returns "3 runs each" or "3 and 5 steps".
std::string counts_in_words(const Change& change, Repetition repetition) {
  if (change.baseline_count == change.test_count)
    return counted(change.baseline_count, repetition) + " each";
  return fmt::format("{} and {}", change.baseline_count, counted(change.test_count, repetition));
}

// Where a side was run once, the noise between its runs is not known.
const char* in_these_runs(Basis basis) {
  return basis.repetition == Repetition::kRun ? "" : " in these runs";
}

// Returns a complete sentence, or an empty text.
std::string needed_sentence(const Change& change, Basis basis, const Criterion& criterion) {
  const std::string needed = needed_in_words(change, criterion, noun(basis.repetition));
  return needed.empty() ? needed : " " + needed + ".";
}

// Says what to run again so that the noise between runs is known; empty where it is.
std::string repeat_in_words(Basis basis, const Sides& sides) {
  if (basis.repetition == Repetition::kRun) return "";
  if (basis.repetition == Repetition::kLoneRun)
    return fmt::format("Repeat {}, too: the noise between its runs is not known.",
                       lone_run(sides).label);
  return "Run each three times or more: steps do not know the noise between runs.";
}

}  // namespace

std::string speed_in_words(const Change& change) {
  if (std::isnan(change.percent)) return fmt::format("{:+.3f} ms away", change.difference);
  return percent_text(change.percent) + " % " + faster_or_slower(change.percent);
}

std::string speed_against(const std::string& baseline, const Change& change) {
  if (has_equal_means(change)) return "as fast as " + baseline;
  return speed_in_words(change) + " than " + baseline;
}

std::string certainty_in_words(const Change& change, Basis basis, const Criterion& criterion) {
  return fmt::format("{:.3g} %: {}; {}", 100 * criterion.confidence, interval_in_words(change),
                     counts_in_words(change, basis.repetition));
}

std::string headline_in_words(const TimelineChange& headline, Basis basis, const Sides& sides) {
  const Change& change = headline.time_ms;
  const Criterion& criterion = sides.options.criterion;
  const std::string figures =
      fmt::format("{:.3f} against {:.3f} ms{}", change.test, change.baseline, per_step(basis));
  const std::string& baseline = sides.baseline.label;
  const std::string& test = sides.test.label;
  const auto certainty = [&] { return certainty_in_words(change, basis, criterion); };
  switch (change.verdict) {
    case Verdict::kOnlyBaseline:
      return fmt::format("Only {} has a total_time: nothing to compare.", baseline);
    case Verdict::kOnlyTest:
      return fmt::format("Only {} has a total_time: nothing to compare.", test);
    case Verdict::kSame:
      return fmt::format("{} takes the same time as {} within {:g} %{} ({}): {}.", test, baseline,
                         criterion.tolerance_percent, in_these_runs(basis), certainty(), figures);
    case Verdict::kUnclear:
      return fmt::format("Unclear whether {} is faster or slower than {} ({}): {}.{}", test,
                         baseline, certainty(), figures, needed_sentence(change, basis, criterion));
    case Verdict::kUnknown:
      return fmt::format("{} looks {} ({}), but whether that is real is unknown.", test,
                         speed_against(baseline, change), figures);
    default:
      return fmt::format("{} is {} than {}{} ({}): {}.", test, speed_in_words(change), baseline,
                         in_these_runs(basis), certainty(), figures);
  }
}

std::string in_words(const TimelineChange& change, Basis basis, const Criterion& criterion) {
  const std::string verdict = timeline_verdict(change.time_ms, basis);
  if (std::isnan(change.time_ms.difference)) return verdict + ".";
  const std::string needed =
      is_lost_among_many(change.time_ms, criterion)
          ? "certain alone, but not among the rows that are judged together"
          : needed_in_words(change.time_ms, criterion, noun(basis.repetition), Length::kShort);
  return fmt::format("{}: {:+.3f} ms{}{}{}.", verdict, change.time_ms.difference,
                     change.type == kAllSteps ? " per step" : per_step(basis),
                     needed.empty() ? "" : "; ", needed);
}

std::string is_it_real(const TimelineChange& headline,
                       const TimelinePair& pair,
                       const Sides& sides) {
  const Basis basis = pair.basis;
  const Change& change = headline.time_ms;
  const Criterion& criterion = sides.options.criterion;
  if (change.verdict == Verdict::kOnlyBaseline || change.verdict == Verdict::kOnlyTest)
    return "Unknown. One side has no timeline.";
  if (basis.repetition == Repetition::kNone)
    return "Unknown. A side names no profiled steps, so there is nothing to take the noise from.";
  if (change.verdict == Verdict::kUnknown)
    return fmt::format(
        "Unknown. A confidence interval needs 2 {0}s on each side; here {1} and {2} "
        "{0}s.",
        noun(basis.repetition), change.baseline_count, change.test_count);
  const auto sentence = [&](const std::string& lead, const std::string& holds) {
    return fmt::format("{}. The confidence interval ({}) {}. {}", lead,
                       certainty_in_words(change, basis, criterion), holds,
                       noise_in_words(pair, sides));
  };
  const bool steps = !counts_runs(basis.repetition);
  if (change.verdict == Verdict::kSame)
    return sentence(std::string("A difference, if there is one, is too small to matter") +
                        (steps ? " in these runs; that between runs is not known" : ""),
                    fmt::format("lies within {:g} % either way", criterion.tolerance_percent));
  if (change.verdict == Verdict::kUnclear) return sentence("It may be noise", "holds zero");
  if (change.verdict == Verdict::kDifferent)
    return sentence(fmt::format("Different in these runs, which is all that one run {} can show",
                                steps ? "a side" : "of a side"),
                    "leaves out zero");
  return sentence("Yes", "leaves out zero");
}

std::string next_in_words(const TimelineChange& headline, Basis basis, const Sides& sides) {
  const Change& change = headline.time_ms;
  const Criterion& criterion = sides.options.criterion;
  const std::string advice = repeat_in_words(basis, sides);
  const std::string repeat = advice.empty() ? advice : " " + advice;
  switch (change.verdict) {
    case Verdict::kOnlyBaseline:
    case Verdict::kOnlyTest:
    case Verdict::kOtherRanks:
      return "Profile both.";
    case Verdict::kUnknown:
      return "Run each twice or more, or profile two or more steps of each.";
    case Verdict::kUnclear:
      return "Measure more." + needed_sentence(change, basis, criterion) + repeat;
    case Verdict::kSame:
      return "Use either." + repeat;
    case Verdict::kDifferent:
      return fmt::format("{} In these runs, {} is the faster.", advice,
                         change.difference < 0 ? sides.test.label : sides.baseline.label);
    case Verdict::kBetter:
    case Verdict::kShorter:
      return fmt::format("Use {}.{}", sides.test.label, repeat);
    case Verdict::kWorse:
    case Verdict::kLonger:
      break;
  }
  return fmt::format("Stay with {}.{}", sides.baseline.label, repeat);
}

std::string parts_in_words(const std::vector<TimelineChange>& changes, Basis basis) {
  constexpr double kLeastMs = 0.0005;  // three digits tell it
  std::vector<TimelineChange> parts;
  for (const TimelineChange& change : changes)
    if (is_part(change.type) && !std::isnan(change.time_ms.difference)) parts.push_back(change);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::fabs(a.time_ms.difference) > std::fabs(b.time_ms.difference);
  });
  if (parts.empty()) return "Unknown.";
  std::vector<std::string> texts;
  for (const TimelineChange& part : parts)
    if (std::fabs(part.time_ms.difference) >= kLeastMs)
      texts.push_back(fmt::format("{} {:+.3f} ms ({})", part.type, part.time_ms.difference,
                                  within_sentence(timeline_verdict(part.time_ms, basis))));
  if (texts.empty())
    return fmt::format("From no part: each changes by less than {:g} ms.", kLeastMs);
  return core::join(texts, ", ") + ".";
}

std::string ranks_in_words(const TimelinePair& pair,
                           const std::string& type,
                           const Criterion& criterion) {
  std::map<std::string, std::vector<std::string>> ranks_by_verdict;
  const auto ranks = compare_ranks(pair, criterion);
  for (const auto& [rank, changes] : ranks)
    for (const TimelineChange& change : changes)
      if (change.type == type)
        ranks_by_verdict[within_sentence(timeline_verdict(change.time_ms, pair.basis))].push_back(
            std::to_string(rank));
  std::vector<std::string> texts;
  texts.reserve(ranks_by_verdict.size());
  for (const auto& [verdict, members] : ranks_by_verdict)
    texts.push_back(fmt::format("{} on {} of {} ({})", verdict, members.size(),
                                core::counted(ranks.size(), "rank"), core::join(members, ", ")));
  return texts.empty() ? "Unknown." : type + " is " + core::join(texts, "; ") + ".";
}

std::string whole_window_in_words(const Sides& sides,
                                  std::size_t baseline_steps,
                                  std::size_t test_steps) {
  const TimelinePair pair = whole_trace_pair(sides);
  const std::vector<TimelineChange> changes = compare_means(pair, sides.options.criterion);
  const TimelineChange* total = headline(changes);
  if (total == nullptr || std::isnan(total->time_ms.difference)) return "";
  const Change& whole = total->time_ms;
  if (baseline_steps * sides.test.runs.size() != test_steps * sides.baseline.runs.size())
    return fmt::format(
        "{} of {} count and {} of {}: windows of different steps are not compared ({:.3f} and "
        "{:.3f} ms).",
        core::counted(test_steps, "step"), sides.test.label, baseline_steps, sides.baseline.label,
        whole.test, whole.baseline);
  const std::string text =
      fmt::format("{} is {}: {:.3f} against {:.3f} ms.", sides.test.label,
                  speed_against(sides.baseline.label, whole), whole.test, whole.baseline);
  if (counts_runs(pair.basis.repetition))
    return fmt::format("{} {} over {} and {}.", text, timeline_verdict(whole, pair.basis),
                       whole.baseline_count, core::counted(whole.test_count, "run"));
  return text + " One window a rank: no noise known.";
}

}  // namespace assay::trace
