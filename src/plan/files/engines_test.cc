// What is written for engines and clusters, read back by another reader of YAML.
//
// The options and settings were read in these pages, for the versions that the files name:
//   vLLM 0.12        docs.vllm.ai/en/v0.12.0/cli/serve and /cli/bench/serve
//   SGLang 0.5.6     docs.sglang.io/advanced_features/server_arguments.html and
//                    docs.sglang.io/developer_guide/bench_serving.html
//   TensorRT-LLM 1.1 nvidia.github.io/TensorRT-LLM/commands/trtllm-serve/trtllm-serve.html, its
//                    run-benchmark-with-trtllm-serve.html, and llm-api/reference.html
//                    (TorchLlmArgs)
//   their routers    vllm_router/router_args.py (vllm-project/router) and
//                    sglang_router/router_args.py (SGLang 0.5.6)
//   Dynamo 1.3       docs.nvidia.com/dynamo/latest/kubernetes/api_reference.html (v1alpha1)
//   llm-d            values.schema.json of the chart llm-d-modelservice v0.4.12
//   Kubernetes       kubernetes.io/docs/reference/kubernetes-api (apps/v1 Deployment, v1 Service)

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <set>

#include "plan/files/deployment_files.h"
#include "plan/files/engine_files.h"
#include "plan/files/files_test_util.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

using files_testing::check;
using files_testing::content_of;
using files_testing::kTrtllmSchema;
using files_testing::numbers;
using files_testing::planned_of;
using files_testing::pools_of;
using files_testing::schema_of;
using files_testing::values_of;
using files_testing::words_of_script;
using testing::Contains;
using testing::ElementsAre;

std::vector<std::int64_t> graphs_written(const PlannedDeployment& planned) {
  const EngineFiles& files = files_of(planned.engine);
  if (files.settings != nullptr)
    return YAML::Load(yaml_text(files.settings(planned)))["cuda_graph_config"]["batch_sizes"]
        .as<std::vector<std::int64_t>>();
  const char* option =
      planned.engine == Engine::kVllm ? "--cudagraph-capture-sizes" : "--cuda-graph-bs";
  return numbers(values_of(files.serve(planned, ""), option));
}

class OfEngine : public testing::TestWithParam<Engine> {};

TEST_P(OfEngine, GraphsGrowAndEndAtTheLimit) {
  for (const std::int64_t batch : {1, 3, 20, 100, 128, 300, 4000}) {
    const PlannedDeployment planned = planned_of(GetParam(), batch);
    const std::vector<std::int64_t> graphs = graphs_written(planned);
    ASSERT_FALSE(graphs.empty()) << batch;
    for (std::size_t i = 1; i < graphs.size(); ++i)
      EXPECT_LT(graphs[i - 1], graphs[i]) << batch;
    // vLLM's are tokens of a step, of which it captures twice the requests by itself.
    EXPECT_LE(graphs.back(), GetParam() == Engine::kVllm ? 2 * batch : batch);
    EXPECT_LE(graphs.back(), planned.limits.max_tokens);
  }
}

TEST_P(OfEngine, TheWholeBatchHasAGraphOfItsOwn) {
  EXPECT_THAT(graphs_written(planned_of(GetParam(), 19)), Contains(19));
  EXPECT_THAT(graphs_written(planned_of(GetParam(), 349)), Contains(349));
  EXPECT_THAT(graphs_written(planned_of(GetParam(), 1000)), Contains(1000));
}

// As many requests may run as the graph of the batch holds, which SGLang would drop otherwise.
TEST(DeployedLimits, GroupsOfSeveralGpusHaveGraphsOfMultiples) {
  Limits priced = policy_of(Engine::kSglang).defaults();
  priced.graph_batches = {4, 8, 12, 16, 256};
  priced.graph_multiple = 4;
  const auto deployed = [&](std::int64_t batch) {
    return deployed_limits(priced, Engine::kSglang, batch);
  };
  EXPECT_THAT(deployed(2).graph_batches, ElementsAre(4));
  EXPECT_EQ(deployed(2).max_batch, 4);
  EXPECT_THAT(deployed(13).graph_batches, ElementsAre(4, 8, 12, 16));
  EXPECT_EQ(deployed(13).max_batch, 16);
  EXPECT_EQ(deployed(12).max_batch, 12);
  EXPECT_THAT(deployed(301).graph_batches, ElementsAre(4, 8, 12, 16, 256, 288, 304));
}

// A step is filled up by an eighth at most.
TEST_P(OfEngine, GraphsReachTheBatchInStepsOfAnEighth) {
  const std::vector<std::int64_t> graphs = graphs_written(planned_of(GetParam(), 2000));
  EXPECT_EQ(graphs.back(), 2000);
  for (std::size_t i = 1; i < graphs.size(); ++i) {
    if (graphs[i] <= 128) continue;
    EXPECT_LE(8 * (graphs[i] - graphs[i - 1]), graphs[i - 1]) << graphs[i];
  }
}

