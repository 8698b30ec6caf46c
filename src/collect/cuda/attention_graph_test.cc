#include "collect/cuda/attention_graph.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "collect/cuda/attention_ahead.h"
#include "collect/cuda/cudnn_plan.h"
#include "collect/cuda/self_test_shapes.h"
#include "collect/kernels/attention_layout.h"
#include "core/shared_library.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{1} << 32;

// The description that cuDNN 9.19 gives of the device.
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

// Plans need the driver, which compiles kernels, but no GPU.
bool has_driver() {
  return core::SharedLibrary::open({"libcuda.so.1"}).ok();
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

// Returns why no plan can be made here, or "" if plans can be made.
std::string no_plans_here() {
  if (!cudnn::functions().ok()) return cudnn::functions().error().message;
  if (cudnn::version() < 90800) return "cuDNN before 9.8 plans only for GPUs it sees";
  return has_driver() ? "" : "there is no driver to compile kernels";
}

// Asks repeatedly, until a thread has begun the plan before take().
std::optional<AttentionPlan> take_when_begun(AttentionPlansAhead& ahead,
                                             const AttentionSpec& spec,
                                             const cudnn::Target& target) {
  for (int i = 0; i < 100; ++i) {
    ahead.expect(spec);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (auto plan = ahead.take(spec, target)) return plan;
  }
  return std::nullopt;
}

TEST(AttentionGraph, AnH200HasPlansForEachKindOfExample) {
  if (const std::string why = no_plans_here(); !why.empty()) GTEST_SKIP() << why;
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

TEST(AttentionAhead, APlanThatWasExpectedIsTheOneThatIsCompiledOnDemand) {
  if (const std::string why = no_plans_here(); !why.empty()) GTEST_SKIP() << why;
  const cudnn::Descriptor device = cudnn::device_description(kH200).value();
  const cudnn::Target target{.device = &device};
  AttentionPlansAhead ahead(kH200, kMostWorkspaceBytes, 2);
  const AttentionSpec context{.query_length = 512, .kv_length = 512, .heads = 8, .kv_heads = 2};
  const AttentionSpec decode{
      .batch = 4, .kv_length = 1000, .heads = 8, .kv_heads = 2, .page_size = 64};
  ahead.expect(decode);
  for (const AttentionSpec& spec : {context, decode}) {
    const auto plan = take_when_begun(ahead, spec, target);
    ASSERT_TRUE(plan) << description_of(spec);
    const auto made = plan_attention(spec, plan->form, target, kMostWorkspaceBytes);
    ASSERT_TRUE(made && made->ok()) << description_of(spec);
    EXPECT_EQ(plan->plan.workspace_bytes(), made->value().plan.workspace_bytes());
    EXPECT_EQ(plan->tensors.query, made->value().tensors.query);
    EXPECT_TRUE(ahead.take(spec, target)) << "a second time: " << description_of(spec);
  }
}

TEST(AttentionAhead, WhatNobodyExpectedOrHasNoPlanIsNotThere) {
  if (const std::string why = no_plans_here(); !why.empty()) GTEST_SKIP() << why;
  const cudnn::Descriptor device = cudnn::device_description(kH200).value();
  const cudnn::Target target{.device = &device};
  AttentionPlansAhead ahead(kH200, kMostWorkspaceBytes, 1);
  const AttentionSpec context{.query_length = 512, .kv_length = 512, .heads = 8, .kv_heads = 2};
  EXPECT_FALSE(ahead.take(context, target));
  AttentionSpec odd = context;
  odd.head_dim = odd.value_dim = 13;
  ahead.expect(odd);
  // Its only thread plans in the order of expectations.
  EXPECT_TRUE(take_when_begun(ahead, context, target));
  EXPECT_FALSE(ahead.take(odd, target));
}

}  // namespace
}  // namespace assay::collect
