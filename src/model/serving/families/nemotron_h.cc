// Nemotron-H and Nemotron 3: each layer is a state space, attention, a feed-forward layer or
// experts alone, as a letter of hybrid_override_pattern tells.
#include <fmt/core.h>

#include "core/counted.h"
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<StateSpace> read_state_space(const Config& config) {
  return StateSpace{.heads = ASSAY_TRY(config.count("mamba_num_heads")),
                    .head_dim = ASSAY_TRY(config.count("mamba_head_dim")),
                    .state = ASSAY_TRY(config.count("ssm_state_size")),
                    .groups = ASSAY_TRY(config.count("n_groups")),
                    .convolution = ASSAY_TRY(config.count("conv_kernel")),
                    .chunk = ASSAY_TRY(config.count("chunk_size"))};
}

// The activation of both is a square, without a gate.
core::Result<Experts> nemotron_experts(const Config& config) {
  return Experts{
      .count = ASSAY_TRY(config.count("n_routed_experts")),
      .top_k = ASSAY_TRY(config.count("num_experts_per_tok")),
      .intermediate = ASSAY_TRY(config.count("moe_intermediate_size")),
      .shared_intermediate = ASSAY_TRY(config.count_or("n_shared_experts", 0)) *
                             ASSAY_TRY(config.count_or("moe_shared_expert_intermediate_size", 0)),
      .is_gated = false,
      .latent = ASSAY_TRY(config.count_or("moe_latent_size", 0))};
}

core::Result<Layer> layer_of_letter(const Config& config, char letter) {
  switch (letter) {
    case 'M':
      return Layer{ASSAY_TRY(read_state_space(config)), NoFeedForward{}};
    case '*':
      return Layer{ASSAY_TRY(read_attention(config)), NoFeedForward{}};
    case '-':
      return Layer{NoMixer{},
                   FeedForward{.intermediate = ASSAY_TRY(config.count("intermediate_size")),
                               .is_gated = false}};
    case 'E':
      return Layer{NoMixer{}, ASSAY_TRY(nemotron_experts(config))};
    default:
      break;
  }
  return config.error("hybrid_override_pattern",
                      fmt::format("'{}' is not known; known are M, *, - and E", letter));
}

core::Result<Model> read_nemotron_h(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  const std::string pattern = ASSAY_TRY(config.text("hybrid_override_pattern"));
  std::vector<Layer> layers;
  for (const char letter : pattern)
    layers.push_back(ASSAY_TRY(layer_of_letter(config, letter)));
  const std::int64_t count = ASSAY_TRY(config.count("num_hidden_layers"));
  if (count != static_cast<std::int64_t>(layers.size())) {
    return config.error("hybrid_override_pattern",
                        fmt::format("it has {}, and num_hidden_layers is {}",
                                    core::counted(layers.size(), "layer"), count));
  }
  model.layers = ASSAY_TRY(read_layers(
      config, [&](std::int64_t index) { return layers[static_cast<std::size_t>(index)]; }));
  return model;
}

const Family kNemotronH{.name = "nemotron_h",
                        .architectures = {"NemotronHForCausalLM"},
                        .read = read_nemotron_h,
                        .defaults = {{"head_dim", 128}}};
ASSAY_REGISTER(Family, kNemotronH);

}  // namespace
}  // namespace assay::serving
