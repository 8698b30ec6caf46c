// GLM-4.5 and GLM-4.6: grouped attention, the first layers dense, the others with experts and a
// shared one.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_glm4_moe(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  Attention attention = ASSAY_TRY(read_attention(config));
  attention.normalises_heads = ASSAY_TRY(config.flag_or("use_qk_norm", false));
  const FirstLayersDense layers = ASSAY_TRY(read_first_layers_dense(config));
  model.layers = ASSAY_TRY(
      read_layers(config, [&](std::int64_t index) { return layers.layer(index, attention); }));
  model.mtp = ASSAY_TRY(read_mtp(config, {attention, layers.experts}));
  return model;
}

const Family kGlm4Moe{.name = "glm4_moe",
                      .architectures = {"Glm4MoeForCausalLM"},
                      .read = read_glm4_moe,
                      .defaults = {{"head_dim", 128}}};
ASSAY_REGISTER(Family, kGlm4Moe);

}  // namespace
}  // namespace assay::serving
