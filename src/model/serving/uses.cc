#include "model/serving/uses.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/text.h"

namespace assay::serving {
namespace {

using model::PerfValue;

std::int64_t divided_up(std::int64_t value, std::int64_t parts) {
  return (value + parts - 1) / parts;
}

PerfValue text_value(std::string_view text) {
  return PerfValue(std::string(text));
}

// What a checkpoint leaves out counts where its own precision is deployed.
Projections left_out_of(const Layer& layer, const Model& model, const Deployment& deployment) {
  return has_same_weights(model.precision, deployment.precision) ? layer.left_out : Projections{};
}

Quantization kept_as(Projection projection,
                     const Projections& left_out,
                     const Deployment& deployment) {
  if (left_out.has(projection)) return Quantization::kBfloat16;
  const Precision& precision = deployment.precision;
  return projection == Projection::kExperts ? precision.experts : precision.linear;
}

// The products of a feed-forward layer or a shared expert.
struct Products {
  const char* up;
  const char* activation;
  const char* down;
  Projection up_projection;
  Projection down_projection;
};

// Collects the uses of one kind of layer, or of what stands before and after the layers.
class Uses {
 public:
  // `queries`: tokens of a request for which attention reads its cache at once.
  Uses(const Model& model, const Deployment& deployment, Phase phase, std::int64_t queries = 1)
      : model_(model), deployment_(deployment), phase_(phase), queries_(queries) {}

  [[nodiscard]] std::vector<OperatorUse> made() && { return std::move(made_); }

  void add_begin() {
    count_ = 1;
    add_memory("embedding", "embedding", model_.hidden);
    add_all_reduce("all-reduce of the embedding");
  }

  void add_layers(const EqualLayers& equal) {
    count_ = equal.count;
    left_out_ = left_out_of(equal.layer, model_, deployment_);
    if (!std::holds_alternative<NoMixer>(equal.layer.mixer)) {
      add_memory("norm before attention", "add_rms_norm", model_.hidden);
      std::visit([this](const auto& mixer) { add_mixer(mixer); }, equal.layer.mixer);
      add_all_reduce("all-reduce after attention");
      if (equal.layer.normalises_outputs)
        add_memory("norm after attention", "rms_norm", model_.hidden);
    }
    if (std::holds_alternative<NoFeedForward>(equal.layer.feed_forward)) return;
    add_memory("norm before the feed-forward layer", "add_rms_norm", model_.hidden);
    std::visit([this](const auto& layer) { add_feed_forward(layer); }, equal.layer.feed_forward);
    if (equal.layer.normalises_outputs)
      add_memory("norm after the feed-forward layer", "rms_norm", model_.hidden);
  }

  // Passes of the layer that predicts tokens: it takes a token and the state that the model left
  // behind it, side by side.
  void add_mtp(const EqualLayers& mtp, std::int64_t passes) {
    prefix_ = "MTP ";
    passes_ = passes;
    count_ = 1;
    add_memory("embedding", "embedding", model_.hidden);
    add_all_reduce("all-reduce of the embedding");
    add_memory("norms of token and state", "rms_norm", model_.hidden, 2);
    add_product("projection of token and state", model_.hidden, 2 * model_.hidden,
                Quantization::kBfloat16);
    add_layers({.layer = mtp.layer, .count = 1});
    add_memory("last norm", "add_rms_norm", model_.hidden);
    prefix_.clear();
    passes_ = 1;
  }

  void add_draft_logits(std::int64_t passes) {
    count_ = passes;
    add_logits("MTP logits");
  }

  void add_end() {
    count_ = 1;
    add_memory("last norm", "add_rms_norm", model_.hidden);
    add_logits("logits");
  }

 private:
  void add_logits(const char* role) {
    add_product(role, divided_up(model_.vocabulary, deployment_.tp), model_.hidden,
                Quantization::kBfloat16, Amount::kRequests);
  }

  [[nodiscard]] std::int64_t local(std::int64_t size) const { return size / deployment_.tp; }

