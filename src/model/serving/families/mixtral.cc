// Mixtral: as Llama, with experts in place of the feed-forward layer.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_mixtral(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Attention attention = ASSAY_TRY(read_attention(config));
  attention.window = ASSAY_TRY(config.count_or("sliding_window", 0));
  Layer layer{
      .mixer = attention,
      .feed_forward = Experts{.count = ASSAY_TRY(config.count("num_local_experts")),
                              .top_k = ASSAY_TRY(config.count("num_experts_per_tok")),
                              .intermediate = ASSAY_TRY(config.count("intermediate_size"))}};
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t /*index*/) { return layer; }));
  return model;
}

const Family kMixtral{
    .name = "mixtral", .architectures = {"MixtralForCausalLM"}, .read = read_mixtral};
ASSAY_REGISTER(Family, kMixtral);

}  // namespace
}  // namespace assay::serving
