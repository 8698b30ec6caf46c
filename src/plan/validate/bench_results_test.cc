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

TEST(BenchResults, ADeploymentTellsTheTypeOfItsCache) {
  EXPECT_EQ(deployed().cache, "");
  const auto parsed =
      parse_deployed(without(kDeployed, R"("tp": 4,)", R"("tp": 4, "cache_dtype": "fp8",)"), "d");
  EXPECT_EQ(parsed.value().cache, "fp8");
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

// What aiperf 0.1.1 writes of a run with --concurrency 16 --streaming, shortened.
constexpr const char* kAiperf =
    R"({"request_throughput": {"unit": "requests/sec", "avg": 1.2},
        "request_count": {"unit": "requests", "avg": 160.0},
        "time_to_first_token": {"unit": "ms", "avg": 812.5, "p50": 700.0, "std": 3.0},
        "inter_token_latency": {"unit": "ms", "avg": 12.25, "p99": 14.0},
        "output_sequence_length": {"unit": "tokens", "avg": 1000.0},
        "input_sequence_length": {"unit": "tokens", "avg": 4000.6},
        "input_config": {"endpoint": {"model_names": ["m"], "streaming": true},
                         "loadgen": {"concurrency": 16, "request_count": 160}},
        "was_cancelled": false})";

// What genai-perf 0.0.16 writes.
constexpr const char* kGenaiPerf =
    R"({"request_count": {"unit": "count", "avg": 80.0},
        "time_to_first_token": {"unit": "ms", "avg": 401.0, "p25": 1.0},
        "inter_token_latency": {"unit": "ms", "avg": 9.5},
        "output_sequence_length": {"unit": "tokens", "avg": 1000.0},
        "input_sequence_length": {"unit": "tokens", "avg": 4000.0},
        "input_config": {"perf_analyzer": {"stimulus": {"concurrency": 8}}}})";

constexpr const char* kPerfCsv =
    "Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1\r\n"
    "Inter Token Latency (ms),9.50,9.0,10.0,9,9,9,9,9,9,9,9,9\r\n"
    "Time To First Token (ms),\"1,401.00\",1,2,2,2,2,2,2,2,2,2,2\r\n"
    "Input Sequence Length (tokens),\"4,000.00\",1,2,2,2,2,2,2,2,2,2,2\r\n"
    "Output Sequence Length (tokens),\"1,000.00\",1,2,2,2,2,2,2,2,2,2,2\r\n"
    "\r\n"
    "Metric,Value\r\n"
    "Request Count (count),80.00\r\n";

MeasuredDeployment only_row(const std::string& text, const std::string& name = "r.json") {
  model::Warnings warnings;
  const auto rows = parse_bench_result(text, name, deployed(), warnings);
  EXPECT_TRUE(rows.ok()) << (rows.ok() ? "" : rows.error().message);
  EXPECT_TRUE(warnings.all().empty());
  if (!rows.ok() || rows.value().size() != 1) return {};
  return rows.value().front();
}

std::string refusal(const std::string& text, const std::string& name = "r.json") {
  model::Warnings warnings;
  const auto rows = parse_bench_result(text, name, deployed(), warnings);
  return rows.ok() ? "" : rows.error().message;
}

TEST(BenchResults, ReadsAiperfs) {
  const MeasuredDeployment row = only_row(kAiperf);
  EXPECT_EQ(row.concurrency, 16);
  EXPECT_EQ(row.prompt_tokens, 4001);
  EXPECT_EQ(row.output_tokens, 1000);
  EXPECT_DOUBLE_EQ(row.ttft_ms, 812.5);
  EXPECT_DOUBLE_EQ(row.tpot_ms, 12.25);
}

TEST(BenchResults, ReadsGenaiPerfs) {
  const MeasuredDeployment row = only_row(kGenaiPerf);
  EXPECT_EQ(row.concurrency, 8);
  EXPECT_EQ(row.prompt_tokens, 4000);
  EXPECT_DOUBLE_EQ(row.ttft_ms, 401);
  EXPECT_DOUBLE_EQ(row.tpot_ms, 9.5);
}

TEST(BenchResults, ReadsTheirCsvWhoseNameTellsTheConcurrency) {
  for (const std::string name :
       {"concurrency-8.csv", "m-chat-concurrency8/profile_export_genai_perf.csv"}) {
    const MeasuredDeployment row = only_row(kPerfCsv, name);
    EXPECT_EQ(row.concurrency, 8);
    EXPECT_EQ(row.prompt_tokens, 4000);
    EXPECT_DOUBLE_EQ(row.ttft_ms, 1401);
    EXPECT_DOUBLE_EQ(row.tpot_ms, 9.5);
  }
  EXPECT_THAT(refusal(kPerfCsv, "r.csv"), testing::HasSubstr("concurrency-8.csv"));
}

