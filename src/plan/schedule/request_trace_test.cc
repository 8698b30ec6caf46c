#include "plan/schedule/request_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTrace =
    R"({"timestamp": 3000, "input_length": 1100, "output_length": 5, "hash_ids": [7, 9, 900000000000]}
{"timestamp": 1000, "input_length": 1030, "output_length": 2, "hash_ids": [7, 9, 11]}

{"created_time": 2000.5, "input_tokens": 40, "output_tokens": 1}
)";

std::string error_of_trace(std::string_view lines, const RequestTraceOptions& options = {}) {
  const auto read = parse_request_trace(lines, "t.jsonl", options);
  return read.ok() ? "" : read.error().message;
}

TEST(RequestTrace, IsReadInTheOrderOfArrival) {
  const Workload workload = parse_request_trace(kTrace, "t.jsonl", {.speed = 2}).value();
  ASSERT_EQ(workload.requests.size(), 3U);
  EXPECT_EQ(workload.concurrency, 0);
  EXPECT_EQ(workload.requests[0].prompt_tokens, 1030);
  EXPECT_DOUBLE_EQ(workload.requests[0].arrival_ms, 0);
  EXPECT_DOUBLE_EQ(workload.requests[1].arrival_ms, 500.25);
  EXPECT_EQ(workload.requests[1].pieces, 0U);
  EXPECT_DOUBLE_EQ(workload.requests[2].arrival_ms, 1000);
  const auto first = workload.pieces_of(workload.requests[0]);
  const auto last = workload.pieces_of(workload.requests[2]);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[1], last[1]);
  EXPECT_NE(first[2], last[2]);
  EXPECT_TRUE(check_workload(workload).ok());
}

// The second prompt of a conversation finds the first one's two whole pieces, 1024 of 1100 tokens.
TEST(RequestTrace, LetsLaterPromptsFindEarlierOnes) {
  const Workload workload = parse_request_trace(kTrace, "t.jsonl").value();
  Limits limits = policy_of(Engine::kVllm).defaults();
  limits.kv_tokens = 100'000;
  limits.graph_batches = {};
  EXPECT_THAT(testing::steps_of(Engine::kVllm, limits, workload),
              ElementsAre("1x1030@0", "d1", "1x40@0", "1x76@1024", "d1", "d1", "d1", "d1"));
}

TEST(RequestTrace, SaysWhatIsWrongWithALine) {
  EXPECT_THAT(error_of_trace(""), HasSubstr("t.jsonl has no requests"));
  EXPECT_THAT(error_of_trace("\n[1]"), HasSubstr("t.jsonl, line 2"));
  EXPECT_THAT(error_of_trace(R"({"timestamp": 1, "input_length": 3})"), HasSubstr("output_length"));
  EXPECT_THAT(error_of_trace(R"({"timestamp": 1, "input_length": 0, "output_length": 4})"),
              HasSubstr("0 prompt and 4 output tokens"));
  EXPECT_THAT(error_of_trace(
                  R"({"timestamp": 1, "input_length": 3, "output_length": 4, "hash_ids": ["a"]})"),
              HasSubstr("not a whole number"));
  EXPECT_THAT(error_of_trace(kTrace, {.speed = 0}), HasSubstr("0 times as fast"));
  EXPECT_THAT(error_of_trace(kTrace, {.tokens_of_hash = 0}), HasSubstr("a hash for 0 tokens"));
}

}  // namespace
}  // namespace assay::plan
