#include "collect/run/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect/run/run_state.h"

namespace assay::collect {
namespace {

using testing::ElementsAre;

std::int64_t begin(store::Store& store,
                   const std::string& started_at,
                   const std::map<std::string, std::string>& facts) {
  return store
      .begin_run({.kind = kCollectRun,
                  .started_at = started_at,
                  .device = "NVIDIA H200",
                  .plan_hash = started_at,
                  .facts = facts})
      .value();
}

std::vector<std::string> operators_of(const Coverage& coverage) {
  std::vector<std::string> names;
  for (const OperatorTally& one : coverage.tally.operators())
    names.push_back(one.name);
  return names;
}

TEST(ReadCoverage, JudgesEachOperatorByItsNewestCollection) {
  store::Store store = store::Store::in_memory().value();
  const std::int64_t first = begin(store, "1", {{"expected gemm", "9"}, {"expected moe", "5"}});
  begin(store, "2", {{"expected gemm", "2"}, {store::kRefinesFact, std::to_string(first)}});
  begin(store, "3", {{"expected moe", "3"}});
  const std::vector<Coverage> coverages = read_coverage(store, "").value();
  ASSERT_EQ(coverages.size(), 3U);
  EXPECT_THAT(operators_of(coverages[0]), ElementsAre("gemm"));
  EXPECT_THAT(operators_of(coverages[1]), ElementsAre("gemm"));
  EXPECT_TRUE(coverages[1].is_addition);
  EXPECT_THAT(operators_of(coverages[2]), ElementsAre("moe"));
  EXPECT_EQ(coverages[2].findings().front().count, 3);
  EXPECT_EQ(read_coverage(store, "gemm_perf").value().size(), 2U);
}

TEST(ReadCoverage, ANewerGridReplacesAnOlderOneWithItsRefinements) {
  store::Store store = store::Store::in_memory().value();
  const std::int64_t first = begin(store, "1", {{"expected gemm", "9"}});
  begin(store, "2", {{"expected gemm", "2"}, {store::kRefinesFact, std::to_string(first)}});
  begin(store, "3", {{"expected gemm", "4"}});
  const std::vector<Coverage> coverages = read_coverage(store, "").value();
  ASSERT_EQ(coverages.size(), 1U);
  EXPECT_EQ(coverages[0].started_at, "3");
}

TEST(ReadCoverage, WhatUnlessInAddsDoesNotReplaceTheCollection) {
  store::Store store = store::Store::in_memory().value();
  begin(store, "1", {{"expected gemm", "9"}});
  begin(store, "2", {{"expected gemm", "4"}});
  begin(store, "3", {{"expected gemm", "2"}, {"setting --unless-in", "h200_sxm"}});
  const std::vector<Coverage> coverages = read_coverage(store, "").value();
  ASSERT_EQ(coverages.size(), 2U);
  EXPECT_EQ(coverages[0].started_at, "2");
  EXPECT_EQ(coverages[0].findings().front().weight, store::Weight::kProblem);
  EXPECT_TRUE(coverages[1].is_addition);
  EXPECT_EQ(coverages[1].findings().front().weight, store::Weight::kRemark);
}

TEST(ReadCoverage, ASampleOfTheCasesDoesNotReplaceTheCollection) {
  store::Store store = store::Store::in_memory().value();
  begin(store, "1", {{"expected gemm", "9"}, {"setting --limit", "0"}});
  begin(store, "2", {{"expected gemm", "2"}, {"setting --limit", "2"}});
  const std::vector<Coverage> coverages = read_coverage(store, "").value();
  ASSERT_EQ(coverages.size(), 2U);
  EXPECT_EQ(coverages[0].findings().front().weight, store::Weight::kProblem);
  EXPECT_EQ(coverages[1].findings().front().weight, store::Weight::kRemark);
}

}  // namespace
}  // namespace assay::collect
