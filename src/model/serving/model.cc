#include "model/serving/model.h"

#include <algorithm>
#include <array>

namespace assay::serving {
namespace {

constexpr std::array<std::string_view, 7> kQuantizationNames = {
    "bfloat16", "fp8", "fp8_block", "w4a16_mxfp4", "int4_wo", "w4afp8", "nvfp4"};

}  // namespace

std::string_view name_of(Quantization quantization) {
  return kQuantizationNames[static_cast<std::size_t>(quantization)];
}

std::optional<Quantization> quantization_named(std::string_view name) {
  const auto found = std::find(kQuantizationNames.begin(), kQuantizationNames.end(), name);
  if (found == kQuantizationNames.end()) return std::nullopt;
  return static_cast<Quantization>(found - kQuantizationNames.begin());
}

Precision weights_of(Quantization quantization) {
  if (quantization == Quantization::kMxfp4) return {.experts = Quantization::kMxfp4};
  return {.linear = quantization, .experts = quantization};
}

bool has_same_weights(const Precision& a, const Precision& b) {
  return a.linear == b.linear && a.experts == b.experts;
}

Quantization quantization_of(const Precision& precision) {
  return precision.linear == Quantization::kBfloat16 ? precision.experts : precision.linear;
}

const EqualLayers& Model::most_frequent_layers() const {
  return *std::max_element(
      layers.begin(), layers.end(),
      [](const EqualLayers& a, const EqualLayers& b) { return a.count < b.count; });
}

std::int64_t Model::num_layers() const {
  std::int64_t count = 0;
  for (const EqualLayers& equal : layers)
    count += equal.count;
  return count;
}

// Latent and sparse attention keep one matrix more, whose name tells as much.
bool Model::leaves_attention_out() const {
  std::int64_t left = 0;
  std::int64_t all = 0;
  for (const EqualLayers& equal : layers) {
    const Mixer& mixer = equal.layer.mixer;
    if (!std::holds_alternative<Attention>(mixer) &&
        !std::holds_alternative<LatentAttention>(mixer) &&
        !std::holds_alternative<SparseAttention>(mixer))
      continue;
    all += equal.count;
    if (equal.layer.left_out.has(Projection::kMixerOutput)) left += equal.count;
  }
  return 2 * left > all;
}

bool Model::has_experts() const {
  return std::any_of(layers.begin(), layers.end(), [](const EqualLayers& equal) {
    return std::holds_alternative<Experts>(equal.layer.feed_forward);
  });
}

}  // namespace assay::serving
