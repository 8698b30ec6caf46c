// Mistral: as Llama, but layers may attend to a window.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_mistral(const Config& config) {
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
