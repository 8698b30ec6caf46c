// Nemotron-H and Nemotron 3: each layer is a state space, attention, a feed-forward layer or
// experts alone, as a letter of hybrid_override_pattern or a word of layers_block_type tells.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

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

// Transformers 5 names each layer, with other words than the files of 2026 do.
struct LayerWord {
  std::string_view word;
  char letter;
};

constexpr std::array<LayerWord, 6> kLayerWords = {{{"mamba", 'M'},
                                                   {"linear_attention", 'M'},
                                                   {"attention", '*'},
                                                   {"full_attention", '*'},
                                                   {"mlp", '-'},
                                                   {"moe", 'E'}}};

core::Result<std::string> pattern_of_words(const Config& config) {
  std::string pattern;
  for (const std::string& word : ASSAY_TRY(config.words("layers_block_type"))) {
    const auto* const known = std::find_if(kLayerWords.begin(), kLayerWords.end(),
                                           [&](const LayerWord& one) { return one.word == word; });
    if (known == kLayerWords.end())
      return config.error("layers_block_type", fmt::format("'{}' is not known; known are mamba, "
                                                           "attention, mlp and moe",
                                                           word));
    pattern += known->letter;
  }
  return pattern;
}

core::Result<Model> read_nemotron_h(const Config& given) {
  const bool has_words = given.has("layers_block_type");
  const std::string pattern = has_words ? ASSAY_TRY(pattern_of_words(given))
                                        : ASSAY_TRY(given.text("hybrid_override_pattern"));
  const auto length = static_cast<std::int64_t>(pattern.size());
  const Config config = given.with_defaults({{"num_hidden_layers", length}});
  Model model = ASSAY_TRY(read_sizes(config));
  std::vector<Layer> layers;
  for (const char letter : pattern)
    layers.push_back(ASSAY_TRY(layer_of_letter(config, letter)));
  const std::int64_t count = ASSAY_TRY(config.count("num_hidden_layers"));
  if (count != length) {
    return config.error(has_words ? "layers_block_type" : "hybrid_override_pattern",
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
