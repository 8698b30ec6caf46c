// Which of any number of settings differ for certain, pair by pair.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/setting_figures.h"

namespace assay::trace {

inline constexpr const char* kPairsSheet = "Pairs";

struct SettingPair {
  std::size_t first = 0;  // positions of the settings; the first takes less time, or as much
  std::size_t second = 0;
  Basis basis = {};
  Change change = {};  // of a step's time, from the second to the first
};

struct SettingPairs {
  std::vector<std::string> labels;  // of the settings, as they were given
  std::vector<std::size_t> order;   // positions, the fastest first; those without a time last
  std::vector<SettingPair> pairs;   // every pair, in this order
  Criterion criterion;
};

// Compares the times of a step as in a comparison of two. The verdicts on all pairs are judged
// together, see judge_together().
SettingPairs compare_pairs(std::span<const SettingFigures> settings, const Criterion& criterion);

// "10 of 15 pairs differ for certain; 1 is the same within 1 %; unclear: a and b." Empty for fewer
// than three settings, whose only pair is the comparison itself.
std::string pairs_in_words(const SettingPairs& pairs);

// Makes the sheet Pairs, one row for each pair.
model::Table pairs_table(const SettingPairs& pairs);

}  // namespace assay::trace
