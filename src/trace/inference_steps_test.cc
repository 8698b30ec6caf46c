#include "trace/inference_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/analysis.h"
#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using Side = testing::SmallTrace::Side;

struct Expected {
  std::string_view name;
  std::string_view phase;
  std::int64_t requests;
  std::int64_t prompt_tokens;
  std::int64_t decode_tokens;
};

class ServingNames : public ::testing::TestWithParam<Expected> {};

TEST_P(ServingNames, TellPhaseRequestsAndTokens) {
  const auto annotation = serving_annotation(GetParam().name);
  ASSERT_TRUE(annotation);
  EXPECT_EQ(phase_name(annotation->label.phase), GetParam().phase);
  EXPECT_EQ(annotation->label.requests, GetParam().requests);
  EXPECT_EQ(annotation->label.prompt_tokens, GetParam().prompt_tokens);
  EXPECT_EQ(annotation->label.decode_tokens, GetParam().decode_tokens);
}

INSTANTIATE_TEST_SUITE_P(
    Engines,
    ServingNames,
    ::testing::Values(
        Expected{"execute_context_2(6144)_generation_3(3)", "mixed", 5, 6144, 3},
        Expected{"execute_context_1(888_788544)_generation_0(0)", "prefill", 1, 888, 0},
        Expected{"execute_context_0(0)_generation_0(0)", "idle", 0, 0, 0},
        Expected{"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
                 "decode", 32, 0, 32},
        Expected{"execute_context_1024_generation_64", "mixed", -1, 1024, 64},
        Expected{"execute_new_3_cached_61", "mixed", 64, -1, -1},
        Expected{"execute_new_0_cached_8", "decode", 8, -1, -1},
        Expected{"[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs", "decode",
                 32, 0, -1},
        Expected{"prefill[bs=2 tok=14721 ctx=[7803, 6918]]", "prefill", 2, 14721, -1},
        Expected{"decode[bs=117/128 tok=117 d=117]", "decode", 117, -1, 117},
        Expected{"step[EXTEND bs=15 toks=15360]", "prefill", 15, 15360, -1},
        Expected{"step[EXTEND bs=2 toks=14721 c_sq=14721 c_sqsq=1]", "prefill", 2, 14721, -1},
        Expected{"step[DECODE bs=32]", "decode", 32, -1, -1},
        Expected{"step[DECODE bs=64 g_sq=128 g_sqsq=256]", "decode", 64, -1, 128},
        Expected{"step[TARGET_VERIFY bs=4]", "decode", 4, -1, -1},
        Expected{"step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 g_sq=1 g_sk=12]", "mixed", 2, 5, 1},
        Expected{"step[PREBUILT bs=7]", "unknown", 7, -1, -1},
        Expected{"execute_diffusion_1_1024x1024", "diffusion", 1, -1, -1},
        Expected{"gpu_model_runner: forward", "unknown", -1, -1, -1}));

TEST(InferenceSteps, OtherAnnotationsAreNoRunsOfAModel) {
  for (const char* name :
       {"ProfilerStep#3", "nccl:all_reduce", "capture_32_DECODE", "execute_context_1(888)",
        "step[DECODE]", "gpu_model_runner: sample", "execute_diffusion_x_1", "prefill", ""})
    EXPECT_FALSE(serving_annotation(name)) << name;
}

// A prompt, two steps of decoding, and a kernel before all of them.
testing::SmallTrace served() {
  testing::SmallTrace small;
  small.launch("warm_up", 1, 1, 9);
  small.annotation("execute_context_1(512)_generation_0(0)", Side::kCpu, 100, 50);
  small.annotation("step[EXTEND bs=1 toks=512]", Side::kCpu, 101, 40);
  small.launch("prefill_gemm", 1, 110, 60);
  small.annotation("execute_context_0(0)_generation_8(8)", Side::kCpu, 200, 50);
  small.launch("decode_gemm", 1, 210, 20);
  small.annotation("execute_context_0(0)_generation_8(8)", Side::kCpu, 300, 50);
  small.launch("decode_gemm", 1, 310, 30);
  small.launch("sample", 1, 360, 10);
  return small;
}

TEST(InferenceSteps, AreTheStepsOfATraceWithoutProfilerSteps) {
  const model::Trace trace = served().read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  ASSERT_EQ(rank.steps.size(), 3U);
  EXPECT_EQ(rank.excluded.outside.kernels, 1);
  EXPECT_EQ(rank.time.microseconds(rank.steps[1].window.length()), 100);
  ASSERT_TRUE(rank.steps[0].label);
  EXPECT_EQ(rank.steps[0].label->phase, ServingPhase::kPrefill);
  EXPECT_EQ(rank.steps[2].number, 2);
  EXPECT_EQ(rank.steps[2].label->requests, 8);
}

TEST(InferenceSteps, TheStepTableTellsPhaseAndBatch) {
  const model::Trace trace = served().read();
  const model::Book book = individual_report(analyze_rank(trace, {}, 0));
  const model::Table* steps = book.find("inference_steps");
  ASSERT_NE(steps, nullptr);
  ASSERT_EQ(steps->row_count(), 3U);
  EXPECT_EQ(model::text(steps->at(0, *steps->column("phase"))), "prefill");
  EXPECT_EQ(model::number(steps->at(0, *steps->column("prompt tokens"))), 512);
  EXPECT_EQ(model::number(steps->at(1, *steps->column("batch size"))), 8);
  const model::Table* phases = book.find("inference_phases");
  ASSERT_NE(phases, nullptr);
  ASSERT_EQ(phases->row_count(), 2U);
  EXPECT_EQ(model::text(phases->at(0, *phases->column("phase"))), "decode");
  EXPECT_EQ(model::number(phases->at(0, *phases->column("steps"))), 2);
  // The first decode lasts 100 us until the next step's first work, the second 60 us.
  EXPECT_EQ(model::number(phases->at(0, *phases->column("mean ms"))), 0.08);
}

TEST(InferenceSteps, ProfilerStepsComeFirst) {
  testing::SmallTrace small = served();
  small.annotation("ProfilerStep#4", Side::kCpu, 0, 1000);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  ASSERT_EQ(rank.steps.size(), 1U);
  EXPECT_EQ(rank.steps[0].number, 4);
  EXPECT_FALSE(rank.steps[0].label);
}

// A step of speculative decoding may hold another.
TEST(InferenceSteps, AnAnnotationInsideAnotherIsPartOfIt) {
  testing::SmallTrace small;
  small.annotation("step[DECODE bs=4]", Side::kCpu, 0, 100);
  small.annotation("step[DRAFT_EXTEND bs=4]", Side::kCpu, 10, 20);
  small.launch("gemm", 1, 12, 5);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  ASSERT_EQ(rank.steps.size(), 1U);
  EXPECT_EQ(rank.warnings.all().size(), 0U);
}

}  // namespace
}  // namespace assay::trace
