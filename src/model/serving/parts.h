// The parts of a config.json that families share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/config.h"
#include "model/serving/model.h"

namespace assay::serving {

// hidden_size and vocab_size.
core::Result<Model> read_sizes(const Config& config);

// num_attention_heads, num_key_value_heads (absent: as many as heads), head_dim (absent:
// hidden_size divided by the heads). Error: heads that KV heads do not divide.
core::Result<Attention> read_attention(const Config& config);

// q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim and v_head_dim.
core::Result<LatentAttention> read_latent_attention(const Config& config);

// The layers of models whose first ones are dense and whose others have experts.
struct FirstLayersDense {
  std::int64_t num_dense = 0;
  std::vector<std::string> types;  // of all layers, where the config tells each: "dense"
  FeedForward dense;
  Experts experts;

  [[nodiscard]] Layer layer(std::int64_t index, const Mixer& mixer) const;
};

// mlp_layer_types or first_k_dense_replace, intermediate_size, n_routed_experts,
// num_experts_per_tok, moe_intermediate_size and n_shared_experts, each as wide as a routed one.
core::Result<FirstLayersDense> read_first_layers_dense(const Config& config);

// The layers for multi-token prediction, which are like `layer`: as many as
// num_nextn_predict_layers or mtp_num_hidden_layers says, or `absent` where there is neither field.
core::Result<std::optional<EqualLayers>> read_mtp(const Config& config,
                                                  const Layer& layer,
                                                  std::int64_t absent = 0);

// Calls `layer_at` for the layers 0 to num_hidden_layers - 1, and counts the equal ones.
core::Result<std::vector<EqualLayers>> read_layers(
    const Config& config, const std::function<Layer(std::int64_t index)>& layer_at);

// The kinds of the layers, as the field names them; empty where it is absent. Error: their number
// is not num_hidden_layers.
core::Result<std::vector<std::string>> read_layer_types(const Config& config,
                                                        const char* field = "layer_types");

// Returns to how many tokens the layers with a window attend: sliding_window, or 4096 where the
// field is missing, as transformers takes it for Mistral and Qwen. It is 0 where the field is null,
// so that no layer has a window.
core::Result<std::int64_t> read_window(const Config& config);

// The same for Qwen, where use_sliding_window turns it on.
core::Result<std::int64_t> read_used_window(const Config& config);

// The window of each layer, 0 where it has none: those that layer_types calls sliding_attention
// have `window`, or, where the field is absent, those from `first` on.
core::Result<std::vector<std::int64_t>> read_windows_of_layers(const Config& config,
                                                               std::int64_t window,
                                                               std::int64_t first);

// The same for Qwen without experts: by use_sliding_window, sliding_window and max_window_layers,
// which counts the layers below those with a window.
core::Result<std::vector<std::int64_t>> read_qwen_windows(const Config& config);

// Layers of such attention, each with its own window, and a feed-forward layer of
// intermediate_size.
core::Result<std::vector<EqualLayers>> read_dense_layers(const Config& config,
                                                         const Attention& attention,
                                                         const std::vector<std::int64_t>& windows);

}  // namespace assay::serving
