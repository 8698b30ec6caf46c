// Qwen3 without experts: as Llama, with norms of queries and keys.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_qwen3(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Attention attention = ASSAY_TRY(read_attention(config));
  attention.normalises_heads = true;
  Layer layer{
      .mixer = attention,
      .feed_forward = FeedForward{.intermediate = ASSAY_TRY(config.count("intermediate_size"))}};
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t /*index*/) { return layer; }));
  return model;
}

const Family kQwen3{.name = "qwen3", .architectures = {"Qwen3ForCausalLM"}, .read = read_qwen3};
ASSAY_REGISTER(Family, kQwen3);

}  // namespace
}  // namespace assay::serving