  void add(OperatorUse use) {
    use.count = count_ * passes_;
    use.role = prefix_ + use.role;
    use.most_tokens = deployment_.most_tokens;
    made_.push_back(std::move(use));
  }

  void add_product(const char* role,
                   std::int64_t n,
                   std::int64_t k,
                   Quantization quantization,
                   Amount rows = Amount::kTokens) {
    add({.role = role,
         .op = "gemm",
         .table = "gemm_perf",
         .op_name = "gemm",
         .key = {{"gemm_dtype", text_value(name_of(quantization))}, {"n", n}, {"k", k}},
         .sizes = {{"m", rows}}});
  }

  [[nodiscard]] Quantization kept(Projection projection) const {
    return kept_as(projection, left_out_, deployment_);
  }

  void add_linear(const char* role, std::int64_t n, std::int64_t k, Projection projection) {
    add_product(role, n, k, kept(projection));
  }

  // `rows` is the number of rows that each token has.
  void add_memory(const char* role, const char* op, std::int64_t columns, std::int64_t rows = 1) {
    add({.role = role,
         .op = op,
         .table = "memory_op_perf",
         .op_name = op,
         .key = {{"dtype", text_value("bfloat16")}, {"columns", columns}},
         .sizes = {{"rows", Amount::kTokens, rows}}});
  }

  void add_all_reduce(const char* role) { add_all_reduce(role, model_.hidden); }

  void add_all_reduce(const char* role, std::int64_t columns) {
    if (deployment_.tp == 1) return;
    add({.role = role,
         .op = "custom_allreduce",
         .table = "custom_allreduce_perf",
         .op_name = "all_reduce",
         .key = {{"allreduce_dtype", text_value("bfloat16")}, {"num_gpus", deployment_.tp}},
         .sizes = {{"message_size", Amount::kTokens, columns}}});
  }

  void add_exchange(const char* role, const char* function, std::int64_t columns) {
    add_nccl(role, function, deployment_.moe_tp * deployment_.moe_ep,
             {"message_size", Amount::kExpertTokens, columns});
  }

  void add_nccl(const char* role, const char* function, std::int64_t gpus, SizeField message) {
    add({.role = role,
         .op = "nccl",
         .table = "nccl_perf",
         .op_name = function,
         .key = {{"nccl_dtype", text_value("half")}, {"num_gpus", gpus}},
         .sizes = {std::move(message)}});
  }

  void add_mixer(const Attention& attention) {
    const std::int64_t heads = local(attention.heads);
    const std::int64_t kv_heads = divided_up(attention.kv_heads, deployment_.tp);
    const std::int64_t width = heads * attention.head_dim;
    const std::int64_t gate = attention.has_output_gate ? width : 0;
    add_linear("qkv projection", width + gate + 2 * kv_heads * attention.head_dim, model_.hidden,
               Projection::kMixerInput);
    if (attention.normalises_heads) add_head_norms(attention, heads, kv_heads);
    add_attention(attention, heads, kv_heads);
    add_linear("output projection", model_.hidden, width, Projection::kMixerOutput);
  }

  void add_head_norms(const Attention& attention, std::int64_t heads, std::int64_t kv_heads) {
    std::int64_t normalised = heads + kv_heads;
    if (attention.norm_spans_heads && deployment_.tp > 1) {
      if (deployment_.head_norm == HeadNorm::kGathered) {
        add_gathered_heads("queries of all GPUs", heads * attention.head_dim);
        add_gathered_heads("keys of all GPUs", kv_heads * attention.head_dim);
        normalised *= deployment_.tp;
      } else {
        add_sums_of_squares();
      }
    }
    add_memory("norm of queries and keys", "rms_norm", attention.head_dim, normalised);
  }

  void add_gathered_heads(const char* role, std::int64_t columns) {
    add_nccl(role, "all_gather", deployment_.tp,
             {"message_size", Amount::kTokens, deployment_.tp * columns});
  }

