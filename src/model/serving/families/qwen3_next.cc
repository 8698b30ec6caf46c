// Qwen3-Next and Qwen3.5: three of four layers have linear attention, the fourth grouped attention
// with a gate; all have experts and a shared one, or a feed-forward layer.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<DeltaNet> read_delta_net(const Config& config) {
  return DeltaNet{.key_heads = ASSAY_TRY(config.count("linear_num_key_heads")),
                  .value_heads = ASSAY_TRY(config.count("linear_num_value_heads")),
                  .key_dim = ASSAY_TRY(config.count("linear_key_head_dim")),
                  .value_dim = ASSAY_TRY(config.count("linear_value_head_dim")),
                  .convolution = ASSAY_TRY(config.count("linear_conv_kernel_dim"))};
}

core::Result<Experts> next_experts(const Config& config) {
  return Experts{
      .count = ASSAY_TRY(config.count("num_experts")),
      .top_k = ASSAY_TRY(config.count("num_experts_per_tok")),
      .intermediate = ASSAY_TRY(config.count("moe_intermediate_size")),
      .shared_intermediate = ASSAY_TRY(config.count_or("shared_expert_intermediate_size", 0)),
      .has_shared_gate = true};
}

using AfterMixer = decltype(Layer::feed_forward);

// The small ones of Qwen3.5 have no experts.
core::Result<AfterMixer> next_feed_forward(const Config& config) {
  if (config.has("num_experts")) return AfterMixer(ASSAY_TRY(next_experts(config)));
  return AfterMixer(FeedForward{.intermediate = ASSAY_TRY(config.count("intermediate_size"))});
}

core::Result<Model> read_qwen3_next(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Attention attention = ASSAY_TRY(read_attention(config));
  attention.normalises_heads = true;
  attention.has_output_gate = true;
  const DeltaNet linear = ASSAY_TRY(read_delta_net(config));
  const auto after = ASSAY_TRY(next_feed_forward(config));
  const auto types = ASSAY_TRY(read_layer_types(config));
  const std::int64_t interval =
      types.empty() ? ASSAY_TRY(config.count("full_attention_interval")) : 1;
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t index) {
    const bool is_full = types.empty() ? (index + 1) % interval == 0
                                       : types[static_cast<std::size_t>(index)] == "full_attention";
    return is_full ? Layer{attention, after} : Layer{linear, after};
  }));
  // Checkpoints of Qwen3-Next hold one such layer, which their config.json does not tell.
  model.mtp = ASSAY_TRY(read_mtp(config, {attention, after}, 1));
  return model;
}

const Family kQwen3Next{.name = "qwen3_next",
                        .architectures = {"Qwen3NextForCausalLM"},
                        .read = read_qwen3_next,
                        .defaults = {{"head_dim", 256}}};
ASSAY_REGISTER(Family, kQwen3Next);

const Family kQwen35{
    .name = "qwen3_5",
    .architectures = {"Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration",
                      "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"},
    .read = read_qwen3_next,
    .defaults = {{"head_dim", 256}}};
ASSAY_REGISTER(Family, kQwen35);

}  // namespace
}  // namespace assay::serving
