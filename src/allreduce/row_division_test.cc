#include "allreduce/row_division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace assay::allreduce {
namespace {

// Launches share this rule. Times are in the comment of cluster_of().
TEST(RowDivision, LongRowsAreShared) {
  const auto divided = [](std::int64_t rows, int vectors, int asked = 0) {
    const RowDivision division = divide_rows({.count = rows,
                                              .vectors = vectors,
                                              .most_of_block = 512,
                                              .multiprocessors = 132,
                                              .asked_threads = asked});
    return std::array{division.cluster, division.threads_of_row, division.threads};
  };
  EXPECT_EQ(divided(1, 8), (std::array{1, 8, 128})) << "16 rows in a block";
  EXPECT_EQ(divided(1, 20), (std::array{1, 32, 128}));
  EXPECT_EQ(divided(1, 80), (std::array{1, 96, 96}));
  EXPECT_EQ(divided(1, 512), (std::array{8, 64, 64}));
  EXPECT_EQ(divided(64, 512), (std::array{8, 64, 64}));
  EXPECT_EQ(divided(128, 512), (std::array{4, 128, 128}));
  EXPECT_EQ(divided(1000, 512), (std::array{1, 512, 512})) << "all SMs have enough to do";
  EXPECT_EQ(divided(1000, 1024), (std::array{2, 512, 512})) << "as much as a block takes";
  EXPECT_EQ(divided(1000, 1024, 256), (std::array{4, 256, 256}));
}

TEST(RowDivision, ALaunchMayAskForTheBlocksOfARow) {
  const RowsToDivide rows{
      .count = 64, .vectors = 512, .most_of_block = 256, .multiprocessors = 132};
  EXPECT_EQ(fewest_blocks(rows), 2);
  RowsToDivide asked = rows;
  asked.asked_cluster = 2;
  EXPECT_EQ(divide_rows(rows).cluster, 8) << "64 rows are spread over more SMs";
  EXPECT_EQ(divide_rows(asked).cluster, 2);
  EXPECT_EQ(divide_rows(asked).threads, 256);
}

// A GPU with 132 SMs that hold so many threads of a kernel each.
struct Gpu {
  int threads = 2048;

  int operator()(const RowDivision& division) const {
    return std::max(1, threads / division.threads * 132 / division.cluster);
  }
};

int blocks_of_row(int count, int vectors, RowBlocks blocks, const Gpu& gpu, int most = 1024) {
  return divide_rows(
             {.count = count, .vectors = vectors, .most_of_block = most, .multiprocessors = 132},
             blocks, gpu)
      .cluster;
}

TEST(RowDivision, RowsThatTheGpuDoesNotHoldAtOnceComeInEvenRounds) {
  const Gpu gpu{.threads = 960};  // 3 blocks of 320 threads
  EXPECT_EQ(gpu({.cluster = 2, .threads = 320}), 198);
  EXPECT_EQ(gpu({.cluster = 1, .threads = 640}), 132);
  for (const auto& [count, expected] : {std::pair{198, 2}, {200, 2}, {230, 2}, {231, 1}, {256, 1}})
    EXPECT_EQ(blocks_of_row(count, 640, RowBlocks::kByRows, gpu), expected) << count;
  const Gpu even{.threads = 1280};  // 264 either way
  EXPECT_EQ(blocks_of_row(1000, 640, RowBlocks::kByRows, even), 1) << "many rows, one block each";
}

TEST(RowDivision, BlocksAreMoreWhereTheGpuIsFullerSo) {
  const Gpu gpu{.threads = 512};  // 16 warps: of 6 warps two blocks, of 3 warps five
  EXPECT_EQ(blocks_of_row(200, 192, RowBlocks::kFuller, gpu), 1) << "264 rows are held";
  EXPECT_EQ(blocks_of_row(300, 192, RowBlocks::kFuller, gpu), 2) << "330 instead of 264";
  EXPECT_EQ(blocks_of_row(300, 256, RowBlocks::kFuller, gpu), 1) << "264 either way";
  EXPECT_EQ(blocks_of_row(300, 192, RowBlocks::kFewest, gpu), 1);
  EXPECT_EQ(blocks_of_row(300, 64, RowBlocks::kFuller, {.threads = 64}), 1) << "two warps stay";
}

TEST(RowDivision, MoreBlocksARowWhereTheGpuHoldsAllOnlySo) {
  const Gpu gpu{.threads = 512};
  EXPECT_EQ(gpu({.cluster = 2, .threads = 192}), 132);
  EXPECT_EQ(gpu({.cluster = 3, .threads = 128}), 176);
  EXPECT_EQ(blocks_of_row(132, 336, RowBlocks::kFuller, gpu, 256), 4) << "few rows are spread";
  EXPECT_EQ(blocks_of_row(170, 336, RowBlocks::kFuller, gpu, 256), 3);
  EXPECT_EQ(blocks_of_row(1000, 336, RowBlocks::kFuller, gpu, 256), 2) << "no number holds all";
}

TEST(RowDivision, SlicesAreWholeGroups) {
  EXPECT_EQ(slice_vectors(80, 2, 2), 40);
  EXPECT_EQ(slice_vectors(81, 2, 2), 42);
  EXPECT_EQ(slice_vectors(80, 3, 16), 32);
}

}  // namespace
}  // namespace assay::allreduce