  // Tables count elements of 16 bits, and a sum is a number of 32.
  void add_sums_of_squares() {
    constexpr std::int64_t kOfSum = 2;
    if (deployment_.head_norm == HeadNorm::kOneSum)
      return add_all_reduce("all-reduce of queries' and keys' squares", 2 * kOfSum);
    add_all_reduce("all-reduce of queries' squares", kOfSum);
    add_all_reduce("all-reduce of keys' squares", kOfSum);
  }

  void add_attention(const Attention& attention, std::int64_t heads, std::int64_t kv_heads) {
    const bool is_context = phase_ == Phase::kContext;
    const Precision& precision = deployment_.precision;
    const Quantization products = is_context ? precision.attention : Quantization::kBfloat16;
    const std::int64_t chunk = attention.is_chunked ? attention.window : 0;
    const std::int64_t window = attention.is_chunked ? 0 : attention.window;
    const char* to_window = window > 0 ? "attention to a window" : "attention";
    OperatorUse use{.role = chunk > 0 ? "attention to chunks" : to_window,
                    .op = is_context ? "context_attention" : "generation_attention",
                    .key = {{"num_heads", heads * queries_},
                            {"num_key_value_heads", kv_heads},
                            {"head_dim", attention.head_dim},
                            {"window_size", window},
                            {"attn_dtype", text_value(name_of(products))},
                            {"kv_cache_dtype", text_value(name_of(precision.cache))}},
                    .sizes = {{"batch_size", Amount::kRequests}}};
    const bool is_longer = deployment_.most_tokens == 0 || deployment_.most_tokens > chunk;
    use.chunk = is_longer ? chunk : 0;
    use.table = use.op + "_perf";
    use.op_name = use.op;
    add_lengths(use);
    add(std::move(use));
  }

  // A prompt has no tokens in the cache before it; a request that decodes has one new token.
  void add_lengths(OperatorUse& use) const {
    if (phase_ == Phase::kContext) {
      use.sizes.push_back({"isl", Amount::kNewTokens});
      use.sizes.push_back({"step", Amount::kCachedTokens});
    } else {
      use.key.push_back({"isl", std::int64_t{1}});
      use.sizes.push_back({"step", Amount::kCachedTokens});
    }
  }

  void add_mixer(const LatentAttention& attention) {
    const std::int64_t heads = local(attention.heads);
    const std::int64_t query = heads * (attention.nope_dim + attention.rope_dim);
    const std::int64_t latent = attention.latent_rank + attention.rope_dim;
    add_latents(attention.query_rank, latent);
    if (attention.query_rank > 0)
      add_memory("norm of the queries' latent", "rms_norm", attention.query_rank);
    add_linear("query projection", query,
               attention.query_rank > 0 ? attention.query_rank : model_.hidden,
               Projection::kQueryUp);
    add_memory("norm of the latent", "rms_norm", attention.latent_rank);
    if (phase_ == Phase::kContext) {
      add_linear("projection to keys and values",
                 heads * (attention.nope_dim + attention.value_dim), attention.latent_rank,
                 Projection::kLatentUp);
      add_latent_attention("context_mla", "mla_context", heads);
    } else {
      add_latent_product("products into the latent", "mla_bmm_gen_pre", "mla_gen_pre", heads);
      add_latent_attention("generation_mla", "mla_generation", heads);
      add_latent_product("products out of the latent", "mla_bmm_gen_post", "mla_gen_post", heads);
    }
    add_linear("output projection", model_.hidden, heads * attention.value_dim,
               Projection::kMixerOutput);
  }

  // One product, unless its parts are kept in different ways.
  void add_latents(std::int64_t query_rank, std::int64_t latent) {
    const bool is_one = kept(Projection::kQueryDown) == kept(Projection::kLatentDown);
    if (query_rank > 0 && !is_one) {
      add_linear("projection to the queries' latent", query_rank, model_.hidden,
                 Projection::kQueryDown);
      query_rank = 0;
    }
    add_linear("projection to the latents", query_rank + latent, model_.hidden,
               Projection::kLatentDown);
  }

