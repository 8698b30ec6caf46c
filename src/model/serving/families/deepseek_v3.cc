// DeepSeek-V3, R1, Kimi-K2 and K2.5: latent attention, the first layers dense, the others with
// experts and a shared one.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_deepseek_v3(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  model.skew = "power_law_1.01";
  const LatentAttention attention = ASSAY_TRY(read_latent_attention(config));
  const FirstLayersDense layers = ASSAY_TRY(read_first_layers_dense(config));
  model.layers = ASSAY_TRY(
      read_layers(config, [&](std::int64_t index) { return layers.layer(index, attention); }));
  model.mtp = ASSAY_TRY(read_mtp(config, {attention, layers.experts}));
  return model;
}

const Family kDeepseekV3{
    .name = "deepseek_v3",
    .architectures = {"DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration"},
    .read = read_deepseek_v3};
ASSAY_REGISTER(Family, kDeepseekV3);

}  // namespace
}  // namespace assay::serving
