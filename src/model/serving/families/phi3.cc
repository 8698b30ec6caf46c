// Phi-3 and Phi-4: as Mistral, but no layer has a window where the field is missing. Checkpoints
// fuse queries, keys and values, and gate and up, as engines do with all models.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_phi3(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  const Attention attention = ASSAY_TRY(read_attention(config));
  const std::int64_t window =
      config.has("sliding_window") ? ASSAY_TRY(read_window(config)) : std::int64_t{0};
  const auto windows = ASSAY_TRY(read_windows_of_layers(config, window, 0));
  model.layers = ASSAY_TRY(read_dense_layers(config, attention, windows));
  return model;
}

const Family kPhi3{.name = "phi3", .architectures = {"Phi3ForCausalLM"}, .read = read_phi3};
ASSAY_REGISTER(Family, kPhi3);

}  // namespace
}  // namespace assay::serving
