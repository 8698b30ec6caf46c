#include "plan/engine.h"

#include <algorithm>
#include <array>

namespace assay::plan {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"trtllm", "vllm", "sglang"};

}  // namespace

std::string_view name_of(Engine engine) {
  return kNames[static_cast<std::size_t>(engine)];
}

std::optional<Engine> engine_named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Engine>(found - kNames.begin());
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
