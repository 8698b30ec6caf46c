#include "trace/compare/answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/text.h"
#include "trace/compare/collective_comparison.h"

namespace assay::trace {
namespace {

constexpr std::size_t kCollectivesTold = 3;
// These add up to total_time.
constexpr std::array<const char*, 6> kParts = {"computation_time",    "exposed_comm_time",
                                               "exposed_memcpy_time", "idle_time",
                                               "micro_idle_time",     "macro_idle_time"};

using Changes = std::vector<TimelineChange>;

const char* per_step(Basis basis) {
  return basis == Basis::kPerStep ? " per step" : "";
}

std::string faster_or_slower(const Change& change) {
  if (std::isnan(change.percent)) return fmt::format("{:+.3f} ms away", change.difference);
  return fmt::format("{:.2f} % {}", std::fabs(change.percent),
                     change.percent >= 0 ? "faster" : "slower");
}

std::string total_in_words(const TimelineChange& total, Basis basis, const Sides& sides) {
  const Change& change = total.time_ms;
  const std::string figures =
      fmt::format("{:.3f} against {:.3f} ms{}", change.test, change.baseline, per_step(basis));
  const std::string& baseline = sides.baseline.label;
  const std::string& test = sides.test.label;
  switch (change.verdict) {
    case Verdict::kOnlyBaseline:
      return fmt::format("Only {} has a total_time: nothing to compare.", baseline);
    case Verdict::kOnlyTest:
      return fmt::format("Only {} has a total_time: nothing to compare.", test);
    case Verdict::kSimilar:
      return fmt::format("No real difference between {} and {}: {}.", test, baseline, figures);
    case Verdict::kUnknown:
      return fmt::format("{} looks {} than {} ({}), but whether that is real is unknown.", test,
                         faster_or_slower(change), baseline, figures);
    default:
      return fmt::format("{} is {} than {}: {}.", test, faster_or_slower(change), baseline,
                         figures);
  }
}

std::string is_it_real(const Change& change, Basis basis, double confidence) {
  if (change.verdict == Verdict::kOnlyBaseline || change.verdict == Verdict::kOnlyTest)
    return "Unknown. One side has no timeline.";
  if (basis == Basis::kWholeTrace)
    return "Unknown. A side names no profiled steps, so there is nothing to take the noise from.";
  const std::string steps =
      fmt::format("{} and {} steps", change.baseline_count, change.test_count);
  if (change.verdict == Verdict::kUnknown)
    return fmt::format("Unknown. A confidence interval needs 2 steps on each side; here {}.",
                       steps);
  const bool real = is_real(change.verdict);
  return fmt::format(
      "{}. The {:.0f} % confidence interval of the improvement is {:+.2f} to {:+.2f} % ({}): it {} "
      "zero. It knows the noise between the steps of these two runs, not between repeated runs.",
      real ? "Yes" : "No", 100 * confidence, change.percent_low, change.percent_high, steps,
      real ? "leaves out" : "holds");
}

std::string parts_in_words(const Changes& changes, Basis basis) {
  Changes parts;
  for (const TimelineChange& change : changes) {
    const bool part = std::find(kParts.begin(), kParts.end(), change.type) != kParts.end();
    if (part && !std::isnan(change.time_ms.difference)) parts.push_back(change);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::fabs(a.time_ms.difference) > std::fabs(b.time_ms.difference);
  });
  std::vector<std::string> texts;
  for (const TimelineChange& part : parts)
    texts.push_back(fmt::format("{} {:+.3f} ms ({})", part.type, part.time_ms.difference,
                                timeline_verdict(part.time_ms, basis)));
  return texts.empty() ? "Unknown." : core::join(texts, ", ") + ".";
}

std::string ranks_in_words(const TimelinePair& pair, double confidence) {
  const std::map<int, SeriesByType> baseline = by_rank(pair.baseline);
  const std::map<int, SeriesByType> test = by_rank(pair.test);
  std::map<std::string, std::vector<std::string>> ranks_by_verdict;
  std::set<int> ranks;
  for (const auto& [rank, series] : baseline)
    ranks.insert(rank);
  for (const auto& [rank, series] : test)
    ranks.insert(rank);
  for (const int rank : ranks) {
    const auto b = baseline.find(rank);
    const auto t = test.find(rank);
    const SeriesByType none;
    for (const TimelineChange& change :
         compare_series(b == baseline.end() ? none : b->second, t == test.end() ? none : t->second,
                        confidence))
      if (change.type == "total_time")
        ranks_by_verdict[timeline_verdict(change.time_ms, pair.basis)].push_back(
            std::to_string(rank));
  }
  std::vector<std::string> texts;
  for (const auto& [verdict, members] : ranks_by_verdict)
    texts.push_back(fmt::format("{} on {} of {} ranks ({})", verdict, members.size(), ranks.size(),
                                core::join(members, ", ")));
  return texts.empty() ? "" : "total_time is " + core::join(texts, "; ") + ".";
}

std::string collective_in_words(const CollectiveChange& change) {
  const Change& latency = change.latency_us;
  std::string text = fmt::format("{}: latency ", change.name);
  if (latency.verdict == Verdict::kOnlyBaseline || latency.verdict == Verdict::kOnlyTest)
    return text + verdict_text(latency, "instance");
  text += fmt::format("{:.1f} to {:.1f} us ({:+.1f} % better, {})", latency.baseline, latency.test,
                      latency.percent, verdict_text(latency, "instance"));
  if (!std::isnan(change.bus_gbps.difference))
    text += fmt::format(", bus bandwidth {:.1f} to {:.1f} GB/s", change.bus_gbps.baseline,
                        change.bus_gbps.test);
  if (!change.baseline_channels.empty() && !change.test_channels.empty())
    text += fmt::format(", channels {} to {}", change.baseline_channels, change.test_channels);
  return text;
}

void add_collectives(std::vector<AnswerLine>& lines, const Sides& sides) {
  std::vector<std::string> texts;
  for (const CollectiveChange& change : compare_collectives(sides)) {
    if (texts.size() == kCollectivesTold) break;
    texts.push_back(collective_in_words(change));
  }
  if (!texts.empty())
    lines.push_back({"What did the collectives with most time do?", core::join(texts, "; ") + "."});
}

std::string side_in_words(const Configuration& side,
                          Basis basis,
                          const std::vector<TimelineFigure>& figures) {
  std::set<std::int64_t> steps;
  for (const TimelineFigure& figure : figures)
    if (basis == Basis::kPerStep) steps.insert(figure.step);
  return fmt::format("{}: {} ranks, {} profiled steps", side.label, side.ranks.size(),
                     steps.size());
}

std::string compared_in_words(const Sides& sides, const TimelinePair& pair) {
  std::string text = side_in_words(sides.baseline, pair.basis, pair.baseline) + "; " +
                     side_in_words(sides.test, pair.basis, pair.test) + ".";
  if (sides.baseline.ranks.size() != sides.test.ranks.size())
    text += " The numbers of ranks differ, so the two did not do the same work.";
  return text;
}

void add_left_out(std::vector<AnswerLine>& lines, const Sides& sides) {
  std::vector<std::string> texts;
  for (const Configuration* side : {&sides.baseline, &sides.test}) {
    if (!side->left_out) continue;
    const LeftOut& left_out = *side->left_out;
    texts.push_back(
        fmt::format("{}: {} kernels ({:.1f} ms over all ranks) leaked from before the "
                    "profile, {} kernels ({:.1f} ms) outside the profiled steps",
                    side->label, left_out.leaked_kernels, left_out.leaked_ms,
                    left_out.outside_kernels, left_out.outside_ms));
  }
  if (!texts.empty())
    lines.push_back({"What is left out of these figures?", core::join(texts, "; ") + "."});
}

}  // namespace

