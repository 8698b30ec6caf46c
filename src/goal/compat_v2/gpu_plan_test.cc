#include "goal/compat_v2/gpu_plan.h"

#include <gtest/gtest.h>

#include <array>

namespace assay::goal::compat_v2 {
namespace {

using model::NcclFunction;

std::uint64_t hash_of(std::array<std::uint64_t, 3> items) {
  return tuple_hash(items);
}

// The values come from CPython: hash((…)) modulo 2^64.
TEST(TupleHash, EqualsPythons) {
  EXPECT_EQ(hash_of({0, 0, 0}), 3010437511937009226ULL);
  EXPECT_EQ(hash_of({0, 1, 5}), 12957825781207854773ULL);
  EXPECT_EQ(hash_of({3, 6, 0}), 16635595030333995338ULL);
  EXPECT_EQ(hash_of({1, 2, 1000}), 14947897728137050757ULL);
}

TEST(HashDigits, LosesBitsWhereHashesOfBothHalvesMeet) {
  const std::vector<std::uint64_t> low = {3010437511937009226ULL};
  const std::vector<std::uint64_t> high = {12957825781207854773ULL, 16635595030333995338ULL};
  std::vector<std::uint64_t> mixed = high;
  mixed.push_back(low[0]);
  EXPECT_EQ(hash_digits(low), (std::vector<std::uint32_t>{226}));
  EXPECT_EQ(hash_digits(high), (std::vector<std::uint32_t>{773, 338}));
  // The expression in Python is int(float(hash)) % 1000.
  EXPECT_EQ(hash_digits(mixed), (std::vector<std::uint32_t>{104, 8, 152}));
}

TEST(HashDigits, BearsWhatRoundsUpToTheLimit) {
  EXPECT_EQ(hash_digits(std::vector<std::uint64_t>{~0ULL, 1}),
            (std::vector<std::uint32_t>{616, 1}));
}

TEST(Parallelism, IsDataParallelOnlyInWholeRunsOfEqualLength) {
  EXPECT_EQ(parallelism_digit("AADD"), 2U);
  EXPECT_EQ(parallelism_digit("AADDAADD"), 2U);
  EXPECT_EQ(parallelism_digit("AAA"), 2U);
  EXPECT_EQ(parallelism_digit("AADDAA"), 2U);
  EXPECT_EQ(parallelism_digit("AADDA"), 0U);
  EXPECT_EQ(parallelism_digit("AADDB"), 0U);
  EXPECT_EQ(parallelism_digit("DDAA"), 0U);
  EXPECT_EQ(parallelism_digit("AAD"), 0U);
}

TEST(Parallelism, IsAPipelineFromTwoExchangesOn) {
  EXPECT_EQ(parallelism_digit("EF"), 1U);
  EXPECT_EQ(parallelism_digit("EBE"), 1U);
  EXPECT_EQ(parallelism_digit("F"), 0U);
  EXPECT_EQ(parallelism_digit("BB"), 0U);
}

TEST(Contexts, CountByCommunicatorAndOperationAndNotForExchanges) {
  model::JobGpu gpu;
  gpu.streams = {"0x1", "0x2"};
  gpu.operations = {{.function = NcclFunction::kAllReduce, .stream = 0},
                    {.function = NcclFunction::kSend, .stream = 1},
                    {.function = NcclFunction::kAllReduce, .stream = 0},
                    {.function = NcclFunction::kRecv, .stream = 1}};
  const std::vector<std::uint32_t> order = {2, 1, 3, 0};
  const std::vector<std::uint64_t> hashes = {hash_of({0, 0, 0}), hash_of({0, 6, 0}),
                                             hash_of({0, 6, 0}), hash_of({0, 0, 1})};
  const std::vector<std::uint32_t> digits = hash_digits(hashes);
  const std::vector<std::uint32_t> names = contexts(gpu, order);
  EXPECT_EQ(names[2], 100 * digits[0]);
  EXPECT_EQ(names[1], 100 * digits[1] + 1);
  EXPECT_EQ(names[3], names[1]);
  EXPECT_EQ(names[0], 100 * digits[3]);
}

}  // namespace
}  // namespace assay::goal::compat_v2