  void add_latent_attention(const char* op, const char* op_name, std::int64_t heads) {
    OperatorUse use{.role = "latent attention",
                    .op = op,
                    .table = std::string(op) + "_perf",
                    .op_name = op_name,
                    .key = {{"mla_dtype", text_value("bfloat16")},
                            {"kv_cache_dtype", text_value(name_of(deployment_.precision.cache))},
                            {"num_heads", heads * queries_}},
                    .sizes = {{"batch_size", Amount::kRequests}}};
    add_lengths(use);
    add(std::move(use));
  }

  // Each head has its own matrix. Engines that keep weights in 8 bits keep these in fp8, too.
  void add_latent_product(const char* role,
                          const char* op,
                          const char* op_name,
                          std::int64_t heads) {
    const Quantization weights = kept(Projection::kLatentUp);
    const bool is_wide = weights != Quantization::kFp8 && weights != Quantization::kFp8Block;
    add({.role = role,
         .op = op,
         .table = "mla_bmm_perf",
         .op_name = op_name,
         .key = {{"bmm_dtype", text_value(is_wide ? "bfloat16" : "fp8")}, {"num_heads", heads}},
         .sizes = {{"num_tokens", Amount::kTokens}}});
  }

  void add_mixer(const DeltaNet& net) {
    const std::int64_t keys = local(net.key_heads * net.key_dim);
    const std::int64_t values = local(net.value_heads * net.value_dim);
    add_linear("projection of linear attention", 2 * keys + 2 * values, model_.hidden,
               Projection::kMixerInput);
    add_linear("projection of its gates", 2 * local(net.value_heads), model_.hidden,
               Projection::kMixerGates);
    add_delta_net("convolution of linear attention", "gdn_conv", net);
    add_delta_net("linear attention", "gdn_rule", net);
    add_memory("norm of linear attention", "rms_norm", net.value_dim, local(net.value_heads));
    add_linear("output projection", model_.hidden, values, Projection::kMixerOutput);
  }

  void add_delta_net(const char* role, const char* op_name, const DeltaNet& net) {
    OperatorUse use{.role = role,
                    .op = "gdn",
                    .table = "gdn_perf",
                    .op_name = op_name,
                    .key = {{"phase", text_value(name_of(phase_))},
                            {"d_model", model_.hidden},
                            {"d_conv", net.convolution},
                            {"num_k_heads", local(net.key_heads)},
                            {"head_k_dim", net.key_dim},
                            {"num_v_heads", local(net.value_heads)},
                            {"head_v_dim", net.value_dim}},
                    .sizes = {{"batch_size", queries_ > 1 ? Amount::kTokens : Amount::kRequests}}};
    if (phase_ == Phase::kContext) {
      use.sizes.push_back({"seq_len", Amount::kNewTokens});
    } else {
      use.key.push_back({"seq_len", std::int64_t{1}});
    }
    add(std::move(use));
  }

  void add_mixer(const NoMixer&) {}

  // One measured module has everything from the projections to the latents to that of the output.
  // Tables have it by the precision of its products, and tell its sizes by the architecture.
  void add_mixer(const SparseAttention& attention) {
    const std::int64_t heads = local(attention.latent.heads);
    const bool is_context = phase_ == Phase::kContext;
    OperatorUse use{
        .role = "sparse attention",
        .op = "dsa",
        .table = is_context ? "dsa_context_module_perf" : "dsa_generation_module_perf",
        .op_name = is_context ? "dsa_context_module" : "dsa_generation_module",
        .key = {{"architecture", text_value(attention.architecture)},
                {"mla_dtype", text_value("bfloat16")},
                {"kv_cache_dtype", text_value(name_of(deployment_.precision.cache))},
                {"gemm_type", text_value(name_of(kept(Projection::kMixerOutput)))},
                {"num_heads", heads}},
        .sizes = {{"batch_size", Amount::kRequests}},
        .module = {.weights = weights_of(attention, heads),
                   .columns = heads * (attention.latent.nope_dim + attention.latent.rope_dim) +
                              attention.index_heads * attention.index_dim,
                   .type = "gemm_type"}};
    add_lengths(use);
    add(std::move(use));
  }

