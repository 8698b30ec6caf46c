// DeepSeek-V3.2 and GLM-5: latent attention to the tokens that an indexer chooses, the first layers
// dense, the others with experts and a shared one.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_sparse(const Config& config, const char* architecture) {
  Model model = ASSAY_TRY(read_sizes(config));
  model.skew = "power_law_1.01";
  const SparseAttention attention{.latent = ASSAY_TRY(read_latent_attention(config)),
                                  .index_heads = ASSAY_TRY(config.count("index_n_heads")),
                                  .index_dim = ASSAY_TRY(config.count("index_head_dim")),
                                  .top_k = ASSAY_TRY(config.count("index_topk")),
                                  .architecture = architecture};
  const FirstLayersDense layers = ASSAY_TRY(read_first_layers_dense(config));
  model.layers = ASSAY_TRY(
      read_layers(config, [&](std::int64_t index) { return layers.layer(index, attention); }));
  return model;
}

constexpr const char* kDeepseek = "DeepseekV32ForCausalLM";
constexpr const char* kGlm = "GlmMoeDsaForCausalLM";

core::Result<Model> read_deepseek_v32(const Config& config) {
  return read_sparse(config, kDeepseek);
}

core::Result<Model> read_glm_moe_dsa(const Config& config) {
  return read_sparse(config, kGlm);
}

const Family kDeepseekV32{
    .name = "deepseek_v32", .architectures = {kDeepseek}, .read = read_deepseek_v32};
ASSAY_REGISTER(Family, kDeepseekV32);

const Family kGlmMoeDsa{.name = "glm_moe_dsa", .architectures = {kGlm}, .read = read_glm_moe_dsa};
ASSAY_REGISTER(Family, kGlmMoeDsa);

}  // namespace
}  // namespace assay::serving
