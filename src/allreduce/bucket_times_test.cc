#include "allreduce/bucket_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allreduce/synthetic_test_util.h"

namespace assay::allreduce {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(UnusedShapes, AreThoseOutsideOfTheBucketsAndTheTimes) {
  const Timings timings = timings_of(
      synthetic({.hidden_sizes = {4096, 8192}, .num_tokens = {1, 16, 16384}}), Launch::kGraph);
  const ServedShapes unused =
      unused_shapes(timings, {.hidden_sizes = {64, 7168, 100000}, .num_tokens = {20, 30000}});
  EXPECT_THAT(unused.hidden_sizes, ElementsAre(64, 100000));
  EXPECT_THAT(unused.num_tokens, ElementsAre(30000));
}

TEST(UnusedShapes, NeedNoOtherAxis) {
  const Timings timings = timings_of(synthetic({}), Launch::kGraph);
  const ServedShapes hidden = unused_shapes(timings, {.hidden_sizes = {7168, 20000}});
  EXPECT_THAT(hidden.hidden_sizes, ElementsAre(20000));
  EXPECT_THAT(hidden.num_tokens, IsEmpty());
  EXPECT_THAT(unused_shapes({}, {.num_tokens = {1}}).num_tokens, ElementsAre(1));
}

}  // namespace
}  // namespace assay::allreduce
