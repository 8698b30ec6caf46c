// The input of a comparison: the tables of one configuration, from fresh traces or from the JSON
// twins that an earlier analysis left beside its workbooks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/facts.h"
#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/lost_ranks.h"
#include "trace/options.h"
#include "trace/path/execution.h"

namespace assay::trace {

// `book` holds
//   gpu_timeline        type, time ms, percent: one row for each type, over the whole counted time
//   gpu_timeline_steps  step, type, time ms, percent: one row for each profiled step and type;
//                       absent when the trace names no steps
struct RankReport {
  int rank = 0;
  model::Book book;
  int run = 0;  // N of repeatN; 0 when the configuration was run once
};

// The column that holds the number of the run, in configurations that have repeats.
inline constexpr const char* kRepeatColumn = "repeat";

// The environment in which one run was measured.
struct RunEnvironment {
  int run = 0;
  model::Facts facts;
};

// GPU work that the figures exclude, summed over ranks.
struct LeftOut {
  std::int64_t leaked_kernels = 0;  // launched before the profile began
  double leaked_ms = 0;
  std::int64_t outside_kernels = 0;  // launched in the profile but outside its steps
  double outside_ms = 0;
};

// A run that is left out because it is the same measurement as another; see repeated_runs.h.
struct RepeatedRun {
  int run = 0;
  int original = 0;
};

// Which modes of the work count: the usual one, unless there are too many steps of others (see
// step_states.h), or all. In a comparison all count on both sides if they do on one.
enum class Modes { kUsual, kAll };

struct Configuration {
  std::string label;
  std::vector<RankReport> ranks;  // ranks of all runs
  // The sheets of the collective report; may be empty. The sheets of several runs are stacked, with
  // kRepeatColumn.
  model::Book collectives;
  std::optional<LeftOut> left_out = std::nullopt;
  std::vector<int> runs = {0};
  std::vector<RunEnvironment> environments = {};  // one entry for each run that recorded it
  std::vector<LostRank> lost_ranks = {};          // that `ranks` and `collectives` lack
  std::vector<RepeatedRun> repeated = {};         // that `runs` lacks
  Modes modes = Modes::kUsual;
  // One for each run, where the runs were read from their traces.
  std::vector<std::shared_ptr<const path::Execution>> executions = {};
};

struct CompareOptions {
  Compat compat = Compat::kNone;
  Criterion criterion = {};
};

// The two sides of one comparison. Both configurations must outlive it.
struct Sides {
  const Configuration& baseline;
  const Configuration& test;
  CompareOptions options = {};
};

}  // namespace assay::trace
