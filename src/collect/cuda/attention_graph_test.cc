#include "collect/cuda/attention_graph.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "collect/attention_layout.h"
#include "collect/cuda/attention_examples.h"
#include "collect/cuda/cudnn_plan.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{1} << 32;

// As cuDNN 9.19 describes it.
constexpr const char* kH200 = R"({
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 150149398528, "smClockRateKHz": 1980000,
  "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "cudaDeviceId": 0, "deviceVer": 900,
  "driverVer": 13000, "deviceName": "NVIDIA H200"})";

bool is_pure(const AttentionSpec& spec) {
  return spec.type == spec.kv_type;
}

std::string reason(const core::Status& status) {
  return status.ok() ? "" : status.error().message;
}

// The driver compiles kernels; a GPU is not needed.
bool has_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

TEST(AttentionGraph, CudnnTakesTheOperationsOfAllExamples) {
  if (!cudnn::functions().ok()) GTEST_SKIP() << cudnn::functions().error().message;
  const int version = cudnn::version();
  for (const AttentionSpec& spec : attention_examples()) {
    if (!is_pure(spec)) continue;
    AttentionGraph composed = composed_attention_graph(spec, version);
    EXPECT_EQ(reason(composed.graph.finish(nullptr)), "") << description_of(spec);
    if (auto whole = whole_attention_graph(spec, version)) {
      EXPECT_EQ(reason(whole->graph.finish(nullptr)), "") << description_of(spec);
    }
    if (auto folded = folded_attention_graph(spec, version)) {
      EXPECT_EQ(reason(folded->graph.finish(nullptr)), "") << description_of(spec);
    }
  }
}

TEST(AttentionGraph, AnErrorNamesTheOperation) {
  if (!cudnn::functions().ok()) GTEST_SKIP() << cudnn::functions().error().message;
  cudnn::Graph graph;
  const auto matrix = [&graph](const std::string& name, std::int64_t rows, std::int64_t columns) {
    const cudnn::Dimensions dimensions = {1, 1, rows, columns};
    return graph.input(name,
                       {.dimensions = dimensions, .strides = cudnn::packed_strides(dimensions)});
  };
  graph.matmul("unequal", matrix("a", 16, 32), matrix("b", 64, 16), matrix("c", 16, 16));
  const core::Status finished = graph.finish(nullptr);
  ASSERT_FALSE(finished.ok());
  EXPECT_NE(finished.error().message.find("operation unequal"), std::string::npos)
      << finished.error().message;
}

TEST(AttentionGraph, TheWholeOperationIsForUnmaskedAttentionOfNewVersions) {
  const AttentionSpec decode{.kv_length = 1024, .heads = 32, .kv_heads = 8};
  AttentionSpec pages = decode;
  pages.page_size = 64;
  AttentionSpec causal = decode;
  causal.query_length = 2;
  AttentionSpec fp8 = decode;
  fp8.type = fp8.kv_type = DataType::kFp8;
  if (!cudnn::functions().ok()) GTEST_SKIP() << cudnn::functions().error().message;
  EXPECT_TRUE(whole_attention_graph(decode, 91400));
  EXPECT_FALSE(whole_attention_graph(decode, 91300));
  EXPECT_TRUE(whole_attention_graph(pages, 91500));
  EXPECT_FALSE(whole_attention_graph(pages, 91400));
  EXPECT_FALSE(whole_attention_graph(causal, 91900));
  EXPECT_FALSE(whole_attention_graph(fp8, 91900));
}

TEST(AttentionGraph, AnH200HasPlansForEachKindOfExample) {
  if (!cudnn::functions().ok()) GTEST_SKIP() << cudnn::functions().error().message;
  if (cudnn::version() < 90800) GTEST_SKIP() << "cuDNN before 9.8 plans only for GPUs it sees";
  if (!has_driver()) GTEST_SKIP() << "there is no driver to compile kernels";
  const cudnn::Descriptor device = cudnn::device_description(kH200).value();
  const AttentionSpec context{.query_length = 512, .kv_length = 512, .heads = 8, .kv_heads = 2};
  AttentionSpec decode{.batch = 4, .kv_length = 1000, .heads = 8, .kv_heads = 2, .page_size = 64};
  AttentionSpec window = context;
  window.window = 100;
  AttentionSpec fp8 = context;
  fp8.type = fp8.kv_type = DataType::kFp8;
  for (const AttentionSpec& spec : {context, decode, window, fp8}) {
    AttentionGraph made = composed_attention_graph(spec, cudnn::version());
    const auto plan =
        cudnn::Plan::create(std::move(made.graph), {.device = &device}, kMostWorkspaceBytes);
    EXPECT_TRUE(plan.ok()) << description_of(spec) << ": "
                           << (plan.ok() ? "" : plan.error().message);
  }
}

}  // namespace
}  // namespace assay::collect