  [[nodiscard]] std::int64_t weights_of(const SparseAttention& attention,
                                        std::int64_t heads) const {
    const LatentAttention& latent = attention.latent;
    const std::int64_t down =
        model_.hidden * (latent.query_rank + latent.latent_rank + latent.rope_dim);
    const std::int64_t queries = latent.query_rank * heads * (latent.nope_dim + latent.rope_dim);
    const std::int64_t values = latent.latent_rank * heads * (latent.nope_dim + latent.value_dim);
    const std::int64_t output = model_.hidden * heads * latent.value_dim;
    const std::int64_t indexer = latent.query_rank * attention.index_heads * attention.index_dim +
                                 model_.hidden * (attention.index_dim + attention.index_heads);
    return down + queries + values + output + indexer;
  }

  void add_mixer(const StateSpace& space) {
    const std::int64_t width = local(space.width());
    add_linear("projection of the state space",
               local(space.width() + space.channels()) + local(space.heads), model_.hidden,
               Projection::kMixerInput);
    add_state_space("convolution of the state space", "mamba2_conv", space);
    add_state_space("scan of the state space", "mamba2_scan", space);
    add_memory("norm of the state space", "rms_norm", width);
    add_linear("output projection", model_.hidden, width, Projection::kMixerOutput);
  }

  void add_state_space(const char* role, const char* op_name, const StateSpace& space) {
    OperatorUse use{.role = role,
                    .op = "mamba2",
                    .table = "mamba2_perf",
                    .op_name = op_name,
                    .key = {{"phase", text_value(name_of(phase_))},
                            {"d_state", space.state},
                            {"d_conv", space.convolution},
                            {"nheads", local(space.heads)},
                            {"head_dim", space.head_dim}},
                    .sizes = {{"batch_size", Amount::kRequests}}};
    if (phase_ == Phase::kContext) {
      use.sizes.push_back({"seq_len", Amount::kNewTokens});
    } else {
      use.key.push_back({"seq_len", std::int64_t{1}});
    }
    add(std::move(use));
  }

  void add_feed_forward(const NoFeedForward&) {}

  void add_feed_forward(const FeedForward& layer) {
    add_products({.up = layer.is_gated ? "gate and up projection" : "up projection",
                  .activation = "activation",
                  .down = "down projection",
                  .up_projection = Projection::kUp,
                  .down_projection = Projection::kDown},
                 layer.intermediate, layer.is_gated);
    add_all_reduce("all-reduce after the feed-forward layer");
  }

  void add_products(const Products& products, std::int64_t width, bool is_gated) {
    const std::int64_t intermediate = local(width);
    add_linear(products.up, (is_gated ? 2 : 1) * intermediate, model_.hidden,
               products.up_projection);
    add_memory(products.activation, "silu_mul", intermediate);
    add_linear(products.down, model_.hidden, intermediate, products.down_projection);
  }

  [[nodiscard]] std::int64_t columns_of(const Experts& experts) const {
    return experts.latent > 0 ? experts.latent : model_.hidden;
  }

  // Every GPU makes the whole latents of its tokens, which are what it exchanges with others.
  void add_feed_forward(const Experts& experts) {
    const bool exchanges = deployment_.moe_tp * deployment_.moe_ep > deployment_.tp;
    const std::int64_t columns = columns_of(experts);
    add_product("router", experts.count, model_.hidden, Quantization::kBfloat16);
    if (experts.latent > 0)
      add_linear("projection to the experts' latent", columns, model_.hidden,
                 Projection::kToLatent);
    if (exchanges) add_exchange("tokens to the experts", "all_gather", columns);
    add_experts(experts);
    add_shared_expert(experts);
    if (exchanges) add_exchange("tokens from the experts", "reduce_scatter", columns);
    if (experts.latent > 0)
      add_linear("projection from the experts' latent", model_.hidden, columns,
                 Projection::kFromLatent);
    if (!exchanges) add_all_reduce("all-reduce after the experts");
  }

