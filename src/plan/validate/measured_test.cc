#include "plan/validate/measured.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

constexpr const char* kHeader =
    "id,silicon_data_source,backend,backend_version,model_path,system,mode,isl,osl,"
    "gemm_quant_mode,moe_quant_mode,batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,"
    "moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";

std::vector<MeasuredDeployment> parse(const std::string& lines, model::Warnings& warnings) {
  auto measured = parse_measured(kHeader + lines, "made.csv", warnings);
  EXPECT_TRUE(measured.ok());
  return measured.ok() ? std::move(measured).value() : std::vector<MeasuredDeployment>();
}

MeasuredDeployment parse_one(const std::string& line) {
  model::Warnings warnings;
  const auto measured = parse(line, warnings);
  EXPECT_EQ(measured.size(), 1U);
  return measured.front();
}

TEST(Measured, ReadsARow) {
  const MeasuredDeployment row = parse_one(
      "a,source_file=x,vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,agg,1024,128,fp8,fp8,16,2,1,1,2,1,"
      "80.5,10.25\n");
  EXPECT_EQ(row.version, "0.12.0");
  EXPECT_EQ(row.widths.tp, 2);
  EXPECT_EQ(row.widths.gpus(), 2);
  EXPECT_EQ(row.concurrency, 16);
  EXPECT_EQ(row.linear, "fp8");
  EXPECT_DOUBLE_EQ(row.ttft_ms, 80.5);
  EXPECT_DOUBLE_EQ(row.tpot_ms, 10.25);
  EXPECT_FALSE(row.is_disaggregated);
}

TEST(Measured, WhatIsLeftOutIsOne) {
  const MeasuredDeployment row = parse_one("a,,trtllm,,m,s,agg,1024,128,,,16,4,,,0,0,1,1\n");
  EXPECT_EQ(row.version, "");
  EXPECT_EQ(row.widths.pp, 1);
  EXPECT_EQ(row.widths.dp, 1);
  EXPECT_EQ(row.widths.moe_tp, 4);
  EXPECT_EQ(row.widths.moe_ep, 1);
}

TEST(Measured, AWidthBelowZeroIsTold) {
  model::Warnings warnings;
  const auto rows = parse("a,,trtllm,,m,s,agg,1024,128,,,16,4,-2,,0,0,1,1\n", warnings);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().widths.pp, 1);
  ASSERT_EQ(warnings.all().size(), 1U);
  EXPECT_THAT(warnings.all().front().sentence(), testing::HasSubstr("pp_size below 0"));
}

TEST(Measured, ACellThatIsNoNumberSpoilsItsRowOnly) {
  model::Warnings warnings;
  const auto rows = parse(
      "a,,trtllm,,m,s,agg,1024,128,,,16,4,2,,0,0,8.5,1\n"
      "b,,trtllm,,m,s,agg,1024,128,,,n/k,4,2,,0,0,OOM,1\n",
      warnings);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].concurrency, 16);
  EXPECT_DOUBLE_EQ(rows[0].ttft_ms, 8.5);
  EXPECT_EQ(rows[1].concurrency, 0);
  EXPECT_TRUE(std::isnan(rows[1].ttft_ms));
  ASSERT_EQ(warnings.all().size(), 2U);
  EXPECT_THAT(warnings.all().front().sentence(), testing::HasSubstr("silicon_ttft_ms 'OOM'"));
  EXPECT_THAT(warnings.all().back().sentence(), testing::HasSubstr("batch_size 'n/k'"));
}

TEST(Measured, RowsWithoutANameHaveThatOfWhatTheyTell) {
  model::Warnings warnings;
  const auto rows = parse(
      ",,trtllm,,m,s,agg,1024,128,,,16,4,2,,0,0,8.5,1\n"
      ",,trtllm,,m,s,agg,1024,128,,,16,4,2,,0,0,8.25,1\n",
      warnings);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[0].id.empty());
  EXPECT_NE(rows[0].id, rows[1].id);
}

TEST(Measured, AMeasurementCountsOnce) {
  model::Warnings warnings;
  const std::string of_row = ",vllm,0.18.0,m,s,agg,1024,128,,,16,4,,,4,1,";
  const auto rows =
      parse("a,source_file=x" + of_row + "630.3159052797128,15.74079487610182\n" +
                "b,source_file=y" + of_row + "630.3159052797128,15.740794876101821\n" +
                "c,source_file=y" + of_row + "630.4,15.740794876101821\n",
            warnings);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_FALSE(rows[0].is_copy);
  EXPECT_TRUE(rows[1].is_copy);
  EXPECT_FALSE(rows[2].is_copy);
  EXPECT_EQ(missing_field(rows[0]), "");
  EXPECT_THAT(missing_field(rows[1]), testing::HasSubstr("counts once"));
}

TEST(Measured, TheSourceTellsTheRequestsOnAllGpus) {
  const MeasuredDeployment row =
      parse_one("a,silicon_concurrency=64; wip,trtllm,1,m,s,agg,1024,128,,,8,1,1,8,1,8,1,1\n");
  EXPECT_EQ(row.concurrency, 64);
  EXPECT_EQ(row.widths.dp, 8);
}

