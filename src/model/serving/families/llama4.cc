// Llama 4: three of four layers attend to a chunk, every few layers have experts and a shared one.
#include <algorithm>

#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

// Every fourth layer has no positions and attends to everything.
constexpr std::int64_t kFullInterval = 4;

core::Result<Model> read_llama4(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  model.skew = "power_law_1.01";
  const Attention full = ASSAY_TRY(read_attention(config));
  Attention chunked = full;
  chunked.window = ASSAY_TRY(config.count_or("attention_chunk_size", 0));
  chunked.is_chunked = chunked.window > 0;
  const std::int64_t intermediate = ASSAY_TRY(config.count("intermediate_size"));
  const Experts experts{.count = ASSAY_TRY(config.count("num_local_experts")),
                        .top_k = ASSAY_TRY(config.count("num_experts_per_tok")),
                        .intermediate = intermediate,
                        .shared_intermediate = intermediate};
  const FeedForward dense{.intermediate = ASSAY_TRY(config.count("intermediate_size_mlp"))};
  const std::int64_t step =
      std::max<std::int64_t>(1, ASSAY_TRY(config.count_or("interleave_moe_layer_step", 1)));
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t index) {
    const Attention& attention = (index + 1) % kFullInterval == 0 ? full : chunked;
    return (index + 1) % step == 0 ? Layer{attention, experts} : Layer{attention, dense};
  }));
  return model;
}

const Family kLlama4{.name = "llama4",
                     .architectures = {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"},
                     .read = read_llama4,
                     .defaults = {{"head_dim", 128}, {"attention_chunk_size", 8192}}};
ASSAY_REGISTER(Family, kLlama4);

}  // namespace
}  // namespace assay::serving
