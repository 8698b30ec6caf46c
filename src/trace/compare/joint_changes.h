// The changes of several settings against the first, judged together by the noise of all their
// runs. A few runs of one setting tell its noise badly; the runs of all tell it well. Where runs
// were made in a known order, a drift of the machine shows in it and is taken out.
#pragma once

#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/compare/change.h"
#include "trace/compare/setting_figures.h"

namespace assay::trace {

// One run of a setting. Runs of one block, one of each setting, were made one after the other.
struct JointRun {
  int block = 0;     // the repeat
  int position = 0;  // in the order of all runs, from 1; 0 where that is not known
  double value = 0;
};

using JointRuns = std::vector<JointRun>;  // of one setting

// Returns the means of each run of a setting for this row of the timeline (kTotalTime, kAllSteps).
// `positions` has the position of each run, by its number; it may be empty.
JointRuns joint_runs(const SettingFigures& setting,
                     const std::string& type,
                     const std::map<int, int>& positions);

struct JointChanges {
  // The noise that the intervals count.
  enum class Noise {
    kPair,    // of the two settings alone: the spreads of all differ, or there is nothing to pool
    kPooled,  // of all settings together
    kBlocks,  // what is left of it within complete blocks, since the blocks differ
    kTrend,   // what is left of it beside a straight trend over the order of the runs
  };
  Noise noise = Noise::kPair;
  // Of each setting that was run repeatedly, but the first; empty with kPair. The changes are
  // without the effect of the order.
  std::vector<Change> changes = {};
  std::vector<std::size_t> judged = {};                             // the settings of these changes
  double trend_percent = std::numeric_limits<double>::quiet_NaN();  // a run, with kTrend
  double p = std::numeric_limits<double>::quiet_NaN();              // of no such effect of order
};

// The criterion is that of each change. Noise is pooled for three settings or more where Bartlett's
// test at 5 % does not tell their spreads apart and the baseline, which is in every change, is no
// noisier than the others; a setting that is noisier than the pool counts its own spread. Effects
// of the order are taken out where they are significant at 1 %, also for two settings; where noise
// is not pooled, each pair then counts its own beside the effect. A setting that was run once is
// left out; changes are kPair where no other was run repeatedly, or the first was not.
JointChanges joint_changes(std::span<const JointRuns> settings, const Criterion& criterion);

struct FarRun {
  std::size_t setting = 0;
  int block = 0;
  double percent = 0;  // more than the median of its setting
};

// Returns the runs that lie farther than 2 % from the median of their setting, and so far that
// normal noise of all settings alone would have one in about 2 % of sweeps; of settings with three
// runs or more. Their standard deviation is estimated by the median of all differences between two
// runs of a setting.
std::vector<FarRun> far_runs(std::span<const JointRuns> settings);

}  // namespace assay::trace
