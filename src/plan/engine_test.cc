#include "plan/engine.h"

#include <gtest/gtest.h>

namespace assay::plan {
namespace {

TEST(Engine, IsFoundByTheNameThatItHas) {
  for (const Engine engine : kEngines)
    EXPECT_EQ(engine_named(name_of(engine)), engine);
  EXPECT_EQ(engine_named("VLLM"), std::nullopt);
}

TEST(KeptCache, VllmFreesChunksSinceItsMetadataIsKept) {
  EXPECT_FALSE(kept_cache(Engine::kVllm, "", Caches::kStay).frees_chunks);
  EXPECT_FALSE(kept_cache(Engine::kVllm, "0.12.0", Caches::kStay).frees_chunks);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "0.14.1", Caches::kStay).frees_chunks);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "", Caches::kStay).frees_windows);
  EXPECT_TRUE(kept_cache(Engine::kSglang, "", Caches::kStay).frees_chunks);
}

TEST(KeptCache, VllmFreesNoWindowsWhereItSendsCaches) {
  EXPECT_FALSE(kept_cache(Engine::kVllm, "", Caches::kSent).frees_windows);
  EXPECT_FALSE(kept_cache(Engine::kVllm, "0.18.1", Caches::kSent).frees_chunks);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "0.23.0", Caches::kSent).frees_windows);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "0.23.0", Caches::kSent).frees_chunks);
  EXPECT_TRUE(kept_cache(Engine::kTrtllm, "", Caches::kSent).frees_windows);
}

}  // namespace
}  // namespace assay::plan
