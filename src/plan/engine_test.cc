#include "plan/engine.h"

#include <gtest/gtest.h>

namespace assay::plan {
namespace {

TEST(Engine, IsFoundByTheNameThatItHas) {
  for (const Engine engine : kEngines)
    EXPECT_EQ(engine_named(name_of(engine)), engine);
  EXPECT_EQ(engine_named("VLLM"), std::nullopt);
}

}  // namespace
}  // namespace assay::plan
