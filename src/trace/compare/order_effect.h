// What the order of the runs of several settings explains of the logarithms of their times: a
// straight trend, or differences between blocks. A slow machine adds as large a share to a long
// step as to a short one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/variance_test.h"

namespace assay::trace {

// One run of a setting. Runs of one block, one of each setting, were made one after the other,
// unless they are of several sessions.
struct JointRun {
  int block = 0;     // the repeat
  int position = 0;  // in the order of all runs, from 1; 0 where that is not known
  double value = 0;  // a time in ms; the logarithm of it where effects of the order are looked for
  int session = 0;
};

using JointRuns = std::vector<JointRun>;  // of one setting

std::vector<double> values_of(const JointRuns& runs);
double mean_position(const JointRuns& runs);

struct OrderEffect {
  bool is_trend = false;
  double p = 1;  // of no effect
  core::SampleVariance rest = {};
  double slope = 0;                  // of a trend, a run, in logarithms as all of this
  double position_spread = 0;        // sum of squared deviations of positions within settings
  std::vector<JointRuns> runs = {};  // of each setting, in blocks with runs of another
  std::vector<double> means = {};    // of each setting beside these blocks
};

// Returns the effect that is significant at 1 %: the trend or else the blocks. Blocks replace a
// trend that leaves much more noise than they do, as where the job changed between two blocks;
// where each block has the same order, they alone cannot tell a trend from the settings.
// std::nullopt for no such effect, and where the order is not known.
std::optional<OrderEffect> order_effect(std::span<const JointRuns> settings);

// Returns the variance of the difference between two settings beside blocks, by all runs that link
// them, where that of a run is 1. `settings` are OrderEffect::runs.
double difference_variance(std::span<const JointRuns> settings, std::size_t a, std::size_t b);

}  // namespace assay::trace
