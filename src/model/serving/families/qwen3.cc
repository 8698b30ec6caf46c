// Qwen3 without experts: as Qwen2, with norms of queries and keys.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_qwen3(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Attention attention = ASSAY_TRY(read_attention(config));
  attention.normalises_heads = true;
  const auto windows = ASSAY_TRY(read_qwen_windows(config));
  model.layers = ASSAY_TRY(read_dense_layers(config, attention, windows));
  return model;
}

const Family kQwen3{.name = "qwen3",
                    .architectures = {"Qwen3ForCausalLM"},
                    .read = read_qwen3,
                    .defaults = {{"head_dim", 128}}};
ASSAY_REGISTER(Family, kQwen3);

}  // namespace
}  // namespace assay::serving
