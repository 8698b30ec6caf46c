#include "plan/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

TEST(Engine, IsFoundByTheNameThatItHas) {
  for (const Engine engine : kEngines)
    EXPECT_EQ(engine_named(name_of(engine)), engine);
  EXPECT_EQ(engine_named("VLLM"), std::nullopt);
}

TEST(ServedPrecision, KeepsTheCacheAsItIsAskedTo) {
  using serving::Quantization;
  const auto model = serving::read_model("minimax-m2").value();
  const auto cache = [&](Engine engine, CacheType type) {
    return served_precision(engine, model, type).cache;
  };
  EXPECT_EQ(cache(Engine::kTrtllm, CacheType::kEngine), Quantization::kFp8);
  EXPECT_EQ(cache(Engine::kVllm, CacheType::kEngine), Quantization::kBfloat16);
  for (const Engine engine : kEngines) {
    EXPECT_EQ(cache(engine, CacheType::kCheckpoint), Quantization::kBfloat16);
    EXPECT_EQ(cache(engine, CacheType::kFp8), Quantization::kFp8);
    EXPECT_EQ(served_precision(engine, model, CacheType::kCheckpoint).attention,
              Quantization::kBfloat16);
  }
}

TEST(ServedPrecision, SaysWhereACacheIsNotAsTheCheckpointHasIt) {
  using serving::Quantization;
  const auto model = serving::read_model("minimax-m2").value();
  const std::array caches = {EngineCache{Engine::kTrtllm, Quantization::kFp8},
                             EngineCache{Engine::kVllm, Quantization::kBfloat16}};
  EXPECT_EQ(cache_types_in_words(model, caches),
            "the cache of keys and values is kept in fp8 by trtllm, in bfloat16 by vllm, and the "
            "checkpoint has it in bfloat16: --kv-cache-dtype checkpoint keeps it so with every "
            "engine");
  EXPECT_EQ(cache_types_in_words(model, std::span(caches).last(1)), "");
}

TEST(HeadNorm, IsSharedAsTheVersionDoesIt) {
  using serving::HeadNorm;
  EXPECT_EQ(head_norm_of(Engine::kVllm, ""), HeadNorm::kTwoSums);
  EXPECT_EQ(head_norm_of(Engine::kVllm, "0.14.0"), HeadNorm::kOneSum);
  EXPECT_EQ(head_norm_of(Engine::kSglang, "0.5.6.post2"), HeadNorm::kTwoSums);
  EXPECT_EQ(head_norm_of(Engine::kSglang, "0.5.9"), HeadNorm::kOneSum);
  EXPECT_EQ(head_norm_of(Engine::kTrtllm, "1.3.0rc12"), HeadNorm::kGathered);
  EXPECT_EQ(head_norm_of(Engine::kTrtllm, "1.3.0rc13"), HeadNorm::kOneSum);
}

TEST(KeptCache, VllmFreesChunksSinceItsMetadataIsKept) {
  EXPECT_FALSE(kept_cache(Engine::kVllm, "", Caches::kStay, "llama4").frees_chunks);
  EXPECT_FALSE(kept_cache(Engine::kVllm, "0.12.0", Caches::kStay, "llama4").frees_chunks);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "0.14.1", Caches::kStay, "llama4").frees_chunks);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "", Caches::kStay, "gemma3").frees_windows);
}

TEST(KeptCache, VllmFreesNoWindowsWhereItSendsCaches) {
  EXPECT_FALSE(kept_cache(Engine::kVllm, "", Caches::kSent, "gemma3").frees_windows);
  EXPECT_FALSE(kept_cache(Engine::kVllm, "0.18.1", Caches::kSent, "llama4").frees_chunks);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "0.23.0", Caches::kSent, "gemma3").frees_windows);
  EXPECT_TRUE(kept_cache(Engine::kVllm, "0.23.0", Caches::kSent, "llama4").frees_chunks);
}

bool frees(Engine engine, const char* version, Caches caches, const char* family) {
  const KeptCache kept = kept_cache(engine, version, caches, family);
  return kept.frees_windows || kept.frees_chunks;
}

TEST(KeptCache, TensorRtLlmFreesTheWindowsThatItsSettingsName) {
  for (const char* family : {"gemma3", "gpt_oss"}) {
    EXPECT_FALSE(frees(Engine::kTrtllm, "", Caches::kStay, family));
    EXPECT_FALSE(frees(Engine::kTrtllm, "1.1.0", Caches::kStay, family));
    const KeptCache kept = kept_cache(Engine::kTrtllm, "1.2.0", Caches::kStay, family);
    EXPECT_TRUE(kept.frees_windows && kept.is_apart && kept.is_of_one_batch);
    EXPECT_FALSE(frees(Engine::kTrtllm, "1.2.0", Caches::kSent, family));
    EXPECT_FALSE(frees(Engine::kTrtllm, "1.2.0", Caches::kUnset, family));
  }
  // Its own code attends to everything there, or to chunks, which are no windows.
  for (const char* family : {"mistral", "llama4"})
    EXPECT_FALSE(frees(Engine::kTrtllm, "1.2.0", Caches::kStay, family));
}

TEST(KeptCache, SglangFreesWindowsOfSomeArchitecturesSince059) {
  for (const char* family : {"gpt_oss", "llama4"}) {
    EXPECT_FALSE(frees(Engine::kSglang, "", Caches::kStay, family));
    EXPECT_FALSE(frees(Engine::kSglang, "0.5.6", Caches::kStay, family));
    const KeptCache kept = kept_cache(Engine::kSglang, "0.5.9", Caches::kStay, family);
    EXPECT_TRUE(kept.frees_windows && kept.frees_chunks && kept.is_apart);
    EXPECT_FALSE(frees(Engine::kSglang, "0.5.9", Caches::kUnset, family));
  }
  EXPECT_FALSE(frees(Engine::kSglang, "0.5.9", Caches::kStay, "gemma3"));
}

// The state behind the last token of a prefix is not in their caches.
TEST(KeptCache, NoPrefixIsFoundWhereLayersKeepStates) {
  for (const Engine engine : kEngines) {
    for (const Caches caches : {Caches::kStay, Caches::kSent}) {
      for (const char* family : {"qwen3_next", "qwen3_5", "nemotron_h"})
        EXPECT_FALSE(kept_cache(engine, "", caches, family).finds_prefixes) << family;
      EXPECT_TRUE(kept_cache(engine, "", caches, "qwen3").finds_prefixes);
    }
  }
  EXPECT_NE(unfound_prefixes_in_words("qwen3_next"), "");
  EXPECT_EQ(unfound_prefixes_in_words("qwen3"), "");
}

}  // namespace
}  // namespace assay::plan
