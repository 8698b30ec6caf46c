// Which of any number of settings differ for certain, pair by pair.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/joint_noise.h"
#include "trace/compare/setting_figures.h"

namespace assay::trace {

inline constexpr const char* kPairsSheet = "Pairs";

struct SettingPair {
  std::size_t first = 0;  // positions of the settings; the first takes less time, or as much
  std::size_t second = 0;
  Basis basis = {};
  // The change of a steady step's time from the second to the first is without effects of the
  // order.
  Change change = {};
  bool is_apart = false;  // it is not known, see JointNoise::are_apart()
  Change all_steps = {};  // the same of the mean of all profiled steps, judged as a ranking does
  model::SlowSteps slow = model::SlowSteps::kNone;  // the latter contradicts the former
};

struct SettingPairs {
  std::vector<std::string> labels;  // of the settings, as they were given
  // Positions of those that were applied, the fastest first; those without a time last.
  std::vector<std::size_t> order;
  std::vector<SettingPair> pairs;  // every pair of these, in this order
  Criterion criterion = {};
  double each = 0.95;  // confidence of the interval of each
  JointNoise::Kind noise = JointNoise::Kind::kPair;
};

// Compares the times of a step by the noise of all settings (see JointNoise) where the first of
// them is their baseline, or else as in a comparison of two. Intervals are as wide as those of one
// setting with all others that hold together, as a ranking has them; so no verdict contradicts a
// ranking's, and means of all steps contradict here where they do there, but the verdicts on all
// pairs are judged together, too (see judge_together()), so that some are unclear here alone.
SettingPairs compare_pairs(std::span<const SettingFigures> settings, const Criterion& criterion);

// Says what was taken out of the times; "" for nothing.
const char* order_in_words(JointNoise::Kind noise);

// "10 of 15 pairs differ for certain; 1 is the same within 1 %; unclear: a and b." Empty for fewer
// than three settings, whose only pair is the comparison itself.
std::string pairs_in_words(const SettingPairs& pairs);

// Makes the sheet Pairs, one row for each pair.
model::Table pairs_table(const SettingPairs& pairs);

}  // namespace assay::trace
