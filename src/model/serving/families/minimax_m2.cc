// MiniMax-M2: grouped attention with norms of queries and keys, experts in every layer.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_minimax_m2(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Attention attention = ASSAY_TRY(read_attention(config));
  attention.normalises_heads = ASSAY_TRY(config.flag_or("use_qk_norm", false));
  attention.norm_spans_heads = attention.normalises_heads;
  const Experts experts{
      .count = ASSAY_TRY(config.count("num_local_experts")),
      .top_k = ASSAY_TRY(config.count("num_experts_per_tok")),
      .intermediate = ASSAY_TRY(config.count("intermediate_size")),
      .shared_intermediate = ASSAY_TRY(config.count_or("shared_intermediate_size", 0))};
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t /*index*/) {
    return Layer{attention, experts};
  }));
  return model;
}

const Family kMiniMaxM2{
    .name = "minimax_m2", .architectures = {"MiniMaxM2ForCausalLM"}, .read = read_minimax_m2};
ASSAY_REGISTER(Family, kMiniMaxM2);

}  // namespace
}  // namespace assay::serving