std::string in_words(const TimelineChange& change, Basis basis, const Sides& sides) {
  if (change.type == "total_time") return total_in_words(change, basis, sides);
  const std::string verdict = timeline_verdict(change.time_ms, basis);
  if (std::isnan(change.time_ms.difference)) return verdict + ".";
  return fmt::format("{}: {:+.3f} ms{}.", verdict, change.time_ms.difference, per_step(basis));
}

Answer answer(const Sides& sides) {
  const double confidence = sides.options.confidence;
  const TimelinePair pair = timeline_pair(sides);
  const Changes changes =
      compare_series(mean_over_ranks(pair.baseline), mean_over_ranks(pair.test), confidence);
  Answer result;
  result.total_time = single_change(std::nan(""), std::nan(""), model::Better::kLower);
  const auto total = std::find_if(changes.begin(), changes.end(),
                                  [](const auto& change) { return change.type == "total_time"; });
  if (total != changes.end()) {
    result.total_time = total->time_ms;
    result.regression = total->time_ms.verdict == Verdict::kWorse;
    result.lines = {{"Which setting is better?", in_words(*total, pair.basis, sides)},
                    {"Is it real?", is_it_real(total->time_ms, pair.basis, confidence)},
                    {"Where does it come from?", parts_in_words(changes, pair.basis)},
                    {"Do the ranks agree?", ranks_in_words(pair, confidence)}};
  } else {
    result.lines = {{"Which setting is better?", "Unknown: neither side has a timeline."}};
  }
  add_collectives(result.lines, sides);
  result.lines.push_back({"What was compared?", compared_in_words(sides, pair)});
  add_left_out(result.lines, sides);
  return result;
}

model::Table answer_table(const Answer& answer) {
  model::Table table{.name = "Answer",
                     .title = "Which setting is better, where, and is it real?",
                     .columns = {{.name = "Question"}, {.name = "Answer"}}};
  for (const AnswerLine& line : answer.lines)
    table.add_row({line.question, line.answer});
  table.style.excel_table = true;
  return table;
}

}  // namespace assay::trace
