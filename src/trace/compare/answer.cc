#include "trace/compare/answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/counted.h"
#include "core/text.h"
#include "trace/compare/collective_comparison.h"
#include "trace/compare/other_work.h"
#include "trace/compare/phases.h"
#include "trace/compare/ranks.h"
#include "trace/compare/repeated_runs.h"
#include "trace/compare/step_words.h"
#include "trace/compare/timeline_words.h"

namespace assay::trace {
namespace {

constexpr std::size_t kCollectivesTold = 3;

// Returns an empty text for a change from zero.
std::string percent_in_words(const Change& change) {
  if (std::isnan(change.percent)) return "";
  return less_or_more_in_words(change) + ", ";
}

// Describes the noise between runs, where it is known: ", 9.8 … 10.2 µs over 3 runs to 8.8 … 9.1 µs
// over 2 runs".
std::string run_latencies_in_words(const CollectiveChange& change) {
  if (!counts_runs(change.repetition)) return "";
  const Change& latency = change.latency_us;
  return fmt::format(", {} to {}",
                     range_in_words(latency.baseline_range, "µs", latency.baseline_count, 1),
                     range_in_words(latency.test_range, "µs", latency.test_count, 1));
}

std::string collective_in_words(const CollectiveChange& change) {
  const Change& latency = change.latency_us;
  const std::string verdict = within_sentence(verdict_text(latency, noun(change.repetition)));
  std::string text = fmt::format("{}: latency ", change.name);
  if (latency.verdict == Verdict::kOnlyBaseline || latency.verdict == Verdict::kOnlyTest)
    return text + verdict;
  text += fmt::format("{:.1f} to {:.1f} µs ({}{}{})", latency.baseline, latency.test,
                      percent_in_words(latency), verdict, run_latencies_in_words(change));
  if (!std::isnan(change.bus_gbps.difference))
    text += fmt::format(", bus bandwidth {:.1f} to {:.1f} GB/s", change.bus_gbps.baseline,
                        change.bus_gbps.test);
  if (!change.baseline_channels.empty() && !change.test_channels.empty())
    text += fmt::format(", channels {} to {}", change.baseline_channels, change.test_channels);
  return text;
}

std::size_t rank_count(const Configuration& side) {
  return ranks_of(side).size();
}

void add_collectives(std::vector<AnswerLine>& lines, const Sides& sides) {
  std::vector<std::string> texts;
  for (const CollectiveChange& change : compare_collectives(sides)) {
    if (texts.size() == kCollectivesTold) break;
    texts.push_back(collective_in_words(change));
  }
  if (texts.empty()) return;
  std::string told = core::join(texts, "; ") + ".";
  if (!different_ranks(sides).empty()) {
    told +=
        " The runs have different ranks: where one lacks a rank of a group, its latencies hold "
        "waits for that rank, and compare with nothing.";
  }
  lines.push_back({"What did the collectives with most time do?", std::move(told)});
}

std::size_t step_count(const std::vector<TimelineFigure>& figures, Basis basis) {
  std::set<std::pair<int, std::int64_t>> steps;
  for (const TimelineFigure& figure : figures)
    if (basis.window == Basis::Window::kStep && figure.type == kAllSteps)
      steps.emplace(figure.run, figure.step);
  return steps.size();
}

bool was_repeated(const Configuration& side) {
  return side.runs.size() > 1;
}

std::string side_in_words(const Configuration& side,
                          Basis basis,
                          const std::vector<TimelineFigure>& figures) {
  const std::string runs =
      was_repeated(side) ? counted(side.runs.size(), Repetition::kRun) + ", " : std::string();
  return fmt::format("{}: {}{}, {}", side.label, runs, core::counted(rank_count(side), "rank"),
                     core::counted(step_count(figures, basis), "profiled step"));
}

std::string compared_in_words(const Sides& sides, const TimelinePair& pair) {
  std::string text = side_in_words(sides.baseline, pair.basis, pair.baseline) + "; " +
                     side_in_words(sides.test, pair.basis, pair.test) + ".";
  if (rank_count(sides.baseline) != rank_count(sides.test))
    text += " The numbers of ranks differ, so the two did not do the same work.";
  return text;
}

// Ranks that differ do other work anyway, and are told for themselves.
std::string unlike_work_in_words(const Sides& sides) {
  if (!different_ranks(sides).empty()) return "";
  const std::string difference =
      work_difference(step_work(sides.baseline.ranks), step_work(sides.test.ranks));
  if (difference.empty()) return "";
  return other_work_in_words(sides.baseline.label, std::span(&sides.test.label, 1), difference);
}

// Says which runs are one measurement, on a side or on both; there may be none.
std::vector<std::string> repetitions_in_words(const Sides& sides) {
  std::vector<std::string> texts = {
      repeated_in_words(sides.baseline.label, sides.baseline.repeated),
      repeated_in_words(sides.test.label, sides.test.repeated),
      shared_in_words(sides.baseline.label, fingerprints(sides.baseline.ranks), sides.test.label,
                      fingerprints(sides.test.ranks))};
  std::erase(texts, "");
  return texts;
}

// Says of each run which ranks it lacks, and why.
void add_missing(std::vector<AnswerLine>& lines, const Sides& sides) {
  std::vector<std::string> texts;
  for (const Configuration* side : {&sides.baseline, &sides.test}) {
    for (const int run : side->runs) {
      std::vector<LostRank> lost;
      std::copy_if(side->lost_ranks.begin(), side->lost_ranks.end(), std::back_inserter(lost),
                   [run](const LostRank& rank) { return rank.run == run; });
      if (!lost.empty())
        texts.push_back(fmt::format("{}: {}", run_name(*side, run),
                                    lost_ranks_in_words(lost, Showing::kSideBySide)));
    }
  }
  if (!texts.empty()) lines.push_back({kMissingQuestion, core::join(texts, "; ") + "."});
}

std::string kernels(std::int64_t count) {
  return core::counted(count, "kernel");
}

void add_left_out(std::vector<AnswerLine>& lines, const Sides& sides) {
  std::vector<std::string> texts;
  for (const Configuration* side : {&sides.baseline, &sides.test}) {
    if (!side->left_out) continue;
    const LeftOut& left_out = *side->left_out;
    texts.push_back(
        fmt::format("{}: {} ({:.1f} ms over all {}) leaked from before the profile, {} "
                    "({:.1f} ms) outside the profiled steps",
                    side->label, kernels(left_out.leaked_kernels), left_out.leaked_ms,
                    was_repeated(*side) ? "ranks and runs" : "ranks",
                    kernels(left_out.outside_kernels), left_out.outside_ms));
  }
  if (!texts.empty())
    lines.push_back({"What is left out of these figures?", core::join(texts, "; ") + "."});
}

void add_environment(Answer& answer, const Sides& sides) {
  answer.environment_differences = environment_differences(sides);
  if (!environments_known(sides)) return;
  std::vector<std::string> texts;
  for (const EnvironmentDifference& difference : answer.environment_differences)
    texts.push_back(in_words(difference));
  answer.lines.push_back(
      {"Was all else the same?", texts.empty() ? "Yes, as far as the runs recorded it."
                                               : "No. Measured with " + core::join(texts, "; ") +
                                                     ". The comparison may show that instead."});
}

// What could make the answer wrong, with its effect.
void add_steps(Answer& answer, const Sides& sides, const std::vector<TimelineChange>& changes) {
  answer.baseline_transients = transients_in_words(sides.baseline);
  answer.test_transients = transients_in_words(sides.test);
  std::string texts = answer.baseline_transients;
  if (!texts.empty() && !answer.test_transients.empty()) texts += " ";
  texts += answer.test_transients;
  answer.lines.push_back({kSteadyQuestion, texts.empty() ? "Yes." : "No. " + texts});
  std::vector<std::string> bound;
  for (const Configuration* side : {&sides.baseline, &sides.test})
    if (std::string text = host_bound_in_words(*side); !text.empty())
      bound.push_back(std::move(text));
  if (!bound.empty()) answer.lines.push_back({kHostQuestion, "Yes. " + core::join(bound, " ")});
  if (const std::string mean = mean_in_words(changes, answer.basis, sides); !mean.empty())
    answer.lines.push_back({"And the mean of all profiled steps?", mean});
}

// Runs of other ranks share the work in another way, so that an equal time is no tie.
void advise_equal_ranks(Answer& answer) {
  for (AnswerLine& line : answer.lines)
    if (line.question == kNextQuestion)
      line.answer = "Profile the same ranks of both: other ranks do other work.";
}

// A step that does less is no faster setting.
void advise_equal_work(Answer& answer, const Sides& sides) {
  for (AnswerLine& line : answer.lines)
    if (line.question == kNextQuestion)
      line.answer = fmt::format(
          "Find out whether {} does the work of {} in another way, as fused kernels would. If not, "
          "have both do the same.",
          sides.test.label, sides.baseline.label);
}

// Adds to the headline what all steps say, and to what to do next that the steady ones do not
// decide.
void add_recurring(Answer& answer, const Sides& sides, model::SlowSteps slow) {
  const bool worse = slow == model::SlowSteps::kOfTest;
  answer.lines[0].answer +=
      fmt::format(" But over all profiled steps it is {}, beyond the noise between runs.",
                  speed_in_words(answer.mean));
  for (AnswerLine& line : answer.lines) {
    if (line.question != kNextQuestion) continue;
    line.answer = fmt::format(
        "{} Find out what the steps do that are not steady (sheet Steps): they come back in the "
        "runs "
        "of {}, so they belong to it.",
        worse ? fmt::format("Stay with {}.", sides.baseline.label)
              : "The steady steps do not decide.",
        worse ? sides.test.label : sides.baseline.label);
  }
  answer.regression = answer.regression || worse;
}

// Steps that are not steady may come back, though few runs or steps cannot tell.
bool may_recur(const Answer& answer, const Criterion& criterion) {
  return answer.headline.verdict == Verdict::kSame && answer.mean.verdict != Verdict::kSame &&
         std::fabs(answer.mean.percent) > criterion.tolerance_percent;
}

void add_perhaps_recurring(Answer& answer) {
  answer.lines[0].answer +=
      fmt::format(" But over all profiled steps it is {}, which these runs cannot tell from noise.",
                  speed_in_words(answer.mean));
  for (AnswerLine& line : answer.lines)
    if (line.question == kNextQuestion)
      line.answer +=
          " See whether the steps that are not steady come back (sheet Steps): if they do, they "
          "belong to the setting.";
}

// Returns what could make the headline wrong, as sentences without a full stop.
std::vector<std::string> doubts(const Sides& sides, Basis basis, const std::string& unlike_work) {
  std::vector<std::string> texts;
  if (const std::string ranks = different_ranks(sides); !ranks.empty())
    texts.push_back("it compares different ranks: " + ranks);
  texts.push_back(unlike_work);
  for (std::string& repeated : repetitions_in_words(sides))
    texts.push_back(std::move(repeated));
  if (basis.window == Basis::Window::kStep) texts.push_back(lacking_wait_in_words(sides));
  std::erase(texts, "");
  return texts;
}

void add_lost_among_many(std::vector<AnswerLine>& lines,
                         const std::vector<TimelineChange>& changes,
                         const Criterion& criterion) {
  const bool any = std::any_of(changes.begin(), changes.end(), [&](const TimelineChange& change) {
    return is_lost_among_many(change.time_ms, criterion);
  });
  if (!any) return;
  lines.push_back({"Why is a row unclear whose interval leaves out zero?",
                   fmt::format("All rows but those of the total time are judged together (Holm's "
                               "correction): each alone would be wrong in {:g} % of like-with-like "
                               "comparisons, so one of them often would.",
                               100 * (1 - criterion.confidence))});
}

}  // namespace

Answer answer(const Sides& sides) {
  const Criterion& criterion = sides.options.criterion;
  const TimelinePair pair = timeline_pair(sides);
  const std::vector<TimelineChange> changes = compare_means(pair, criterion);
  const std::string unlike_work = unlike_work_in_words(sides);
  Answer result;
  result.headline = single_change(std::nan(""), std::nan(""), model::Better::kLower);
  result.mean = result.headline;
  result.basis = pair.basis;
  if (const TimelineChange* found = headline(changes)) {
    result.headline = found->time_ms;
    const Verdict verdict = found->time_ms.verdict;
    result.regression = verdict == Verdict::kWorse ||
                        (verdict == Verdict::kDifferent && found->time_ms.difference > 0);
    result.lines = {{"Which setting is better?", headline_in_words(*found, pair.basis, sides)},
                    {"Is it real?", is_it_real(*found, pair, sides)},
                    {kWhyQuestion, parts_in_words(changes, pair.basis)},
                    {kNextQuestion, next_in_words(*found, pair.basis, sides)}};
    for (const std::string& doubt : doubts(sides, pair.basis, unlike_work))
      result.lines[0].answer += fmt::format(" But {}.", doubt);
    if (pair.basis.window == Basis::Window::kStep) add_steps(result, sides, changes);
    if (const std::string phases = phases_in_words(compare_phases(sides), sides); !phases.empty())
      result.lines.push_back({kPhasesQuestion, phases});
    result.lines.push_back({"Do the ranks agree?", ranks_in_words(pair, found->type, criterion)});
  } else {
    result.lines = {{"Which setting is better?", "Unknown: neither side has a timeline."}};
  }
  add_missing(result.lines, sides);
  for (const TimelineChange& change : changes)
    if (change.type == kAllSteps) result.mean = change.time_ms;
  if (const auto slow = model::slow_steps(result.headline.verdict, result.mean.verdict);
      slow != model::SlowSteps::kNone) {
    add_recurring(result, sides, slow);
  } else if (may_recur(result, criterion)) {
    add_perhaps_recurring(result);
  }
  if (!unlike_work.empty()) advise_equal_work(result, sides);
  if (!different_ranks(sides).empty()) advise_equal_ranks(result);
  result.baseline_steps = step_count(pair.baseline, pair.basis);
  result.test_steps = step_count(pair.test, pair.basis);
  const bool steps = pair.basis.window == Basis::Window::kStep;
  const std::string whole =
      steps ? whole_window_in_words(sides, result.baseline_steps, result.test_steps)
            : std::string();
  if (!whole.empty()) result.lines.push_back({"And over the whole profiled window?", whole});
  add_lost_among_many(result.lines, changes, criterion);
  add_collectives(result.lines, sides);
  result.compared = compared_in_words(sides, pair);
  result.lines.push_back({"What was compared?", result.compared});
  add_environment(result, sides);
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
