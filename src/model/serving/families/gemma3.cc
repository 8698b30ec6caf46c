// Gemma 3: five of six layers attend to a window; queries and keys pass norms.
#include <algorithm>

#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

constexpr std::int64_t kFullPattern = 6;

core::Result<Model> read_gemma3(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  model.ties_embedding = true;  // its config.json has the field only where that is not so
  Attention full = ASSAY_TRY(read_attention(config));
  full.normalises_heads = true;
  Attention windowed = full;
  windowed.window = ASSAY_TRY(config.count("sliding_window"));
  const FeedForward dense{.intermediate = ASSAY_TRY(config.count("intermediate_size"))};
  const auto types = ASSAY_TRY(read_layer_types(config));
  const std::int64_t pattern =
      std::max<std::int64_t>(1, ASSAY_TRY(config.count_or("sliding_window_pattern", kFullPattern)));
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t index) {
    const bool is_full = types.empty() ? (index + 1) % pattern == 0
                                       : types[static_cast<std::size_t>(index)] == "full_attention";
    return Layer{
        .mixer = is_full ? full : windowed, .feed_forward = dense, .normalises_outputs = true};
  }));
  return model;
}

const Family kGemma3{.name = "gemma3",
                     .architectures = {"Gemma3ForConditionalGeneration", "Gemma3ForCausalLM"},
                     .read = read_gemma3,
                     .defaults = {{"vocab_size", 262208},
                                  {"num_attention_heads", 8},
                                  {"num_key_value_heads", 4},
                                  {"head_dim", 256},
                                  {"sliding_window", 4096},
                                  {"max_position_embeddings", 131072}},
                     .has_scaled_positions = true};
ASSAY_REGISTER(Family, kGemma3);

}  // namespace
}  // namespace assay::serving
