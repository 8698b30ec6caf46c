#include "cli/workload_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using testing::HasSubstr;

TEST(WorkloadOptions, ARunInWhichNoQueueCanGrowIsTold) {
  WorkloadOptions options;
  options.rate = 50;
  EXPECT_THAT(short_run_in_words(options, 40'000),
              HasSubstr("1000 requests at 50 a second come within 20 s, and one takes 40 s"));
  EXPECT_THAT(short_run_in_words(options, 40'000),
              HasSubstr("--requests 20000 or more would show it"));
  EXPECT_EQ(short_run_in_words(options, 4'000), "") << "five latencies";
  options.requests = 20'000;
  EXPECT_EQ(short_run_in_words(options, 40'000), "");
}

TEST(WorkloadOptions, ATraceIsAsLongAsItIs) {
  WorkloadOptions options;
  options.rate = 50;
  options.trace = "trace.jsonl";
  EXPECT_EQ(short_run_in_words(options, 40'000), "");
  options = {};
  EXPECT_EQ(short_run_in_words(options, 40'000), "");
}

}  // namespace
}  // namespace assay::cli