TEST(Measured, TheNameOfARowIsBelievedBeforeColumnsThatMultiply) {
  model::Warnings warnings;
  const auto rows = parse(
      "x_c64_tp8_ep8_941,silicon_concurrency=64,trtllm,1,m,s,agg,1,1,,,1,1,1,64,8,8,1,1\n"
      "x_c16_tp4_ep4_12,silicon_concurrency=16,trtllm,1,m,s,agg,1,1,,,16,16,1,1,4,4,1,1\n",
      warnings);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].widths.gpus(), 8);
  EXPECT_EQ(rows[0].widths.dp, 8);
  EXPECT_EQ(rows[1].widths.tp, 4);
  EXPECT_EQ(rows[1].widths.moe_ep, 4);
  EXPECT_EQ(rows[1].widths.moe_tp, 1);
  ASSERT_EQ(warnings.all().size(), 1U);
  EXPECT_EQ(warnings.all().front().count, 2);
}

constexpr const char* kDeepseekOfDay =
    "_tp8_ep8_,silicon_concurrency={}; measured={},trtllm,1.1.0rc2.post2,deepseek-ai/DeepSeek-R1,"
    "h200_sxm,agg,1024,8192,fp8,fp8,{},8,1,1,1,8,494,7.1\n";

std::string deepseek_row(int concurrency, const char* day) {
  return fmt::format(fmt::runtime(kDeepseekOfDay), concurrency, day, concurrency);
}

TEST(Measured, RecipesThatDraftAreTold) {
  const MeasuredDeployment drafts = parse_one(deepseek_row(4, "2026-01-14"));
  EXPECT_EQ(drafts.speculation.tokens, 3);
  EXPECT_THAT(missing_field(drafts), testing::HasSubstr("drafts 3 tokens a step"));
  const MeasuredDeployment full = parse_one(deepseek_row(128, "2026-01-28"));
  EXPECT_EQ(full.speculation.tokens, 3) << "the recipe without drafts ends at 64 requests";
  const MeasuredDeployment plain = parse_one(deepseek_row(64, "2026-01-28"));
  EXPECT_EQ(plain.speculation.tokens, 0);
  EXPECT_EQ(missing_field(plain), "");
}

TEST(Measured, InferenceXsClientsSendSeveralLengths) {
  const MeasuredDeployment row = parse_one(
      "a,silicon_concurrency=8; measured=2026-01-28; wip=False,vllm,1,m,s,agg,1,1,,,8,1,1,1,1,1,1,1"
      "\n");
  EXPECT_DOUBLE_EQ(row.least_length, 0.8);
  EXPECT_FALSE(row.has_one_prompt_a_step);
  const MeasuredDeployment other =
      parse_one("a,silicon_concurrency=8,vllm,1,m,s,agg,1,1,,,8,1,1,1,1,1,1,1\n");
  EXPECT_DOUBLE_EQ(other.least_length, 1);
  EXPECT_TRUE(other.has_one_prompt_a_step);
}

TEST(Measured, GroupsWithExpertsOfTheirOwnDecideTheRest) {
  const MeasuredDeployment row = parse_one("a,,trtllm,1,m,s,agg,1,1,,,16,8,1,1,8,8,1,1\n");
  EXPECT_EQ(row.widths.moe_ep, 8);
  EXPECT_EQ(row.widths.moe_tp, 1);
}

TEST(Measured, AMissingColumnIsNamed) {
  model::Warnings warnings;
  const auto rows = parse_measured("backend,isl\nvllm,1\n", "made.csv", warnings);
  ASSERT_FALSE(rows.ok());
  EXPECT_THAT(rows.error().message, testing::HasSubstr("made.csv: no column 'model_path'"));
}

// What instances could decode at once is no load: only a row that tells its requests has one.
TEST(Measured, ReadsTheWorkersOfADisaggregatedRow) {
  model::Warnings warnings;
  const auto rows =
      parse_measured(
          "id,backend,model_path,system,mode,isl,osl,batch_size,tp_size,prefill_tp_size,"
          "prefill_num_workers,prefill_batch_size,decode_tp_size,decode_num_workers,"
          "decode_attention_dp_size,decode_moe_ep_size,decode_batch_size,"
          "silicon_ttft_ms,silicon_tpot_ms\n"
          "a,vllm,m,h100_sxm,disagg,4000,1000,96,,2,3,1,1,2,4,4,24,400,10\n"
          "b,vllm,m,h100_sxm,disagg,4000,1000,,,2,3,1,8,1,,,224,400,10\n",
          "made.csv", warnings)
          .value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].is_disaggregated);
  EXPECT_EQ(rows[0].prefill.workers, 3);
  EXPECT_EQ(rows[0].prefill.widths.tp, 2);
  EXPECT_EQ(rows[0].prefill.widths.moe_tp, 2);
  EXPECT_EQ(rows[0].decode.widths.gpus(), 4);
  EXPECT_EQ(rows[0].decode.widths.moe_ep, 4);
  EXPECT_EQ(rows[0].decode.batch, 24);
  EXPECT_EQ(rows[0].concurrency, 96);
  EXPECT_EQ(rows[1].concurrency, 0);
}

}  // namespace
}  // namespace assay::plan