TEST_P(OfEngine, OptionsAreDocumented) {
  const std::set<std::string> known = {
      // trtllm-serve, and dynamo.trtllm
      "--extra_llm_api_options", "--extra-engine-args",
      // vllm serve
      "--model", "--tensor-parallel-size", "--data-parallel-size", "--enable-expert-parallel",
      "--max-model-len", "--max-num-seqs", "--max-num-batched-tokens", "--gpu-memory-utilization",
      "--enable-chunked-prefill", "--no-enable-chunked-prefill", "--enable-prefix-caching",
      "--no-enable-prefix-caching", "--cudagraph-capture-sizes",
      // sglang.launch_server
      "--model-path", "--tp-size", "--dp-size", "--enable-dp-attention", "--ep-size",
      "--context-length", "--max-running-requests", "--chunked-prefill-size",
      "--max-prefill-tokens", "--mem-fraction-static", "--disable-radix-cache",
      "--disable-overlap-schedule", "--cuda-graph-bs",
      // stages, and pools
      "--pipeline-parallel-size", "--pp-size", "--kv-transfer-config", "--disaggregation-mode",
      "--disaggregation-transfer-backend", "--disaggregation-bootstrap-port",
      "--disaggregation-decode-tp", "--disaggregation-decode-dp", "--prefill-round-robin-balance",
      // several
      "--host", "--port", "--served-model-name", "--kv-cache-dtype"};
  PlannedDeployment planned = planned_of(GetParam());
  planned.has_experts = true;
  planned.worker = {.tp = 2, .dp = 2, .moe_tp = 1, .moe_ep = 4};
  const EngineFiles& files = files_of(GetParam());
  for (const Role role : {Role::kBoth, Role::kPrefill, Role::kDecode}) {
    planned.role = role;
    planned.worker.pp = role == Role::kBoth ? 2 : 1;
    for (const Words& words : {files.serve(planned, "s"), files.dynamo_options(planned, "s")}) {
      std::set<std::string> seen;
      for (const std::string& word : words) {
        if (!word.starts_with("--")) continue;
        EXPECT_TRUE(known.contains(word)) << word;
        EXPECT_TRUE(seen.insert(word).second) << word << " twice";
      }
    }
  }
}

// What an engine is told, read back from the files that tell it.
struct ReadBack {
  std::int64_t tp = 0;
  std::int64_t max_batch = 0;
  std::int64_t max_tokens = 0;
  double memory_share = 0;
  std::vector<std::int64_t> graphs;
};

ReadBack read_back(const PlannedDeployment& pool, const std::vector<DeploymentFile>& files) {
  const std::string role(name_of(pool.role));
  if (pool.engine == Engine::kTrtllm) {
    const YAML::Node settings = YAML::Load(content_of(files, role + "-settings.yaml"));
    check(settings, schema_of(kTrtllmSchema), role);
    return {settings["tensor_parallel_size"].as<std::int64_t>(),
            settings["max_batch_size"].as<std::int64_t>(),
            settings["max_num_tokens"].as<std::int64_t>(),
            settings["kv_cache_config"]["free_gpu_memory_fraction"].as<double>(),
            settings["cuda_graph_config"]["batch_sizes"].as<std::vector<std::int64_t>>()};
  }
  const Words words = words_of_script(content_of(files, "serve-" + role + ".sh"));
  const auto one = [&](const char* option) { return values_of(words, option).at(0); };
  const auto all = [&](const char* option) { return numbers(values_of(words, option)); };
  if (pool.engine == Engine::kVllm)
    return {std::stoll(one("--tensor-parallel-size")), std::stoll(one("--max-num-seqs")),
            std::stoll(one("--max-num-batched-tokens")), std::stod(one("--gpu-memory-utilization")),
            all("--cudagraph-capture-sizes")};
  return {std::stoll(one("--tp-size")), std::stoll(one("--max-running-requests")),
          std::stoll(one("--chunked-prefill-size")), std::stod(one("--mem-fraction-static")),
          all("--cuda-graph-bs")};
}

TEST_P(OfEngine, PoolsAreDeployedAsPriced) {
  const PlannedDeployment planned = pools_of(GetParam());
  const auto files = deployment_files(planned, {});
  ASSERT_TRUE(files.ok());
  for (const PlannedDeployment& pool : planned.pools) {
    const ReadBack read = read_back(pool, files.value());
    EXPECT_EQ(read.tp, pool.worker.tp);
    EXPECT_EQ(read.max_batch, pool.limits.max_batch);
    EXPECT_EQ(read.max_tokens, pool.limits.max_tokens);
    EXPECT_EQ(read.memory_share, pool.memory_share);
    EXPECT_EQ(read.graphs, pool.limits.graph_batches);
  }
  EXPECT_NE(read_back(planned.pools.front(), files.value()).max_tokens,
            read_back(planned.pools.back(), files.value()).max_tokens);
}

INSTANTIATE_TEST_SUITE_P(Files, OfEngine, testing::ValuesIn(kEngines), [](const auto& engine) {
  return std::string(name_of(engine.param));
});

}  // namespace
}  // namespace assay::plan
