// The steps of one configuration: which are steady, which are transient, and why.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/analysis.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// One step on one rank, from its sheet `steps`. What the sheet lacks is NaN; reports of earlier
// versions have no such sheet, and periods are then those of gpu_timeline_steps.
struct RankStep {
  int run = 0;  // as in RankReport
  int rank = 0;
  std::int64_t step = 0;
  double period_ms = 0;
  double host_ms = kNaN;  // the GPU was idle and nothing was launched
  double wait_ms = kNaN;  // without GPU work, before the step
  double delay_us = kNaN;
  double queue_length = kNaN;
  double comm_ms = kNaN;
  double compute_ms = kNaN;
  double events = kNaN;  // kernels, copies and fills
  // false: it holds work of the next one, or the trace was cut within it.
  bool is_whole = true;
};

// Returns the steps of ranks, of which mark_cut_steps() marked those that are cut.
std::vector<RankStep> rank_steps(std::span<const RankReport> ranks);

// Steps as run and number.
using StepSet = std::set<std::pair<int, std::int64_t>>;

// Returns the steps that all ranks of their run have whole, or, where there are none, those that
// most have. The mean over ranks of another one is of other work: the trace of a rank was cut
// earlier.
StepSet shared_steps(std::span<const RankStep> steps);

// Why a step differs from the steady ones. The figures are those of `rank`.
enum class Cause {
  kNone,       // nothing that a trace shows
  kHost,       // `rank` waited `ms` longer for its host than in the steady steps, or shorter
  kStraggler,  // the other ranks waited `ms` longer for `rank` in collectives
  kCompute,    // `rank`, the middle one, computed `ms` longer than in the steady steps, or shorter
  kWait,       // the first step; its ranks had no GPU work for `ms` before it
  kFirst,      // the first step, and the trace begins with it
};

// A step of one run, over its ranks.
struct StepState {
  int run = 0;
  std::int64_t step = 0;
  double period_ms = 0;  // mean over ranks
  bool is_first = false;
  bool is_steady = true;
  bool is_of_other_mode = false;  // it would be transient, but has too many like it
  double steady_ms = 0;           // mean period of the run's steady steps
  Cause cause = Cause::kNone;
  int rank = 0;
  double ms = 0;
};

// Returns the shared steps by run and number. A step is transient when find_steady() says so of its
// period (with a cause, unless it is the first or of at least kFewestWithoutCause) or, where its
// period differs from the median by more than kTransientPercent, of the time for which some rank
// waited for its host, and that wait differs in the same direction.
//
// Where two steps or more, and more than kMostTransientPercent of all, would be transient without
// being the first of their run, the work has modes, and steps of all modes are steady. The first
// ones of a run are then transient only if they lie beyond all that follow.
std::vector<StepState> step_states(std::span<const RankStep> steps, Modes modes = Modes::kUsual);
std::vector<StepState> step_states(const Configuration& configuration);

// Returns which modes count in a comparison of two sides: all where the work has modes on one, or
// where the steady steps of one differ among themselves about as much as most transient ones of the
// other do from its steady ones. Otherwise steps of one kind would count on one side alone.
Modes common_modes(std::span<const RankStep> baseline, std::span<const RankStep> test);
void settle_modes(Configuration& baseline, Configuration& test);

StepSet steady_steps(std::span<const StepState> states);

// One run whose ranks are in memory, as far as its steps are concerned.
Configuration steps_of_run(std::string label, std::span<const RankAnalysis> ranks);

// Returns the numbers of the steady steps of a configuration that was run once.
std::set<std::int64_t> steady_numbers(std::span<const RankReport> ranks);

// A rank that waits for its host in the steady steps, or for which the others wait.
struct BoundRank {
  int run = 0;
  int rank = 0;
  double host_ms = 0;    // mean over steady steps
  double share = 0;      // of the mean steady period, in percent
  double others_ms = 0;  // median of what the other ranks communicate longer than this one
  double delay_us = 0;   // mean over steps of the median launch delay
  double queue_length = 0;
  std::int64_t steps = 0;  // steady steps of the run
};

// Waits for the host below this share of a step are of no interest.
inline constexpr double kHostBoundPercent = 2;

// Returns the ranks above kHostBoundPercent, the largest share first.
std::vector<BoundRank> host_bound_ranks(std::span<const RankStep> steps, const StepSet& steady);

}  // namespace assay::trace
