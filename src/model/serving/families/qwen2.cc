// Qwen2: as Llama, but the upper layers may attend to a window.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_qwen2(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  const Attention attention = ASSAY_TRY(read_attention(config));
  const auto windows = ASSAY_TRY(read_qwen_windows(config));
  model.layers = ASSAY_TRY(read_dense_layers(config, attention, windows));
  return model;
}

const Family kQwen2{.name = "qwen2", .architectures = {"Qwen2ForCausalLM"}, .read = read_qwen2};
ASSAY_REGISTER(Family, kQwen2);

}  // namespace
}  // namespace assay::serving
