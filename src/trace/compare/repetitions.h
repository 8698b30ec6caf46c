// Defines the independent repetitions of a measurement, which a confidence interval counts.
//
// Two runs of one command differ by more than their steps do (placement, clocks, neighbours on the
// fabric). So where a side was run repeatedly, a repetition is a run, and its value is the mean of
// its measurements; where the other was run once, its runs are taken to differ as much. With a
// single run on either side, only the noise within runs is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/compare/change.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

enum class Repetition {
  kRun,
  kLoneRun,   // run, where one side has several and the other only one
  kStep,      // step within a run
  kInstance,  // instance of a collective, within a run
  kNone,      // whole traces, without repetitions
};

// Returns `within` when both sides have one run.
Repetition repetition(std::size_t baseline_runs, std::size_t test_runs, Repetition within);
Repetition repetition(const Sides& sides, Repetition within);

// Returns whether repetitions are runs, also beside a lone one.
bool counts_runs(Repetition repetition);

// Returns the criterion for changes between such repetitions.
Criterion with_evidence(const Criterion& criterion, Repetition repetition);

// Returns "a/repeat2", or "a" for the only run.
std::string run_name(const std::string& label, int run);
std::string run_name(const Configuration& side, int run);

// Returns "run", "step" or "instance"; "step" also for kNone.
const char* noun(Repetition repetition);

// Returns "1 run" or "3 runs".
std::string counted(std::size_t count, Repetition repetition);

// Returns the number of repetitions behind a change: 0 for whole traces.
std::int64_t repetition_count(std::size_t values, Repetition repetition);

struct RunValue {
  int run = 0;  // as in RankReport
  double value = 0;
};

// Returns one value for each repetition: the mean of each run where it counts runs, otherwise the
// values themselves.
std::vector<double> repetitions(std::span<const RunValue> values, Repetition repetition);

// Returns the sum of each run.
std::vector<double> run_sums(std::span<const RunValue> values);

// Sums and counts per run: means over the runs that have a value.
struct RunTotals {
  double sum = 0;    // mean over runs
  double count = 0;  // values per run, mean over runs
  bool even = true;  // all runs have the same number of values
};

// `runs` is the number of runs: a run without any value makes the totals uneven.
RunTotals run_totals(std::span<const RunValue> values, std::size_t runs);

// Sums of unequal numbers of values cannot be compared; the change then has no difference.
Change total_change(const RunTotals& baseline, const RunTotals& test);

// Returns "59.900 … 60.100 ms over 3 runs".
std::string range_in_words(const Range& range, const char* unit, std::size_t runs, int digits);

}  // namespace assay::trace
