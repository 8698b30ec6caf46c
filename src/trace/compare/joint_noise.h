// The noise of all runs of several settings, by which changes between them are judged. A few runs
// of one setting tell its noise badly; the runs of all tell it well. Where runs were made in a
// known order, a drift of the machine shows in it and is taken out. Noise and drift are shares of
// a time, so all is computed with logarithms, and means are geometric.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/variance_test.h"
#include "trace/compare/change.h"
#include "trace/compare/order_effect.h"
#include "trace/compare/setting_figures.h"

namespace assay::trace {

// Returns the means of each run of a setting for this row of the timeline (kTotalTime, kAllSteps).
JointRuns joint_runs(const SettingFigures& setting, const std::string& type);

// The logarithms of the times of one setting, their noise beside what the order of the runs
// explains, and how well that is known.
struct JointSetting {
  JointRuns runs = {};  // without a trend, at the mean position of the first setting
  core::SampleVariance noise = {};
  double mean = 0;      // without an effect of the order
  double position = 0;  // the mean of its runs'
  double weight = 0;    // how much of its variance that of the slope counts
};

// Noise is pooled for three settings or more where Bartlett's test at 5 % does not tell their
// spreads apart and the first, with which the others are compared, is no noisier than they; a
// setting that is noisier than the pool counts its own spread, and one with few runs no more
// freedom than a pool of such settings. Effects of the order are taken out
// where they are significant at 1 %, also for two settings; where noise is not pooled, each pair
// then counts its own beside the effect. Settings that were run once, or have times of zero, are
// left out.
class JointNoise {
 public:
  enum class Kind {
    kPair,    // of two settings alone: the spreads of all differ, or there is nothing to pool
    kPooled,  // of all settings together
    kBlocks,  // what is left of it within blocks, which differ
    kTrend,   // what is left of it beside a straight trend over the order of the runs
  };

  // It is kPair where the first setting or all others are left out.
  explicit JointNoise(std::span<const JointRuns> settings);

  [[nodiscard]] Kind kind() const { return kind_; }

  [[nodiscard]] double trend_percent() const { return trend_percent_; }  // a run, with kTrend

  [[nodiscard]] double p() const { return p_; }  // of no such effect of the order

  // Returns whether a setting is judged by this noise; never with kPair.
  [[nodiscard]] bool knows(std::size_t setting) const;

  // Returns whether the change from one to another is: where blocks differ, they share two at
  // least, or the noise of all settings is pooled, so that these link them.
  [[nodiscard]] bool knows(std::size_t baseline, std::size_t test) const;

  // Returns whether blocks differ and it does not know the change from one to another, both of
  // which were run repeatedly: their means would hold the blocks.
  [[nodiscard]] bool are_apart(std::size_t baseline, std::size_t test) const;

  // Returns the change between two such settings, which has no interval.
  [[nodiscard]] Change change_apart(std::size_t baseline, std::size_t test) const;

  // Returns the mean of a setting that it knows, without the effect of the order.
  [[nodiscard]] double mean(std::size_t setting) const;

  // Returns the change from one setting to another, where it knows that.
  [[nodiscard]] Change change(std::size_t baseline,
                              std::size_t test,
                              const Criterion& criterion) const;

 private:
  [[nodiscard]] double variance_of(const JointSetting& setting) const;
  [[nodiscard]] double pool_freedom(std::size_t fewest_runs) const;
  [[nodiscard]] Change within_blocks(const JointSetting& from,
                                     const JointSetting& to,
                                     const Criterion& criterion) const;
  [[nodiscard]] Change across_blocks(std::size_t baseline,
                                     std::size_t test,
                                     const Criterion& criterion) const;
  [[nodiscard]] Change beside_trend(const JointSetting& from,
                                    const JointSetting& to,
                                    const Criterion& criterion) const;

  Kind kind_ = Kind::kPair;
  double trend_percent_ = std::numeric_limits<double>::quiet_NaN();
  double p_ = std::numeric_limits<double>::quiet_NaN();
  bool is_pooled_ = false;
  core::SampleVariance pool_ = {};
  std::vector<JointSetting> settings_ = {};              // those that are not left out
  std::vector<std::optional<std::size_t>> places_ = {};  // of each setting among them
};

// Returns whether both have the same effect of the order, by three digits of a trend.
bool has_the_effect_of(const JointNoise& noise, const JointNoise& other);

// The verdict on two settings that are apart.
inline constexpr const char* kApart = "Unknown: fewer than two repeats shared";

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
