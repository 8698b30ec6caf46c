// Mistral: as Llama, but layers may attend to a window.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

// The wrapper of Mistral 3 says nothing of the decoder in it: that of Mistral Small 4 has latent
// attention and experts.
core::Status check_is_dense(const Config& config) {
  for (const char* field : {"kv_lora_rank", "n_routed_experts", "num_local_experts"}) {
    if (ASSAY_TRY(config.count_or(field, 0)) > 0)
      return config.error(field, "a Mistral is read as dense layers with grouped attention");
  }
  return {};
}

core::Result<Model> read_mistral(const Config& config) {
  ASSAY_TRY(check_is_dense(config));
  Model model = ASSAY_TRY(read_sizes(config));
  const Attention attention = ASSAY_TRY(read_attention(config));
  const std::int64_t window = ASSAY_TRY(read_window(config));
  const auto windows = ASSAY_TRY(read_windows_of_layers(config, window, 0));
  model.layers = ASSAY_TRY(read_dense_layers(config, attention, windows));
  return model;
}

const Family kMistral{.name = "mistral",
                      .architectures = {"MistralForCausalLM", "Mistral3ForConditionalGeneration"},
                      .read = read_mistral};
ASSAY_REGISTER(Family, kMistral);

}  // namespace
}  // namespace assay::serving