TEST(BenchResults, AMetricsUnitCounts) {
  const std::string ns = without(kAiperf, R"("time_to_first_token": {"unit": "ms", "avg": 812.5)",
                                 R"("time_to_first_token": {"unit": "ns", "avg": 812500000)");
  EXPECT_DOUBLE_EQ(only_row(ns).ttft_ms, 812.5);
  const std::string seconds =
      without(kAiperf, R"("inter_token_latency": {"unit": "ms", "avg": 12.25)",
              R"("inter_token_latency": {"unit": "sec", "avg": 0.01225)");
  EXPECT_DOUBLE_EQ(only_row(seconds).tpot_ms, 12.25);
  const std::string wrong =
      without(kAiperf, R"({"unit": "ms", "avg": 812.5)", R"({"unit": "tokens", "avg": 812.5)");
  EXPECT_THAT(refusal(wrong), testing::HasSubstr("time_to_first_token is 812.5 'tokens'"));
}

TEST(BenchResults, ARunWithoutStreamingTellsWhatItLacks) {
  const std::string run = without(kAiperf, "inter_token_latency", "inter_chunk_latency");
  EXPECT_THAT(refusal(run), testing::HasSubstr("no inter_token_latency"));
  EXPECT_THAT(refusal(run), testing::HasSubstr("--streaming"));
}

TEST(BenchResults, PerfClientsRunsAtARateAreLeftOut) {
  model::Warnings warnings;
  for (const std::string& run :
       {without(kAiperf, R"("concurrency": 16,)", R"("request_rate": 5.0,)"),
        without(kGenaiPerf, R"({"concurrency": 8})", R"({"request_rate": 2.0})")}) {
    const auto rows = parse_bench_result(run, "r.json", deployed(), warnings);
    ASSERT_TRUE(rows.ok());
    EXPECT_TRUE(rows.value().empty());
  }
  EXPECT_EQ(warnings.all().size(), 1U);
}

TEST(BenchResults, AnUnknownFormatIsToldWhichAreRead) {
  for (const char* text : {"{\"a\": 1}", "[1]", "a,b\n1,2\n"}) {
    const std::string told = refusal(text);
    for (const char* client :
         {"vllm bench serve", "TensorRT-LLM", "SGLang", "aiperf.csv", "genai_perf.csv"})
      EXPECT_THAT(told, testing::HasSubstr(client)) << text;
  }
}

TEST(BenchResults, ADisaggregatedDeploymentHasItsPools) {
  const auto parsed = parse_deployed(
      R"({"engine": "vllm", "engine_version": "", "config": "qwen3-32b", "system": "h200_sxm",
          "prefill": {"instances": 3, "tp": 2, "dp": 1, "moe_tp": 1, "moe_ep": 1, "batch": 1},
          "decode": {"instances": 1, "tp": 8, "dp": 1, "moe_tp": 1, "moe_ep": 1, "batch": 64},
          "prompt_tokens": 4000, "output_tokens": 1000})",
      "d.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const MeasuredDeployment& row = parsed.value();
  EXPECT_TRUE(row.is_disaggregated);
  EXPECT_EQ(row.prefill.workers, 3);
  EXPECT_EQ(row.prefill.widths.tp, 2);
  EXPECT_EQ(row.decode.workers, 1);
  EXPECT_EQ(row.decode.widths.tp, 8);
  EXPECT_EQ(row.decode.batch, 64);
  EXPECT_EQ(row.decode.system, "");
}

TEST(BenchResults, PoolsMayHaveSystemsOfTheirOwn) {
  const auto parsed = parse_deployed(
      R"({"engine": "vllm", "engine_version": "", "config": "qwen3-32b", "system": "h100_sxm",
          "prefill": {"instances": 3, "tp": 2, "dp": 1, "moe_tp": 1, "moe_ep": 1, "batch": 1},
          "decode": {"instances": 1, "tp": 8, "dp": 1, "moe_tp": 1, "moe_ep": 1, "batch": 64,
                     "system": "h200_sxm"},
          "prompt_tokens": 4000, "output_tokens": 1000})",
      "d.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed.value().system, "h100_sxm");
  EXPECT_EQ(parsed.value().prefill.system, "");
  EXPECT_EQ(parsed.value().decode.system, "h200_sxm");
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
  const std::filesystem::path aiperf = folder / "results" / "m-chat-concurrency4";
  std::filesystem::create_directories(aiperf);
  std::ofstream(aiperf / "profile_export_aiperf.json")
      << without(kAiperf, R"("concurrency": 16)", R"("concurrency": 4)");
  std::ofstream(aiperf / "profile_export_aiperf.csv") << kPerfCsv;
  std::ofstream(aiperf / "profile_export.jsonl") << "{}";
  std::ofstream(aiperf / "inputs.json") << "{}";
  const auto rows = read_bench_folder(folder, warnings);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows.value().size(), 3U);
  EXPECT_EQ(rows.value()[0].concurrency, 4);
  EXPECT_EQ(rows.value()[0].id, "m-chat-concurrency4/profile_export_aiperf.json");
  EXPECT_EQ(rows.value()[1].concurrency, 8);
  EXPECT_EQ(rows.value()[2].concurrency, 16);
  EXPECT_EQ(rows.value()[2].row, 3);
}

}  // namespace
}  // namespace assay::plan
