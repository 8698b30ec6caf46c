#include "trace/diff/path_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace assay::trace {
namespace {

std::vector<KernelUse> kernels_at(const std::vector<std::pair<std::string, double>>& places) {
  std::vector<KernelUse> uses;
  for (const auto& [path, us] : places)
    uses.push_back({{path, "op", "", "k"}, GpuWork::kComputation, 1, us, std::nan(""), 1});
  return uses;
}

std::vector<std::string> renamed(const std::vector<std::pair<std::string, double>>& baseline,
                                 const std::vector<std::pair<std::string, double>>& test) {
  std::vector<KernelUse> uses = kernels_at(test);
  rename_paths(matching_paths(kernels_at(baseline), uses), uses);
  std::vector<std::string> paths;
  for (const KernelUse& use : uses)
    paths.push_back(use.key.path);
  return paths;
}

using Paths = std::vector<std::string>;

TEST(PathTree, NamesakesStay) {
  EXPECT_EQ(renamed({{"M_0/L_0", 1}, {"M_0/L_1", 1}}, {{"M_0/L_1", 1}}), (Paths{"M_0/L_1"}));
}

// The test has one more layer before these, so its modules have other numbers.
TEST(PathTree, NumbersMayBeOthers) {
  EXPECT_EQ(renamed({{"M_0/Layer_0/Linear_1", 1}, {"M_0/Layer_1/Linear_9", 1}},
                    {{"M_3/Layer_0/Linear_2", 1}, {"M_3/Layer_1/Linear_10", 1}}),
            (Paths{"M_0/Layer_0/Linear_1", "M_0/Layer_1/Linear_9"}));
}

TEST(PathTree, NumbersOrderTheModulesOfAClass) {
  EXPECT_EQ(renamed({{"M_0/L_2", 1}, {"M_0/L_10", 1}}, {{"M_0/L_30", 1}, {"M_0/L_4", 1}}),
            (Paths{"M_0/L_10", "M_0/L_2"}));
}

TEST(PathTree, AWrapperIsSeenThrough) {
  EXPECT_EQ(renamed({{"M_0/L_0", 1}}, {{"Wrapper_0", 1}, {"Wrapper_0/M_0/L_0", 1}}),
            (Paths{"Wrapper_0", "M_0/L_0"}));
  EXPECT_EQ(renamed({{"Wrapper_0/M_0/L_0", 1}}, {{"M_0/L_0", 1}}), (Paths{"Wrapper_0/M_0/L_0"}));
}

TEST(PathTree, WhatOnlyTheTestHasKeepsItsNameAtItsPlace) {
  EXPECT_EQ(renamed({{"M_0/L_0", 1}}, {{"M_7/L_0", 1}, {"M_7/Norm_2/K_1", 1}}),
            (Paths{"M_0/L_0", "M_0/Norm_2/K_1"}));
}

TEST(PathTree, SumsWhatIsInsideAndSortsByEffect) {
  const auto rows = path_differences(kernels_at({{"M/A", 10}, {"M/B", 20}, {"", 5}}),
                                     kernels_at({{"M/A", 11}, {"M/B", 50}, {"N", 3}}));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].path, "M");
  EXPECT_EQ(rows[0].effect_us(), 31);
  EXPECT_EQ(rows[0].baseline_kernels, 2);
  EXPECT_EQ(rows[1].path, "M/B");
  EXPECT_EQ(rows[1].depth, 1);
  EXPECT_EQ(rows[2].path, "M/A");
  EXPECT_EQ(rows[3].path, "N");
  EXPECT_EQ(rows[3].test_us, 3);
}

}  // namespace
}  // namespace assay::trace
