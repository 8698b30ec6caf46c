// gpt-oss: every second layer attends to a window; all have experts.
#include "model/serving/family.h"
#include "model/serving/parts.h"

namespace assay::serving {
namespace {

core::Result<Model> read_gpt_oss(const Config& config) {
  Model model = ASSAY_TRY(read_sizes(config));
  const Attention full = ASSAY_TRY(read_attention(config));
  Attention windowed = full;
  windowed.window = ASSAY_TRY(config.count("sliding_window"));
  const Experts experts{.count = ASSAY_TRY(config.count("num_local_experts")),
                        .top_k = ASSAY_TRY(config.count("num_experts_per_tok")),
                        .intermediate = ASSAY_TRY(config.count("intermediate_size"))};
  const auto types = ASSAY_TRY(read_layer_types(config));
  model.layers = ASSAY_TRY(read_layers(config, [&](std::int64_t index) {
    const bool is_windowed = types.empty()
                                 ? index % 2 == 0
                                 : types[static_cast<std::size_t>(index)] == "sliding_attention";
    return Layer{is_windowed ? windowed : full, experts};
  }));
  return model;
}

const Family kGptOss{.name = "gpt_oss",
                     .architectures = {"GptOssForCausalLM"},
                     .read = read_gpt_oss,
                     .defaults = {{"head_dim", 64}, {"sliding_window", 128}}};
ASSAY_REGISTER(Family, kGptOss);

}  // namespace
}  // namespace assay::serving
