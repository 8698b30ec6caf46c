#include "allreduce/bench/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace assay::allreduce {
namespace {

TEST(AllreducePlan, TheGridIsThatOfTheTables) {
  const Axes axes = default_axes(Shapes::kGrid);
  EXPECT_EQ(axes.hidden_sizes, (std::vector<std::int64_t>{128, 256, 512, 1024, 1536, 2048, 2880,
                                                          3072, 4096, 5120, 6144, 7168, 8192}));
  EXPECT_EQ(axes.num_tokens.size(), 15U);
  EXPECT_EQ(axes.num_tokens.back(), 16384);
  const auto cells = plan_cells(4, axes, {});
  EXPECT_EQ(cells.size(), 4U * 13U * 15U);
  EXPECT_EQ(std::set<Cell>(cells.begin(), cells.end()).size(), cells.size());
  for (const Cell& cell : cells)
    EXPECT_EQ(cell.world_size, 4);
}

TEST(AllreducePlan, HeldOutShapesAreNotOnTheGrid) {
  const auto grid = plan_cells(2, default_axes(Shapes::kGrid), {});
  const std::set<Cell> known(grid.begin(), grid.end());
  const auto held_out = plan_cells(2, default_axes(Shapes::kHeldOut), {});
  EXPECT_EQ(held_out.size(), 4U * 7U * 13U);
  for (const Cell& cell : held_out)
    EXPECT_EQ(known.count(cell), 0U);
}

// The first tenth of the plan must already span nearly the whole of every axis.
TEST(AllreducePlan, WhatComesFirstSpansTheWholeGrid) {
  auto cells = plan_cells(2, default_axes(Shapes::kGrid), {});
  cells.resize(cells.size() / 10);
  std::set<Fusion> fusions;
  std::set<std::int64_t> hidden_sizes;
  std::set<std::int64_t> num_tokens;
  for (const Cell& cell : cells) {
    fusions.insert(cell.fusion);
    hidden_sizes.insert(cell.hidden_size);
    num_tokens.insert(cell.num_tokens);
  }
  EXPECT_EQ(fusions.size(), 4U);
  EXPECT_LE(*hidden_sizes.begin(), 128);
  EXPECT_GE(*hidden_sizes.rbegin(), 5120);
  EXPECT_LE(*num_tokens.begin(), 1);
  EXPECT_GE(*num_tokens.rbegin(), 4096);
}

TEST(AllreducePlan, FiltersBySizeAndNumber) {
  const Axes axes = default_axes(Shapes::kGrid);
  const auto small = plan_cells(2, axes, {.min_size_bytes = 1024, .max_size_bytes = 65536});
  EXPECT_FALSE(small.empty());
  for (const Cell& cell : small) {
    EXPECT_GE(cell.size_bytes(), 1024);
    EXPECT_LE(cell.size_bytes(), 65536);
  }
  EXPECT_EQ(plan_cells(2, axes, {.most_cells = 7}).size(), 7U);
}

TEST(AllreducePlan, AValueCountsOnce) {
  Axes axes = default_axes(Shapes::kGrid);
  axes.fusions = {Fusion::kNone, Fusion::kNone};
  axes.hidden_sizes = {4096, 4096};
  axes.num_tokens = {1, 2, 1};
  EXPECT_EQ(plan_cells(2, axes, {}).size(), 2U);
}

TEST(AllreducePlan, NamesABadValue) {
  const auto problem = [](std::vector<std::int64_t> hidden, std::vector<std::int64_t> tokens) {
    Axes axes = default_axes(Shapes::kGrid);
    axes.hidden_sizes = std::move(hidden);
    axes.num_tokens = std::move(tokens);
    const auto status = check_axes(axes);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(problem({128}, {1}), "");
  EXPECT_EQ(problem({100}, {1}), "hidden size 100 is not a multiple of 8");
  EXPECT_EQ(problem({128}, {0}), "token count 0 is less than 1");
  EXPECT_EQ(problem({}, {1}), "nothing to measure: an axis has no value");
  EXPECT_EQ(problem({std::int64_t{1} << 60}, {1 << 20}),
            "1048576 tokens of hidden size 1152921504606846976 are more than 1 TiB");
}

TEST(AllreducePlan, TpSizesFitTheGpus) {
  EXPECT_EQ(default_world_sizes(8).value(), (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(default_world_sizes(6).value(), (std::vector<int>{2, 4}));
  EXPECT_EQ(default_world_sizes(1).error().message,
            "an all-reduce takes at least 2 GPUs, and only one is here");
  EXPECT_EQ(default_world_sizes(0).error().message,
            "an all-reduce takes at least 2 GPUs, and none is here");
}

}  // namespace
}  // namespace assay::allreduce
