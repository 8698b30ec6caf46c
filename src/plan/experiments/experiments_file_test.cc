#include "plan/experiments/experiments_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

std::string error_of(std::string_view yaml) {
  const auto read = parse_experiments(yaml, "e.yaml");
  return read.ok() ? "" : read.error().message;
}

TEST(ExperimentsFile, ALimitOnRequestsStandsForThoseOnTheirParts) {
  const auto read = parse_experiments(
      "one:\n"
      "  model: qwen3-8b\n"
      "  request_latency: 9000\n"
      "two:\n"
      "  model: qwen3-8b\n"
      "  request_latency: 9000\n"
      "  ttft: 400\n",
      "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Experiment& one = read.value().front();
  EXPECT_EQ(one.request_limit_ms, 9000);
  EXPECT_EQ(one.ttft_limit_ms, std::numeric_limits<double>::infinity());
  EXPECT_EQ(one.tpot_limit_ms, std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.value().back().ttft_limit_ms, 400);
}

TEST(ExperimentsFile, FieldsHaveTheirOwnOrThePublicName) {
  const auto read = parse_experiments(
      "one:\n"
      "  model: qwen3-32b\n"
      "  gpus: 16\n"
      "  backend: vllm\n"
      "  isl: 1000\n"
      "  ttft: 500.5\n"
      "two:\n"
      "  model_path: Qwen/Qwen3-8B\n"
      "  system_name: h100_sxm\n"
      "  backend_name: sglang\n"
      "  backend_version: 0.5.9\n"
      "  total_gpus: 4\n"
      "  serving_mode: agg\n"
      "  database_mode: SILICON\n"
      "  scheduler: closed-form\n",
      "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().size(), 2U);
  const Experiment& one = read.value().front();
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.engines, std::vector{Engine::kVllm});
  EXPECT_EQ(one.gpus, 16);
  EXPECT_EQ(one.prompt_tokens, 1000);
  EXPECT_EQ(one.output_tokens, 1000);
  EXPECT_EQ(one.ttft_limit_ms, 500.5);
  const Experiment& two = read.value().back();
  EXPECT_EQ(two.model, "Qwen/Qwen3-8B");
  EXPECT_EQ(two.system, "h100_sxm");
  EXPECT_EQ(two.engines, std::vector{Engine::kSglang});
  EXPECT_EQ(two.version, "0.5.9");
  EXPECT_EQ(two.gpus, 4);
  EXPECT_EQ(two.scheduler, Scheduler::kClosedForm);
  EXPECT_EQ(two.mode, ServingMode::kAggregated);
  EXPECT_EQ(one.mode, ServingMode::kBoth);
}

TEST(ExperimentsFile, AnyIsOfAllEnginesAndOfNoVersion) {
  const auto read = parse_experiments("a: {model: x, backend_name: any}\n", "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().front().engines,
            (std::vector{Engine::kTrtllm, Engine::kVllm, Engine::kSglang}));
  EXPECT_EQ(error_of("a: {model: x, backend: any, backend_version: 1.0}\n"),
            "e.yaml: line 1: 'a': backend_version is that of one engine: say which by backend");
}

TEST(ExperimentsFile, TokensOfAStepAreANumberOrAList) {
  const auto read = parse_experiments(
      "a: {model: x, max_num_tokens: 2048}\nb: {model: x, max_num_tokens: [2048, 8192]}\n"
      "c: {model: x}\n",
      "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value()[0].step_tokens, (std::vector<std::int64_t>{2048}));
  EXPECT_EQ(read.value()[1].step_tokens, (std::vector<std::int64_t>{2048, 8192}));
  EXPECT_TRUE(read.value()[2].step_tokens.empty());
  EXPECT_EQ(error_of("a: {model: x, max_num_tokens: [2048, 0]}\n").find("e.yaml: line 1: "), 0U);
}

TEST(ExperimentsFile, AListChooses) {
  const auto read = parse_experiments("exps: [b]\na: {model: x}\nb: {model: y}\n", "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().size(), 1U);
  EXPECT_EQ(read.value().front().model, "y");
  EXPECT_EQ(error_of("exps: [c]\na: {model: x}\n"),
            "e.yaml: line 1: 'exps' names 'c', which is not in the file");
}

TEST(ExperimentsFile, TakesOverTheFieldsOfAnother) {
  const auto read = parse_experiments(
      "a: &a {model: x, gpus: 4, isl: 100}\nb:\n  <<: *a\n  total_gpus: 8\n", "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Experiment& second = read.value().back();
  EXPECT_EQ(second.model, "x");
  EXPECT_EQ(second.gpus, 8);
  EXPECT_EQ(second.prompt_tokens, 100);
  EXPECT_EQ(error_of("a:\n  model: x\n  <<: 5\n"),
            "e.yaml: line 3: '<<' takes the fields of another experiment");
  EXPECT_THAT(error_of("a: &a\n  model: x\n  <<: *a\n"), testing::HasSubstr("'<<' within"));
}

TEST(ExperimentsFile, ErrorsNameTheLineAndWhatIsWrongThere) {
  EXPECT_EQ(error_of("a:\n  model: x\n  osll: 5\n"),
            "e.yaml: line 3: no experiment has a field 'osll'; did you mean osl?");
  EXPECT_THAT(
      error_of("a:\n  model: x\n  moe_backend: 2\n"),
      testing::StartsWith("e.yaml: line 3: no experiment has a field 'moe_backend', but model, "));
  EXPECT_EQ(error_of("a:\n  model: x\n  isl: 5\n  isl: 6\n"),
            "e.yaml: line 4: 'isl' is there twice");
  EXPECT_EQ(error_of("a: {model: x, total_gpus: 1,\n    gpus: 2}\n"),
            "e.yaml: line 2: 'gpus' is there twice");
  EXPECT_EQ(error_of("a: {model: x}\na: {model: y}\n"), "e.yaml: line 2: 'a' is there twice");
  EXPECT_EQ(error_of("a:\n  model: x\n  gpus: 0\n"),
            "e.yaml: line 3: 'gpus: 0' is no whole number from 1 to 100000");
  EXPECT_EQ(error_of("a:\n  model: x\n  tpot: -1\n"),
            "e.yaml: line 3: 'tpot: -1' is no number above 0");
  EXPECT_EQ(error_of("a:\n  model: x\n  least_length: 2\n"),
            "e.yaml: line 3: 'least_length: 2' is above 1");
  EXPECT_EQ(error_of("a:\n  model: x\n  backend: tgi\n"),
            "e.yaml: line 3: 'backend: tgi' is none of trtllm, vllm, sglang and any");
  EXPECT_EQ(error_of("a:\n  model: [x]\n"), "e.yaml: line 2: 'model' is no word");
  EXPECT_EQ(error_of("\na:\n  isl: 5\n"), "e.yaml: line 2: 'a' names no model");
  EXPECT_EQ(error_of("a: {model: x, isl: 5, prefix: 5}\n"),
            "e.yaml: line 1: 'a': a prefix of 5 tokens leaves nothing of a prompt of 5");
  EXPECT_EQ(error_of("a: {model: x, serving_mode: afd}\n"),
            "e.yaml: line 1: 'serving_mode: afd' is none of agg, disagg and both");
  EXPECT_THAT(error_of("a: {model: x, database_mode: HYBRID}\n"),
              testing::HasSubstr("line 1: 'database_mode: HYBRID' is not among"));
  EXPECT_THAT(error_of("a: 5\n"), testing::StartsWith("e.yaml: line 1: 'a' has no fields"));
}

TEST(ExperimentsFile, DraftsHaveARateRatesOrTheMeanOfPublicFiles) {
  const auto read = parse_experiments(
      "a: {model: x, speculative_tokens: 2, acceptance_rate: 0.8}\n"
      "b: {model: x, acceptance_rate: [0.8, 0.5], nextn: 2}\n"
      "c: {model: x, nextn: 2, nextn_accepted: 1.44}\n"
      "d: {model: x, nextn: 0}\n",
      "e.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().size(), 4U);
  EXPECT_EQ(read.value()[0].speculation.tokens, 2);
  EXPECT_DOUBLE_EQ(read.value()[0].speculation.tokens_per_step(), 2.44);
  EXPECT_DOUBLE_EQ(read.value()[1].speculation.tokens_per_step(), 2.3);
  EXPECT_NEAR(read.value()[2].speculation.tokens_per_step(), 2.44, 1e-9);
  EXPECT_NEAR(read.value()[2].speculation.accepted[0], 0.8, 1e-9);
  EXPECT_EQ(read.value()[3].speculation.tokens, 0);
}

TEST(ExperimentsFile, DraftsThatMakeNoSenseAreErrors) {
  EXPECT_THAT(error_of("a: {model: x, nextn: 2}\n"),
              testing::StartsWith("e.yaml: line 1: 'a': speculative_tokens needs acceptance_rate"));
  EXPECT_THAT(error_of("a: {model: x, acceptance_rate: 0.5}\n"),
              testing::HasSubstr("speculative_tokens says how many"));
  EXPECT_THAT(error_of("a: {model: x, nextn: 2, acceptance_rate: 1.5}\n"),
              testing::HasSubstr("an acceptance rate of 1.5"));
  EXPECT_THAT(error_of("a: {model: x, nextn: 2, nextn_accepted: 2.5}\n"),
              testing::HasSubstr("2.5 of 2 drafted tokens cannot be accepted"));
  EXPECT_THAT(error_of("a: {model: x, nextn: 2, nextn_accepted: 1, acceptance_rate: 0.5}\n"),
              testing::HasSubstr("leave out one of them"));
  EXPECT_EQ(error_of("a: {model: x, nextn: 99}\n"),
            "e.yaml: line 1: 'nextn: 99' is no whole number from 0 to 16");
  EXPECT_EQ(error_of("a: {model: x, nextn: 1, acceptance_rate: [high]}\n"),
            "e.yaml: line 1: 'acceptance_rate: high' is no number");
}

TEST(ExperimentsFile, WhatIsNoneIsAnError) {
  EXPECT_THAT(error_of(""), testing::HasSubstr("no experiments"));
  EXPECT_THAT(error_of("[1, 2]"), testing::HasSubstr("no experiments"));
  EXPECT_THAT(error_of("exps: []\na: {model: x}\n"), testing::HasSubstr("no experiments"));
  EXPECT_THAT(error_of("a: [\n"), testing::StartsWith("e.yaml: line "));
  EXPECT_THAT(error_of("a: &x\n  model: *x\n"), testing::StartsWith("e.yaml: line "));
}

}  // namespace
}  // namespace assay::plan
