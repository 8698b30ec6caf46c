// Decoders whose layers are all alike: grouped attention and a gated feed-forward layer.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_llama(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Layer layer{
      .mixer = ASSAY_TRY(read_attention(config)),
      .feed_forward = FeedForward{.intermediate = ASSAY_TRY(config.count("intermediate_size"))}};
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t /*index*/) { return layer; }));
  model.mtp = ASSAY_TRY(read_mtp(config, layer));
  return model;
}

const Family kLlama{
    .name = "llama", .architectures = {"LlamaForCausalLM", "MiMoForCausalLM"}, .read = read_llama};
ASSAY_REGISTER(Family, kLlama);

}  // namespace
}  // namespace assay::serving
