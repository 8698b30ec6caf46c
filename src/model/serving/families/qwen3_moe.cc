// Qwen3 with experts in every layer, or in every few of them.
#include <algorithm>

#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Experts> qwen3_experts(const Config& config) {
  return Experts{.count = ASSAY_TRY(config.count("num_experts")),
                 .top_k = ASSAY_TRY(config.count("num_experts_per_tok")),
                 .intermediate = ASSAY_TRY(config.count("moe_intermediate_size"))};
}

core::Result<Model> read_qwen3_moe(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Attention attention = ASSAY_TRY(read_attention(config));
  attention.normalises_heads = true;
  // Transformers gives all layers the window, whatever max_window_layers says.
  attention.window = ASSAY_TRY(read_used_window(config));
  const Experts experts = ASSAY_TRY(qwen3_experts(config));
  const FeedForward dense{.intermediate = ASSAY_TRY(config.count("intermediate_size"))};
  const auto dense_layers = ASSAY_TRY(config.counts("mlp_only_layers"));
  const std::int64_t step =
      std::max<std::int64_t>(1, ASSAY_TRY(config.count_or("decoder_sparse_step", 1)));
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t index) {
    const bool is_dense =
        (index + 1) % step != 0 ||
        std::find(dense_layers.begin(), dense_layers.end(), index) != dense_layers.end();
    return is_dense ? Layer{attention, dense} : Layer{attention, experts};
  }));
  return model;
}

const Family kQwen3Moe{
    .name = "qwen3_moe", .architectures = {"Qwen3MoeForCausalLM"}, .read = read_qwen3_moe};
ASSAY_REGISTER(Family, kQwen3Moe);

}  // namespace
}  // namespace assay::serving
