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

TEST(WorkloadOptions, RequestsBeyondTheContextAreCounted) {
  serving::Model model;
  model.name = "short";
  const plan::Workload workload{.requests = {{.prompt_tokens = 900, .output_tokens = 100},
                                             {.prompt_tokens = 950, .output_tokens = 100},
                                             {.prompt_tokens = 2000, .output_tokens = 1}}};
  EXPECT_EQ(context_in_words(model, workload), "") << "the context is not known";
  model.context = 1000;
  EXPECT_EQ(
      context_in_words(model, workload),
      "short takes sequences of up to 1000 tokens (max_position_embeddings): engines refuse 2 "
      "of the 3 requests, of which the longest has 2001");
  model.context = 2001;
  EXPECT_EQ(context_in_words(model, workload), "");
}

}  // namespace
}  // namespace assay::cli
