#include "plan/engine.h"

#include <vector>

#include "core/text.h"

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

}  // namespace assay::plan
