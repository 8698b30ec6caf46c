#include "trace/attribution/attribution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/counted.h"
#include "trace/attribution/details.h"
#include "trace/attribution/replay.h"
#include "trace/attribution/resolution.h"
#include "trace/path/critical_path.h"

namespace assay::trace::attribution {
namespace {

using path::Execution;

constexpr double kNanosecondsPerMs = 1e6;

// Runs of the two sides that are set side by side, with the weight of the pair.
struct RunPair {
  std::size_t a = 0;
  std::size_t b = 0;
  double weight = 0;
};

// Every run has the same weight within its side.
std::vector<RunPair> run_pairs(std::size_t runs_a, std::size_t runs_b) {
  std::vector<RunPair> pairs;
  // Both sides in units of 1 / (runs_a runs_b).
  std::size_t left_a = runs_b;
  std::size_t left_b = runs_a;
  RunPair pair;
  while (pair.a < runs_a && pair.b < runs_b) {
    const std::size_t taken = std::min(left_a, left_b);
    pair.weight = static_cast<double>(taken) / static_cast<double>(runs_a * runs_b);
    pairs.push_back(pair);
    left_a -= taken;
    left_b -= taken;
    if (left_a == 0) {
      ++pair.a;
      left_a = runs_b;
    }
    if (left_b == 0) {
      ++pair.b;
      left_b = runs_a;
    }
  }
  return pairs;
}

double milliseconds(const path::StepMark& step) {
  return static_cast<double>(step.period_ns) / kNanosecondsPerMs;
}

std::vector<bool> chosen_steps(const Execution& execution, const ChooseSteps& choose) {
  return choose ? choose(execution) : std::vector<bool>(execution.steps.size(), true);
}

double counted_steps(const PreparedRun& run) {
  return static_cast<double>(std::count(run.counts.begin(), run.counts.end(), true));
}

double mean_step_ms(const PreparedRun& run) {
  double sum = 0;
  for (std::size_t s = 0; s < run.counts.size(); ++s)
    if (run.counts[s]) sum += milliseconds(run.execution->steps[s]);
  return sum / counted_steps(run);
}

// Several runs tell the noise between them, one run only that between its steps.
std::vector<double> repetitions_ms(std::span<const PreparedRun> runs) {
  std::vector<double> result;
  if (runs.size() > 1) {
    for (const PreparedRun& run : runs)
      result.push_back(mean_step_ms(run));
    return result;
  }
  const PreparedRun& run = runs.front();
  for (std::size_t s = 0; s < run.counts.size(); ++s)
    if (run.counts[s]) result.push_back(milliseconds(run.execution->steps[s]));
  return result;
}

double mean_step_ms(std::span<const PreparedRun> runs) {
  double sum = 0;
  for (const PreparedRun& run : runs)
    sum += mean_step_ms(run);
  return sum / static_cast<double>(runs.size());
}

std::pair<std::vector<PreparedRun>, std::vector<PreparedRun>> prepare(Executions a,
                                                                      Executions b,
                                                                      const ChooseSteps& choose) {
  std::pair<std::vector<PreparedRun>, std::vector<PreparedRun>> sides;
  for (const Execution* execution : a)
    sides.first.push_back(
        {execution, path::places_of(*execution), {}, chosen_steps(*execution, choose)});
  for (const Execution* execution : b)
    sides.second.push_back(
        {execution, path::places_of(*execution), {}, chosen_steps(*execution, choose)});
  std::vector<path::Placed> placed;
  for (auto* side : {&sides.first, &sides.second})
    for (const PreparedRun& run : *side)
      placed.push_back({run.execution, &run.places});
  std::vector<path::Waits> waits = path::find_waits(placed);
  auto next = waits.begin();
  for (auto* side : {&sides.first, &sides.second})
    for (PreparedRun& run : *side)
      run.waits = std::move(*next++);
  return sides;
}

// Returns the mean of the steps that count in both runs; 0 where there are none.
double mean_of_counted(const PairGraph& graph, const std::vector<double>& lengths) {
  double sum = 0;
  for (std::size_t s = 0; s < graph.steps; ++s)
    sum += graph.counts(s) ? lengths[s] : 0;
  const std::size_t count = graph.counted_steps();
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

// Returns by how much the mean step changes with each cause, in the mean of both orders.
std::array<double, kCauses> changes_ms(const PairGraph& graph, const AllPieces& pieces) {
  Replay replay(graph, pieces);
  std::array<double, kCauses> result = {};
  for (const bool forward : {true, false}) {
    Mix mix;
    double before = mean_of_counted(graph, replay.step_lengths(mix));
    for (std::size_t i = 0; i < kCauses; ++i) {
      const std::size_t cause = forward ? i : kCauses - 1 - i;
      mix.set(cause);
      if (!replay.differs(static_cast<Cause>(cause))) continue;
      const double after = mean_of_counted(graph, replay.step_lengths(mix));
      result[cause] += (after - before) / 2 / kNanosecondsPerMs;
      before = after;
    }
  }
  return result;
}

// Which part of the critical path shows a cause.
std::optional<path::Part> shown_by(Cause cause) {
  switch (cause) {
    case Cause::kKernels:
      return path::Part::kComputation;
    case Cause::kBandwidth:
      return path::Part::kCommunication;
    case Cause::kUnmatched:
      return path::Part::kUnmatched;
    case Cause::kStraggler:
      return path::Part::kStraggler;
    case Cause::kHost:
      return path::Part::kHost;
    case Cause::kOther:
      return path::Part::kIdle;
    default:
      return std::nullopt;
  }
}

std::array<double, kCauses> on_path_ms(std::span<const PreparedRun> runs) {
  std::array<double, path::kPartNames.size()> parts = {};
  for (const PreparedRun& run : runs) {
    const auto path = path::critical_path(*run.execution, run.waits);
    const std::vector<path::Composition> steps = path::compositions(*run.execution, path);
    const std::vector<bool> counts = run.execution->whole_steps(run.counts);
    const double share = static_cast<double>(runs.size()) *
                         static_cast<double>(std::count(counts.begin(), counts.end(), true));
    for (std::size_t s = 0; s < steps.size(); ++s)
      for (std::size_t p = 0; p < parts.size() && counts[s]; ++p)
        parts[p] += static_cast<double>(steps[s][p]) / kNanosecondsPerMs / share;
  }
  std::array<double, kCauses> result = {};
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    const auto part = shown_by(static_cast<Cause>(cause));
    result[cause] = part ? parts[static_cast<std::size_t>(*part)] : std::nan("");
  }
  result[static_cast<std::size_t>(Cause::kKernels)] +=
      parts[static_cast<std::size_t>(path::Part::kCopy)];
  return result;
}

void note_unlike_steps(std::span<const PreparedRun> a,
                       std::span<const PreparedRun> b,
                       std::vector<std::string>& notes) {
  const auto counted = [](const PreparedRun& run) {
    return std::count(run.counts.begin(), run.counts.end(), true);
  };
  auto fewest = counted(a.front());
  auto most = fewest;
  for (const auto& side : {a, b}) {
    for (const PreparedRun& run : side) {
      fewest = std::min(fewest, counted(run));
      most = std::max(most, counted(run));
    }
  }
  if (fewest != most)
    notes.push_back(fmt::format(
        "Of some runs {} and of others {} {} in the mean: as many are set side by side; what the "
        "further ones change is 'other'.",
        fewest, core::counted(static_cast<std::size_t>(most), "step"), most == 1 ? "is" : "are"));
}

// Returns the ranks of which no run tells when the host launched their work.
std::vector<int> ranks_without_launches(Executions a, Executions b) {
  std::set<int> ranks;
  for (const auto& side : {a, b})
    for (const Execution* execution : side)
      for (const path::Rank& rank : execution->ranks)
        if (std::none_of(
                execution->works.begin() + rank.first, execution->works.begin() + rank.last,
                [](const path::Work& work) { return work.launched_ns != path::kUnknownTime; }))
          ranks.insert(rank.number);
  return {ranks.begin(), ranks.end()};
}

// A clock that was set ahead moves one rank away from the others. Causes then cancel each other,
// such as an hour of idle time and a straggler of minus an hour.
core::Status check_causes(const Attribution& attribution) {
  const double longest_ms = std::max(attribution.a_ms, attribution.b_ms);
  const bool fit =
      std::all_of(attribution.change_ms.begin(), attribution.change_ms.end(),
                  [longest_ms](double change_ms) { return std::fabs(change_ms) <= longest_ms; });
  if (fit) return {};
  return core::Error{"a cause would take longer than their steps, as after a clock was set ahead"};
}

}  // namespace

core::Result<Attribution> attribute(Executions a,
                                    Executions b,
                                    std::optional<ClockChange> clock,
                                    const ChooseSteps& choose) {
  for (const auto& side : {a, b})
    for (const Execution* execution : side)
      if (execution->works.empty()) return core::Error{"a run has no GPU work"};
  if (a.empty() || b.empty()) return core::Error{"a side has no run"};
  const auto [runs_a, runs_b] = prepare(a, b, choose);
  SharedTimes times = shared_times(runs_a, runs_b);
  times.clock = clock;
  Attribution result;
  result.ranks_without_launches = ranks_without_launches(a, b);
  result.has_one_size = times.has_one_size;
  result.a_ms = mean_step_ms(runs_a);
  result.b_ms = mean_step_ms(runs_b);
  DetailCounter details;
  for (const RunPair& pair : run_pairs(runs_a.size(), runs_b.size())) {
    const PairGraph graph = ASSAY_TRY(pair_graph(runs_a[pair.a], runs_b[pair.b]));
    const AllPieces pieces = all_pieces(graph, times, pair.a, pair.b);
    const auto changes = changes_ms(graph, pieces);
    for (std::size_t cause = 0; cause < kCauses; ++cause)
      result.change_ms[cause] += pair.weight * changes[cause];
    details.add(graph, pieces, pair.weight);
  }
  double explained_ms = 0;
  for (const double change : result.change_ms)
    explained_ms += change;
  double& other_ms = result.change_ms[static_cast<std::size_t>(Cause::kOther)];
  other_ms += result.total_ms() - explained_ms;
  // The rest that rounding of doubles leaves is no cause.
  constexpr double kRoundingMs = 1e-9;
  if (std::fabs(other_ms) < kRoundingMs) other_ms = 0;
  ASSAY_TRY(check_causes(result));
  result.path_a_ms = on_path_ms(runs_a);
  result.path_b_ms = on_path_ms(runs_b);
  result.resolution_ms =
      resolution_ms(result, {.a_ms = repetitions_ms(runs_a), .b_ms = repetitions_ms(runs_b)});
  result.details = std::move(details).largest(least_details_ms(result));
  if (result.tells(static_cast<std::size_t>(Cause::kOther)))
    note_unlike_steps(runs_a, runs_b, result.notes);
  return result;
}

}  // namespace assay::trace::attribution
