// What a confidence interval counts: independent repetitions of one measurement.
//
// Two runs of one command differ by more than their steps do (placement, clocks, neighbours on
// the fabric), so where both sides were run repeatedly, a repetition is a run: the mean of what
// it measured. With a single run on a side only the noise within runs is known.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/compare/change.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

enum class Repetition {
  kRun,
  kStep,      // within a run
  kInstance,  // of a collective, within a run
  kNone,      // whole traces: nothing repeats
};

// kRun when both sides have at least two runs, else `within`.
Repetition repetition(const Sides& sides, Repetition within);

// "run"; "step" for kNone, of which there are none.
const char* noun(Repetition repetition);

// "1 run", "3 runs".
std::string counted(std::size_t count, Repetition repetition);

// How many repetitions a change has behind it: none for whole traces.
std::int64_t repetition_count(std::size_t values, Repetition repetition);

struct RunValue {
  int run = 0;  // as in RankReport
  double value = 0;
};

// One value a repetition: each run's mean for kRun, else the values as they are.
std::vector<double> repetitions(std::span<const RunValue> values, Repetition repetition);

// Each run's sum.
std::vector<double> run_sums(std::span<const RunValue> values);

// Sums are of a run, never of several: the mean over the runs that have a value.
struct RunTotals {
  double sum = 0;    // mean over runs
  double count = 0;  // values in a run, mean over runs
  bool even = true;  // all runs have equally many values
};

// `runs` is how many there are: one without any value makes the totals uneven.
RunTotals run_totals(std::span<const RunValue> values, std::size_t runs);

// Sums of unequal numbers of values say nothing about speed: then without difference.
Change total_change(const RunTotals& baseline, const RunTotals& test);

// "59.900 … 60.100 ms over 3 runs".
std::string range_in_words(const Range& range, const char* unit, std::size_t runs, int digits);

}  // namespace assay::trace
