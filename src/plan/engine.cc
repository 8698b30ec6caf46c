#include "plan/engine.h"

#include <vector>

#include "core/text.h"
#include "store/systems/version_order.h"

namespace assay::plan {

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

serving::Precision served_precision(Engine engine, const serving::Model& model) {
  return model.leaves_attention_out() ? model.precision : served_precision(engine, model.precision);
}

bool is_from(const std::string& version, std::string_view first) {
  const auto asked = store::Version::parse(version);
  return asked && *asked >= *store::Version::parse(first);
}

// vLLM's hybrid cache manager has freed chunks by default since pull request 29627, NixlConnector
// takes it by default since 41847; the versions are the first that have these for certain.
KeptCache kept_cache(Engine engine, const std::string& version, Caches caches) {
  if (engine != Engine::kVllm) return {};
  const bool sends_all = caches == Caches::kSent && !is_from(version, "0.23");
  return {.frees_windows = !sends_all, .frees_chunks = !sends_all && is_from(version, "0.14")};
}

}  // namespace assay::plan
