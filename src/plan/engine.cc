#include "plan/engine.h"

#include <fmt/core.h>

#include <vector>

#include "core/text.h"
#include "store/systems/version_order.h"

namespace assay::plan {
namespace {

// vLLM's hybrid cache manager has freed chunks by default since pull request 29627, NixlConnector
// takes it by default since 41847; the versions are the first that have these for certain.
KeptCache kept_by_vllm(const std::string& version, Caches caches) {
  const bool sends_all = caches == Caches::kSent && !is_from(version, "0.23");
  return {.frees_windows = !sends_all, .frees_chunks = !sends_all && is_from(version, "0.14")};
}

// TensorRT-LLM keeps windows where max_attention_window names them (pull request 6768), in shares
// of the memory that can be set since 7923; 1.2 is the first version that has both for certain. The
// list counts the layers of a stage from its first, so that it is wrong for the others; with groups
// it allocated too much until 10330; where blocks are reused it freed none until 7922.
KeptCache kept_by_trtllm(const std::string& version, Caches caches, const std::string& family) {
  const bool has_windows = family == "gemma3" || family == "gpt_oss";
  if (!has_windows || caches != Caches::kStay || !is_from(version, "1.2")) return kKeptWhole;
  return {.frees_windows = true, .frees_chunks = false, .is_apart = true, .is_of_one_batch = true};
}

// SGLang gives windows and chunks memory of their own by architecture: 0.5.6 switches that off for
// gpt-oss and for Gemma 3, and wants an option that later versions lack for Llama 4. Pull requests
// 16399, 17220 and 17261 have it for gpt-oss and Llama 4; 0.5.9 is the first version that has all
// for certain.
KeptCache kept_by_sglang(const std::string& version, Caches caches, const std::string& family) {
  const bool has_windows = family == "gpt_oss" || family == "llama4";
  if (!has_windows || caches != Caches::kStay || !is_from(version, "0.5.9")) return kKeptWhole;
  return {.frees_windows = true, .frees_chunks = true, .is_apart = true};
}

KeptCache kept_by(Engine engine,
                  const std::string& version,
                  Caches caches,
                  const std::string& family) {
  switch (engine) {
    case Engine::kVllm:
      return kept_by_vllm(version, caches);
    case Engine::kTrtllm:
      return kept_by_trtllm(version, caches, family);
    case Engine::kSglang:
      return kept_by_sglang(version, caches, family);
  }
  return kKeptWhole;
}

// The first version that is known to sum queries' and keys' squares in one all-reduce: pull
// requests 12163, 31493 and 14416.
std::string_view first_with_one_sum(Engine engine) {
  switch (engine) {
    case Engine::kTrtllm:
      return "1.3.0rc13";
    case Engine::kVllm:
      return "0.14";
    case Engine::kSglang:
      return "0.5.8";
  }
  return "";
}

// A prefix is of use only with the state behind its last token, and no engine keeps that of every
// block as it keeps keys and values. TensorRT-LLM refuses block reuse beside such states until pull
// request 12185. vLLM turns its prefix cache off for linear attention until 30877, which keeps the
// states at which steps end. SGLang does not run ahead of the host with its tree of states, in
// which the begin that two prompts share has none, until 14792, which it takes by itself since
// 28151 and which leaves room for fewer requests. None of the later modes is priced.
bool keeps_states_of(const std::string& family) {
  return family == "qwen3_next" || family == "qwen3_5" || family == "nemotron_h";
}

}  // namespace

bool is_from(const std::string& version, std::string_view first) {
  const auto asked = store::Version::parse(version);
  return asked && *asked >= *store::Version::parse(first);
}

std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::kTrtllm:
      return "trtllm";
    case Engine::kVllm:
      return "vllm";
    case Engine::kSglang:
      return "sglang";
  }
  return "";
}

std::optional<Engine> engine_named(std::string_view name) {
  for (const Engine engine : kEngines)
    if (name_of(engine) == name) return engine;
  return std::nullopt;
}

std::string names_of(std::span<const Engine> engines) {
  std::vector<std::string> names;
  for (const Engine engine : engines)
    names.emplace_back(name_of(engine));
  return core::join(names, ", ");
}

serving::Precision served_precision(Engine engine, serving::Precision checkpoint) {
  using serving::Quantization;
  const bool is_fp8 =
      checkpoint.linear == Quantization::kFp8 || checkpoint.linear == Quantization::kFp8Block;
  if (engine != Engine::kTrtllm || !is_fp8) return checkpoint;
  checkpoint.cache = Quantization::kFp8;
  checkpoint.attention = Quantization::kFp8;
  return checkpoint;
}

serving::Precision served_precision(Engine engine, const serving::Model& model, CacheType cache) {
  if (cache == CacheType::kCheckpoint) return model.precision;
  const serving::Precision served =
      model.leaves_attention_out() ? model.precision : served_precision(engine, model.precision);
  return cache == CacheType::kFp8 ? with_cache(served, serving::Quantization::kFp8) : served;
}

serving::Precision with_cache(serving::Precision precision, serving::Quantization cache) {
  precision.cache = cache;
  if (cache == serving::Quantization::kBfloat16) precision.attention = cache;
  return precision;
}

serving::HeadNorm head_norm_of(Engine engine, const std::string& version) {
  using serving::HeadNorm;
  if (is_from(version, first_with_one_sum(engine))) return HeadNorm::kOneSum;
  return engine == Engine::kTrtllm ? HeadNorm::kGathered : HeadNorm::kTwoSums;
}

std::string cache_types_in_words(const serving::Model& model, std::span<const EngineCache> caches) {
  std::vector<std::string> texts;
  bool is_own = true;
  for (const EngineCache& one : caches) {
    is_own = is_own && one.cache == model.precision.cache;
    texts.push_back(fmt::format("in {} by {}", serving::name_of(one.cache), name_of(one.engine)));
  }
  if (is_own) return "";
  return fmt::format(
      "the cache of keys and values is kept {}, and the checkpoint has it in {}: "
      "--kv-cache-dtype checkpoint keeps it so with every engine",
      core::join(texts, ", "), serving::name_of(model.precision.cache));
}

KeptCache kept_cache(Engine engine,
                     const std::string& version,
                     Caches caches,
                     const std::string& family) {
  KeptCache kept = kept_by(engine, version, caches, family);
  kept.finds_prefixes = !keeps_states_of(family);
  return kept;
}

std::string unfound_prefixes_in_words(const std::string& family) {
  if (!keeps_states_of(family)) return "";
  return "no prompt finds its prefix in a cache: the model has layers that keep a state (linear "
         "attention, state spaces), whose prefix caches engines lack or have as experiments, which "
         "are not priced (docs/plan.md, \"Prefixes of models with states\")";
}

}  // namespace assay::plan
