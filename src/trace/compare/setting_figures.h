// What a comparison of any number of settings needs of one of them. It is small, so that all
// settings fit into memory at once while their traces do not.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/configuration.h"
#include "trace/compare/other_work.h"
#include "trace/compare/repeated_runs.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

// Who came last to one collective that no rank leaves before all have arrived.
struct Arrival {
  std::optional<int> last_rank = std::nullopt;  // empty if several came last
  double others_wait_us = 0;                    // mean over the other ranks
  std::vector<int> ranks = {};
};

struct RunArrivals {
  int run = 0;
  std::vector<Arrival> arrivals = {};  // by time
};

struct SettingFigures {
  std::string label;
  bool is_applied = true;  // false: its variables did nothing, so that no pair has it
  std::set<int> ranks = {};
  std::vector<int> runs = {};
  std::vector<RepeatedRun> repeated = {};        // that `runs` lacks
  std::map<int, Fingerprint> fingerprints = {};  // of runs
  StepWork work = {};
  std::map<int, int> positions = {};  // of runs in the order of all, from 1, where it is known
  std::map<int, int> sessions = {};   // of runs, between which the machine did something else
  std::vector<TimelineFigure> steady = {};  // steady_figures()
  std::vector<TimelineFigure> whole = {};   // whole_trace_figures()
  model::Book timelines = {};               // summary_of_runs()
  model::Book collectives = {};             // the summaries of the collective report
  std::vector<RunArrivals> arrivals = {};
  std::map<int, double> host_ms = {};  // by rank: its wait for its host in a steady step
  std::size_t steps = 0;               // profiled, over all runs
  std::string gpu_name = {};           // "NVIDIA H200"; "" where nothing names it
};

SettingFigures figures_of(const Configuration& configuration, Compat compat);

// Returns the means over ranks of what both settings name: their steady steps or, where one has no
// steps, their whole traces.
TimelinePair timeline_pair(const SettingFigures& baseline, const SettingFigures& test);

}  // namespace assay::trace
