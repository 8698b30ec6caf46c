#include "trace/sheets/work_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using Side = testing::SmallTrace::Side;

TEST(WorkTable, CountsKernelsAndWhatTheirOperatorsTakeIn) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 500);
  small.annotation("ProfilerStep#2", Side::kCpu, 500, 500);
  for (const int start : {10, 110, 510}) {
    small.op({.name = "aten::mm",
              .start = start,
              .duration = 50,
              .arguments = R"("Input Dims": [[4, 4], [], [[2, 3], [2]]])"});
    small.launch("gemm", 1, start + 5, 10);
  }
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  const model::Table table = work_table(rank);
  ASSERT_EQ(table.row_count(), 2U);
  EXPECT_EQ(model::number(table.at(0, 0)), 1);
  EXPECT_EQ(model::number(table.at(0, 1)), 2);
  EXPECT_EQ(model::number(table.at(1, 1)), 1);
  EXPECT_EQ(model::number(table.at(0, 2)), 24);
  EXPECT_EQ(model::number(table.at(0, 3)), 0);
}

TEST(WorkTable, WhatCollectivesDoNotRecordIsNotZero) {
  testing::SmallTrace small;
  small.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1, 10, 10);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  const model::Table table = work_table(rank);
  EXPECT_TRUE(std::isnan(model::number(table.at(0, 0))));
  EXPECT_EQ(model::number(table.at(0, 3)), 1);
  EXPECT_TRUE(std::isnan(model::number(table.at(0, 4))));
}

}  // namespace
}  // namespace assay::trace
