#include "plan/serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr ClosedLoop kLoad{.concurrency = 8, .prompt_tokens = 30'000, .output_tokens = 1000};

TEST(ServedWorker, WhatWasMeasuredToBeFreeIsNamedWhereItDecides) {
  const auto model = serving::read_model("qwen3-8b").value();
  ServedWorker served{.engine = Engine::kVllm, .deployment = {}};
  const auto refusal = [&](double capacity, double stated) {
    served.memory = {.capacity_bytes = capacity, .stated_bytes = stated};
    const auto limits = limits_of(model, served, kLoad);
    return limits.ok() ? "" : limits.error().message;
  };
  EXPECT_THAT(refusal(2e10, 8e10), HasSubstr("the 80.0 GB of the system's file would hold one"));
  EXPECT_THAT(refusal(2e10, 2.1e10), Not(HasSubstr("system's file")));
  EXPECT_EQ(refusal(8e10, 9e10), "");
}

TEST(GpuMemory, IsNoMoreThanWasMeasuredToBeFree) {
  store::SystemFacts facts;
  facts.memory_bytes = 151e9;
  EXPECT_EQ(memory_of_gpu(facts, 1).capacity_bytes, 151e9);
  facts.measured_free_bytes = 149e9;
  EXPECT_EQ(memory_of_gpu(facts, 1).capacity_bytes, 149e9);
  EXPECT_EQ(memory_of_gpu(facts, 1).stated_bytes, 151e9);
  facts.measured_free_bytes = 152e9;
  EXPECT_EQ(memory_of_gpu(facts, 1).capacity_bytes, 151e9);
}

}  // namespace
}  // namespace assay::plan