  void add_shared_expert(const Experts& experts) {
    if (experts.shared_intermediate == 0) return;
    add_products({.up = experts.is_gated ? "shared gate and up projection" : "shared up projection",
                  .activation = "shared activation",
                  .down = "shared down projection",
                  .up_projection = Projection::kSharedUp,
                  .down_projection = Projection::kSharedDown},
                 experts.shared_intermediate, experts.is_gated);
    if (experts.has_shared_gate)
      add_product("gate of the shared expert", 1, model_.hidden, Quantization::kBfloat16);
  }

  void add_experts(const Experts& experts) {
    add({.role = "experts",
         .op = "moe",
         .table = "moe_perf",
         .op_name = "moe",
         .key = {{"moe_dtype", text_value(name_of(kept(Projection::kExperts)))},
                 {"hidden_size", columns_of(experts)},
                 {"inter_size", experts.intermediate},
                 {"topk", experts.top_k},
                 {"num_experts", experts.count},
                 {"moe_tp_size", deployment_.moe_tp},
                 {"moe_ep_size", deployment_.moe_ep},
                 {"distribution", text_value(deployment_.distribution)}},
         .sizes = {{"num_tokens", Amount::kExpertTokens}},
         .module = {.weights = (experts.is_gated ? 3 : 2) * (experts.count / deployment_.moe_ep) *
                               columns_of(experts) * (experts.intermediate / deployment_.moe_tp),
                    .columns = 0,
                    .type = "moe_dtype"}});
  }

  const Model& model_;
  const Deployment& deployment_;
  Phase phase_;
  std::int64_t queries_;
  Projections left_out_;
  std::string prefix_;  // of roles
  std::int64_t passes_ = 1;
  std::int64_t count_ = 1;
  std::vector<OperatorUse> made_;
};

// What the GPUs share must be a multiple of their number.
struct Shared {
  const char* what;
  std::int64_t size;
  std::int64_t gpus;
};

std::string gpus_text(std::int64_t gpus) {
  return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
}

core::Status check_shared(const std::vector<Shared>& all) {
  for (const Shared& shared : all) {
    if (shared.size % shared.gpus == 0) continue;
    return core::Error{fmt::format("{} {} cannot be shared by {}", shared.size, shared.what,
                                   gpus_text(shared.gpus))};
  }
  return {};
}

bool is_integer(Quantization quantization) {
  return quantization == Quantization::kInt4 || quantization == Quantization::kInt4Fp8;
}

// A GPU's part of an intermediate size may not cut a block of scales, nor, where engines know no
// kernel for smaller ones, a group of integers; 0: each column is one group.
core::Status check_blocks(std::int64_t intermediate,
                          std::int64_t gpus,
                          Quantization quantization,
                          std::int64_t integer_group) {
  std::int64_t block = 1;
  if (quantization == Quantization::kFp8Block) block = kScaleBlock;
  if (is_integer(quantization) && integer_group > 0) block = integer_group;
  if (intermediate / gpus % block == 0) return {};
  return core::Error{fmt::format("an intermediate size of {} on {} cuts the blocks of {}",
                                 intermediate, gpus_text(gpus), block)};
}

// Engines repeat heads of keys that are fewer than the GPUs, all of them equally often.
core::Status check_repeated(const Shared& shared) {
  if (shared.size > shared.gpus || shared.gpus % shared.size != 0) return check_shared({shared});
  return {};
}

struct LayerCheck {
  const Deployment& deployment;
  Projections left_out;

  [[nodiscard]] Quantization kept(Projection projection) const {
    return kept_as(projection, left_out, deployment);
  }

  core::Status operator()(const Attention& attention) const {
    ASSAY_TRY(check_shared({{"heads", attention.heads, deployment.tp}}));
    return check_repeated({"heads of keys and values", attention.kv_heads, deployment.tp});
  }

  core::Status operator()(const LatentAttention& attention) const {
    return check_shared({{"heads", attention.heads, deployment.tp}});
  }

  core::Status operator()(const DeltaNet& net) const {
    return check_shared({{"key heads", net.key_heads, deployment.tp},
                         {"value heads", net.value_heads, deployment.tp}});
  }

  core::Status operator()(const SparseAttention& attention) const {
    return (*this)(attention.latent);
  }

