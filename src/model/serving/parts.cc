#include "model/serving/parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/counted.h"

namespace assay::serving {
namespace {

// Layers are looked at one by one.
constexpr std::int64_t kMostLayers = 10000;

// Transformers takes these where a config.json does not say them.
constexpr std::int64_t kUsualWindow = 4096;
constexpr std::int64_t kUsualLayersWithoutWindow = 28;

core::Result<std::int64_t> read_num_layers(const Config& config) {
  const std::int64_t count = ASSAY_TRY(config.count("num_hidden_layers"));
  if (count > kMostLayers)
    return config.error("num_hidden_layers",
                        fmt::format("it is {}, and may be at most {}", count, kMostLayers));
  return count;
}

}  // namespace

core::Result<Model> read_sizes(const Config& config) {
  Model model;
  model.hidden = ASSAY_TRY(config.count("hidden_size"));
  model.vocabulary = ASSAY_TRY(config.count("vocab_size"));
  return model;
}

core::Result<Attention> read_attention(const Config& config) {
  Attention attention;
  attention.heads = ASSAY_TRY(config.count("num_attention_heads"));
  attention.kv_heads = config.has("num_key_value_heads")
                           ? ASSAY_TRY(config.count("num_key_value_heads"))
                           : attention.heads;
  if (attention.heads % attention.kv_heads != 0) {
    return config.error("num_key_value_heads", fmt::format("{} do not divide the {} heads",
                                                           attention.kv_heads, attention.heads));
  }
  if (config.has("head_dim")) {
    attention.head_dim = ASSAY_TRY(config.count("head_dim"));
    return attention;
  }
  const std::int64_t hidden = ASSAY_TRY(config.count("hidden_size"));
  if (hidden % attention.heads != 0)
    return config.error("head_dim",
                        "the field is missing, and the heads do not divide hidden_size");
  attention.head_dim = hidden / attention.heads;
  return attention;
}

core::Result<LatentAttention> read_latent_attention(const Config& config) {
  LatentAttention attention;
  attention.heads = ASSAY_TRY(config.count("num_attention_heads"));
  attention.query_rank = ASSAY_TRY(config.count_or("q_lora_rank", 0));
  attention.latent_rank = ASSAY_TRY(config.count("kv_lora_rank"));
  attention.nope_dim = ASSAY_TRY(config.count("qk_nope_head_dim"));
  attention.rope_dim = ASSAY_TRY(config.count("qk_rope_head_dim"));
  attention.value_dim = ASSAY_TRY(config.count("v_head_dim"));
  return attention;
}

Layer FirstLayersDense::layer(std::int64_t index, const Mixer& mixer) const {
  const bool is_dense =
      types.empty() ? index < num_dense : types[static_cast<std::size_t>(index)] == "dense";
  return is_dense ? Layer{mixer, dense} : Layer{mixer, experts};
}

core::Result<FirstLayersDense> read_first_layers_dense(const Config& config) {
  FirstLayersDense layers;
  layers.num_dense = ASSAY_TRY(config.count_or("first_k_dense_replace", 0));
  layers.types = ASSAY_TRY(read_layer_types(config, "mlp_layer_types"));
  layers.dense.intermediate = ASSAY_TRY(config.count("intermediate_size"));
  layers.experts.count = ASSAY_TRY(config.count("n_routed_experts"));
  layers.experts.top_k = ASSAY_TRY(config.count("num_experts_per_tok"));
  layers.experts.intermediate = ASSAY_TRY(config.count("moe_intermediate_size"));
  layers.experts.shared_intermediate =
      ASSAY_TRY(config.count_or("n_shared_experts", 0)) * layers.experts.intermediate;
  return layers;
}

core::Result<std::optional<EqualLayers>> read_mtp(const Config& config,
                                                  const Layer& layer,
                                                  std::int64_t absent) {
  std::int64_t count = absent;
  for (const char* field : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
    if (config.has(field)) count = ASSAY_TRY(config.count_or(field, 0));
  }
  if (count == 0) return std::optional<EqualLayers>();
  return std::optional<EqualLayers>({.layer = layer, .count = count});
}

core::Result<std::vector<EqualLayers>> read_layers(
    const Config& config, const std::function<Layer(std::int64_t index)>& layer_at) {
  std::vector<EqualLayers> layers;
  const std::int64_t count = ASSAY_TRY(read_num_layers(config));
  for (std::int64_t index = 0; index < count; ++index) {
    const Layer layer = layer_at(index);
    const auto equal = std::find_if(layers.begin(), layers.end(),
                                    [&](const EqualLayers& known) { return known.layer == layer; });
    if (equal == layers.end()) {
      layers.push_back({.layer = layer, .count = 1, .indices = {index}});
    } else {
      ++equal->count;
      equal->indices.push_back(index);
    }
  }
  return layers;
}

core::Result<std::vector<std::string>> read_layer_types(const Config& config, const char* field) {
  std::vector<std::string> types = ASSAY_TRY(config.words(field));
  const std::int64_t count = ASSAY_TRY(read_num_layers(config));
  if (!types.empty() && static_cast<std::int64_t>(types.size()) != count) {
    return config.error(field, fmt::format("it has {}, and num_hidden_layers is {}",
                                           core::counted(types.size(), "layer"), count));
  }
  return types;
}

core::Result<std::int64_t> read_window(const Config& config) {
  return config.count_or("sliding_window", kUsualWindow, 0);
}

core::Result<std::int64_t> read_used_window(const Config& config) {
  if (!ASSAY_TRY(config.flag_or("use_sliding_window", false))) return 0;
  return read_window(config);
}

core::Result<std::vector<std::int64_t>> read_windows_of_layers(const Config& config,
                                                               std::int64_t window,
                                                               std::int64_t first) {
  const auto types = ASSAY_TRY(read_layer_types(config));
  std::vector<std::int64_t> windows;
  const std::int64_t count = ASSAY_TRY(read_num_layers(config));
  for (std::int64_t index = 0; index < count; ++index) {
    const bool is_windowed = types.empty()
                                 ? index >= first
                                 : types[static_cast<std::size_t>(index)] == "sliding_attention";
    windows.push_back(is_windowed ? window : 0);
  }
  return windows;
}

core::Result<std::vector<std::int64_t>> read_qwen_windows(const Config& config) {
  const std::int64_t window = ASSAY_TRY(read_used_window(config));
  return read_windows_of_layers(
      config, window, ASSAY_TRY(config.count_or("max_window_layers", kUsualLayersWithoutWindow)));
}

core::Result<std::vector<EqualLayers>> read_dense_layers(const Config& config,
                                                         const Attention& attention,
                                                         const std::vector<std::int64_t>& windows) {
  Layer layer{
      .mixer = attention,
      .feed_forward = FeedForward{.intermediate = ASSAY_TRY(config.count("intermediate_size"))}};
  return read_layers(config, [&](std::int64_t index) {
    std::get<Attention>(layer.mixer).window = windows[static_cast<std::size_t>(index)];
    return layer;
  });
}

}  // namespace assay::serving
