// The fields are those that vllm/benchmarks/serve.py (vLLM 0.12), benchmark_serving.py of
// TensorRT-LLM 1.1 and bench_serving.py of SGLang 0.5 write.
#include "plan/validate/bench_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace assay::plan {
namespace {

constexpr const char* kDeployed =
    R"({"engine": "vllm", "engine_version": "0.12.0", "model": "served", "config": "Qwen/Qwen3-32B",
        "system": "h200_sxm", "tp": 4, "dp": 1, "moe_tp": 1, "moe_ep": 1, "copies": 2,
        "prompt_tokens": 4000, "output_tokens": 1000})";

constexpr const char* kVllmRun =
    R"({"date": "20260101-000000", "backend": "vllm", "model_id": "Qwen/Qwen3-32B",
        "num_prompts": 160, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 16,
        "completed": 160, "failed": 0, "total_input_tokens": 640160, "total_output_tokens": 160000,
        "mean_ttft_ms": 812.5, "median_ttft_ms": 700.0, "mean_tpot_ms": 12.25,
        "mean_itl_ms": 12.5})";

constexpr const char* kSglangRun =
    R"({"backend": "sglang", "dataset_name": "random-ids", "request_rate": Infinity, )"
    R"("max_concurrency": 8, "completed": 80, "total_input_tokens": 320000, )"
    R"("total_output_tokens": 80000, "mean_ttft_ms": 401.0, "mean_tpot_ms": 9.5, )"
    R"("accept_length": NaN, "tag": "Infinity"})";

MeasuredDeployment deployed() {
  auto parsed = parse_deployed(kDeployed, "deployment.json");
  EXPECT_TRUE(parsed.ok());
  return parsed.ok() ? std::move(parsed).value() : MeasuredDeployment();
}

std::string without(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

TEST(BenchResults, ADeploymentHasWhatAPriceNeeds) {
  const MeasuredDeployment row = deployed();
  EXPECT_EQ(row.engine, "vllm");
  EXPECT_EQ(row.version, "0.12.0");
  EXPECT_EQ(row.model, "Qwen/Qwen3-32B");
  EXPECT_EQ(row.system, "h200_sxm");
  EXPECT_EQ(row.widths.gpus(), 4);
}

TEST(BenchResults, ADeploymentThatLacksAFieldIsNamed) {
  const auto parsed = parse_deployed(without(kDeployed, R"("tp": 4,)", ""), "d.json");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().message, testing::HasSubstr("d.json: tp"));
  EXPECT_FALSE(parse_deployed(without(kDeployed, "vllm", "tgi"), "d.json").ok());
  EXPECT_FALSE(parse_deployed(without(kDeployed, "4000", "1e300"), "d.json").ok());
  EXPECT_FALSE(parse_deployed("[]", "d.json").ok());
  EXPECT_FALSE(parse_deployed("", "d.json").ok());
}

TEST(BenchResults, ReadsVllms) {
  model::Warnings warnings;
  const auto rows = parse_bench_result(kVllmRun, "r.json", deployed(), warnings);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows.value().size(), 1U);
  const MeasuredDeployment& row = rows.value().front();
  EXPECT_EQ(row.concurrency, 16);
  EXPECT_EQ(row.prompt_tokens, 4001);
  EXPECT_EQ(row.output_tokens, 1000);
  EXPECT_DOUBLE_EQ(row.ttft_ms, 812.5);
  EXPECT_DOUBLE_EQ(row.tpot_ms, 12.25);
  EXPECT_TRUE(warnings.all().empty());
}

TEST(BenchResults, ReadsSglangsLinesWithPythonsNumbers) {
  model::Warnings warnings;
  const std::string lines = std::string(kSglangRun) + "\n\n" + kSglangRun + "\n";
  const auto rows = parse_bench_result(lines, "r.jsonl", deployed(), warnings);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows.value().size(), 2U);
  EXPECT_EQ(rows.value().front().concurrency, 8);
  EXPECT_DOUBLE_EQ(rows.value().front().tpot_ms, 9.5);
  EXPECT_TRUE(warnings.all().empty());
}

TEST(BenchResults, RunsThatTellNothingAreLeftOutAndCounted) {
  model::Warnings warnings;
  const std::string open = without(kVllmRun, R"("inf")", "2.5");
  const std::string none = without(kVllmRun, R"("completed": 160)", R"("completed": 0)");
  for (const std::string& run : {open, none}) {
    const auto rows = parse_bench_result(run, "r.json", deployed(), warnings);
    ASSERT_TRUE(rows.ok());
    EXPECT_TRUE(rows.value().empty());
  }
  EXPECT_EQ(warnings.all().size(), 2U);
}

TEST(BenchResults, FailedRequestsAreTold) {
  model::Warnings warnings;
  const std::string run = without(kVllmRun, R"("failed": 0,)", "");
  const auto rows = parse_bench_result(without(run, R"("completed": 160)", R"("completed": 150)"),
                                       "r.json", deployed(), warnings);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.value().size(), 1U);
  EXPECT_EQ(warnings.all().size(), 1U);
}

TEST(BenchResults, WhatIsNoResultIsAnError) {
  model::Warnings warnings;
  for (const std::string text : {"", "[1]", "{\"a\": 1}", "{", "a\nb", "\"mean_ttft_ms\""})
    EXPECT_FALSE(parse_bench_result(text, "r.json", deployed(), warnings).ok()) << text;
}

TEST(BenchResults, AFolderIsReadByConcurrency) {
  const std::filesystem::path folder = std::filesystem::current_path() / "bench_results_folder";
  std::filesystem::create_directories(folder / "results");
  std::ofstream(folder / "deployment.json") << kDeployed;
  model::Warnings warnings;
  EXPECT_FALSE(read_bench_folder(folder, warnings).ok());
  std::ofstream(folder / "results" / "concurrency-16.json") << kVllmRun;
  std::ofstream(folder / "results" / "concurrency-16.pytorch.json") << "[]";
  std::ofstream(folder / "results" / "concurrency-8.jsonl") << kSglangRun;
  const auto rows = read_bench_folder(folder, warnings);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows.value().size(), 2U);
  EXPECT_EQ(rows.value()[0].concurrency, 8);
  EXPECT_EQ(rows.value()[1].concurrency, 16);
  EXPECT_EQ(rows.value()[1].row, 2);
}

}  // namespace
}  // namespace assay::plan