  // Engines repeat a single group, and no others.
  core::Status operator()(const StateSpace& space) const {
    ASSAY_TRY(check_shared({{"heads", space.heads, deployment.tp}}));
    if (space.groups == 1) return {};
    return check_shared({{"groups of heads", space.groups, deployment.tp}});
  }

  core::Status operator()(const NoMixer&) const { return {}; }

  core::Status operator()(const NoFeedForward&) const { return {}; }

  core::Status operator()(const FeedForward& layer) const {
    ASSAY_TRY(check_shared({{"intermediate columns", layer.intermediate, deployment.tp}}));
    return check_blocks(layer.intermediate, deployment.tp, kept(Projection::kDown),
                        deployment.precision.integer_group);
  }

  core::Status operator()(const Experts& experts) const {
    ASSAY_TRY(check_shared(
        {{"experts", experts.count, deployment.moe_ep},
         {"intermediate columns of an expert", experts.intermediate, deployment.moe_tp},
         {"intermediate columns of the shared expert", experts.shared_intermediate,
          deployment.tp}}));
    // Kernels of experts take a part of a group for a smaller one.
    constexpr std::int64_t kAnyGroup = 0;
    ASSAY_TRY(check_blocks(experts.intermediate, deployment.moe_tp, kept(Projection::kExperts),
                           kAnyGroup));
    return check_blocks(experts.shared_intermediate, deployment.tp, kept(Projection::kSharedDown),
                        deployment.precision.integer_group);
  }
};

}  // namespace

std::string_view name_of(Phase phase) {
  return phase == Phase::kContext ? "context" : "generation";
}

bool is_collected(const OperatorUse& use) {
  if (use.op == "dsa" || use.op == "mamba2") return false;
  return std::none_of(use.key.begin(), use.key.end(), [](const model::PerfField& field) {
    const auto* word = std::get_if<std::string>(&field.value);
    if (word == nullptr) return false;
    const std::optional<Quantization> type = quantization_named(*word);
    return type && (is_integer(*type) || *type == Quantization::kNvfp4);
  });
}

std::string key_text(const OperatorUse& use) {
  std::vector<std::string> words;
  for (const model::PerfField& field : use.key) {
    words.push_back(std::visit(
        [&](const auto& value) { return fmt::format("{}={}", field.column, value); }, field.value));
  }
  return core::join(words, " ");
}

core::Status check_deployment(const Model& model, const Deployment& deployment) {
  for (const EqualLayers& equal : model.layers) {
    const LayerCheck check{deployment, left_out_of(equal.layer, model, deployment)};
    ASSAY_TRY(std::visit(check, equal.layer.mixer));
    ASSAY_TRY(std::visit(check, equal.layer.feed_forward));
  }
  return {};
}

std::vector<OperatorUse> uses_of(const Model& model, const Deployment& deployment, Phase phase) {
  const bool verifies = phase == Phase::kGeneration;
  Uses uses(model, deployment, phase, verifies ? 1 + deployment.speculative_tokens : 1);
  uses.add_begin();
  for (const EqualLayers& equal : model.layers)
    uses.add_layers(equal);
  uses.add_end();
  if (deployment.speculative_tokens > 0 && model.mtp) uses.add_mtp(*model.mtp, 1);
  return std::move(uses).made();
}

std::vector<OperatorUse> draft_uses_of(const Model& model, const Deployment& deployment) {
  if (deployment.speculative_tokens == 0 || !model.mtp) return {};
  Uses uses(model, deployment, Phase::kGeneration);
  if (deployment.speculative_tokens > 1)
    uses.add_mtp(*model.mtp, deployment.speculative_tokens - 1);
  uses.add_draft_logits(deployment.speculative_tokens);
  return std::move(uses).made();
}

std::vector<OperatorUse> uses_of_layer(const Model& model,
                                       const Layer& layer,
                                       const Deployment& deployment,
                                       Phase phase) {
  Uses uses(model, deployment, phase);
  uses.add_layers({.layer = layer, .count = 1});
  return std::move(uses).made();
}

}  // namespace assay::serving
