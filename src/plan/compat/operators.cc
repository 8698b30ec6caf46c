#include "plan/compat/operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "plan/compat/operator_times.h"

namespace assay::plan::compat {
namespace {

using serving::Attention;
using serving::Experts;
using serving::FeedForward;
using serving::LatentAttention;
using serving::Layer;
using serving::Precision;

// What the list of one phase is made from. All layers count as if they were of the most frequent
// kind: the public planner prices DeepSeek's dense layers as mixtures.
class List {
 public:
  List(const serving::Model& model,
       const Worker& worker,
       Engine engine,
       const Precision& precision,
       Measured& measured,
       serving::Phase phase)
      : model_(model),
        worker_(worker),
        engine_(engine),
        precision_(precision),
        measured_(measured),
        phase_(phase),
        layers_(model.num_layers()) {}

  core::Result<std::vector<Operator>> dense(const Attention& attention,
                                            const FeedForward& feed_forward) {
    ASSAY_TRY(add_attention_layer(attention, (model_.vocabulary / worker_.tp) * model_.hidden));
    const std::int64_t inter = feed_forward.intermediate;
    ASSAY_TRY(add_product("gate_ffn1_gemm", layers_, 2 * inter / worker_.tp, model_.hidden, {}));
    add_memory("act_gate", layers_, 2.0 * gated_numbers(inter));
    ASSAY_TRY(add_product("ffn2_gemm", layers_, model_.hidden, inter / worker_.tp,
                          {.has_scaled_input = true}));
    ASSAY_TRY(add_logits());
    ASSAY_TRY(add_all_reduce("embedding_ar", 1));
    ASSAY_TRY(add_all_reduce("ar_1", layers_));
    ASSAY_TRY(add_all_reduce("ar_2", layers_));
    return std::move(list_);
  }

  core::Result<std::vector<Operator>> mixture(const Attention& attention, const Experts& experts) {
    ASSAY_TRY(add_attention_layer(attention, (model_.vocabulary / worker_.tp) * model_.hidden));
    ASSAY_TRY(add_routed(experts));
    // The public planner forgets the logits of prompts.
    if (phase_ == serving::Phase::kGeneration) ASSAY_TRY(add_logits());
    ASSAY_TRY(add_all_reduce("embedding_ar", 1));
    return std::move(list_);
  }

  core::Result<std::vector<Operator>> latent(const LatentAttention& attention,
                                             const Experts& experts) {
    add_embedding(model_.vocabulary * model_.hidden);
    add_memory("add_norm_1", layers_, norm_bytes());
    ASSAY_TRY(add_latent_block(attention));
    add_memory("add_norm_2", layers_, norm_bytes());
    if (phase_ == serving::Phase::kContext) {
      ASSAY_TRY(add_shared(experts));
      ASSAY_TRY(add_routed(experts));
    } else {
      ASSAY_TRY(add_overlapped(experts));
    }
    ASSAY_TRY(add_logits());
    return std::move(list_);
  }

 private:
  struct ProductOptions {
    bool has_scaled_input = false;
    bool is_bfloat16 = false;
    Kind kind = Kind::kShared;
  };

  [[nodiscard]] std::string named(const std::string& name) const {
    return (phase_ == serving::Phase::kContext ? "context_" : "generation_") + name;
  }

  // Read and written: two tensors in, two out, of two bytes.
  [[nodiscard]] double norm_bytes() const { return 8.0 * static_cast<double>(model_.hidden); }

  // Numbers that the gate of a feed-forward layer reads and writes for a token.
  [[nodiscard]] double gated_numbers(std::int64_t intermediate) const {
    const std::int64_t numbers = 2 * intermediate / worker_.tp + intermediate / worker_.tp;
    return static_cast<double>(numbers);
  }

  void add(Operator one) { list_.push_back(std::move(one)); }

  void add_time(const std::string& name, std::int64_t count, Time time, Operator one = {}) {
    one.name = named(name);
    one.ms = [count = static_cast<double>(count), time = std::move(time)](const Asked& asked) {
      return count * time(asked);
    };
    add(std::move(one));
  }

  void add_memory(const std::string& name, std::int64_t count, double bytes_per_token) {
    add_time(name, count, memory_time(measured_, bytes_per_token));
  }

  void add_embedding(std::int64_t numbers) {
    add_time("embedding", 1, memory_time(measured_, 2.0 * static_cast<double>(model_.hidden)),
             {.weight_bytes = 2.0 * static_cast<double>(numbers)});
  }

  core::Status add_product(const std::string& name,
                           std::int64_t count,
                           std::int64_t n,
                           std::int64_t k,
                           const ProductOptions& options) {
    const Product product{
        .n = n,
        .k = k,
        .weights = options.is_bfloat16 ? Quantization::kBfloat16 : precision_.linear,
        .has_scaled_input = options.has_scaled_input};
    Time time = ASSAY_TRY(product_time(measured_, product));
    const double weights = bytes_of(product.weights) * static_cast<double>(n * k * count);
    add_time(name, count, std::move(time), {.kind = options.kind, .weight_bytes = weights});
    return {};
  }

  core::Status add_logits() {
    return add_product("logits_gemm", 1, model_.vocabulary / worker_.tp, model_.hidden,
                       {.is_bfloat16 = true, .kind = Kind::kLogits});
  }

  core::Status add_all_reduce(const std::string& name, std::int64_t count) {
    Time time = ASSAY_TRY(all_reduce_time(measured_, model_.hidden, worker_.tp));
    add_time(name, count, std::move(time));
    return {};
  }

  core::Status add_attention_layer(const Attention& attention, std::int64_t embedding) {
    const std::int64_t heads = attention.heads / worker_.tp;
    const std::int64_t kv_heads = (attention.kv_heads + worker_.tp - 1) / worker_.tp;
    const std::int64_t queries = attention.heads * attention.head_dim / worker_.tp;
    add_embedding(embedding);
    add_memory("add_norm_1", layers_, norm_bytes());
    ASSAY_TRY(add_product("qkv_gemm", layers_, queries + 2 * attention.head_dim * kv_heads,
                          model_.hidden, {}));
    ASSAY_TRY(add_softmax(attention, heads, kv_heads));
    ASSAY_TRY(
        add_product("proj_gemm", layers_, model_.hidden, queries, {.has_scaled_input = true}));
    add_memory("add_norm_2", layers_, norm_bytes());
    return {};
  }

  core::Status add_softmax(const Attention& attention, std::int64_t heads, std::int64_t kv_heads) {
    const HeadGroup group{.kv_heads = kv_heads == heads ? 0 : kv_heads,
                          .head_dim = attention.head_dim,
                          .window = attention.window,
                          .cache = precision_.cache,
                          .products = precision_.attention};
    const bool is_prompt = phase_ == serving::Phase::kContext;
    Time time = is_prompt ? ASSAY_TRY(prompt_attention_time(measured_, group, heads, kv_heads,
                                                            attention.normalises_heads))
                          : ASSAY_TRY(decode_attention_time(measured_, group, heads));
    add_time(
        "attention", layers_, std::move(time),
        {.kind = is_prompt ? Kind::kPromptAttention : Kind::kDecodeAttention, .by_tokens = false});
    return {};
  }

  // The whole block where it was measured, else its parts.
  core::Status add_latent_block(const LatentAttention& attention) {
    const bool is_prompt = phase_ == serving::Phase::kContext;
    const std::int64_t heads = attention.heads / worker_.tp;
    List parts(model_, worker_, engine_, precision_, measured_, phase_);
    ASSAY_TRY(parts.add_latent_parts(attention));
    double weights = 0;
    for (const Operator& part : parts.list_)
      weights += part.weight_bytes;
    Time module = is_prompt ? ASSAY_TRY(latent_prompt_time(measured_, precision_, heads, true))
                            : ASSAY_TRY(latent_decode_time(measured_, precision_, heads, true));
    const Operator block{.by_tokens = false, .weight_bytes = weights};
    if (module) {
      add_time("mla_block", layers_, std::move(module), block);
      return {};
    }
    add_time("mla_block", 1, sum_of(std::move(parts.list_)), block);
    return {};
  }

  core::Status add_latent_parts(const LatentAttention& attention) {
    const std::int64_t heads = attention.heads / worker_.tp;
    const bool is_prompt = phase_ == serving::Phase::kContext;
    const std::int64_t query_rank = attention.query_rank;
    ASSAY_TRY(add_product("downscale_gemm", layers_,
                          query_rank + attention.latent_rank + attention.rope_dim, model_.hidden,
                          {}));
    ASSAY_TRY(add_product("q_b_proj_gemm", layers_,
                          attention.heads * (attention.nope_dim + attention.rope_dim) / worker_.tp,
                          query_rank, {}));
    if (is_prompt) {
      ASSAY_TRY(
          add_product("kv_b_proj_gemm", layers_,
                      attention.heads * (attention.nope_dim + attention.value_dim) / worker_.tp,
                      attention.latent_rank, {}));
    }
    if (!is_prompt) ASSAY_TRY(add_absorbing(heads, true));
    Time time = is_prompt ? ASSAY_TRY(latent_prompt_time(measured_, precision_, heads, false))
                          : ASSAY_TRY(latent_decode_time(measured_, precision_, heads, false));
    if (!time) {
      // The block may have been measured as a whole.
      time = [](const Asked& /*asked*/) { return std::numeric_limits<double>::quiet_NaN(); };
    }
    add_time("attention", layers_, std::move(time), {.by_tokens = false});
    if (!is_prompt) ASSAY_TRY(add_absorbing(heads, false));
    return add_product("proj_gemm", layers_, model_.hidden,
                       attention.heads * attention.value_dim / worker_.tp, {});
  }

  core::Status add_absorbing(std::int64_t heads, bool is_first) {
    const Quantization quantization =
        precision_.linear == Quantization::kBfloat16 ? Quantization::kBfloat16 : Quantization::kFp8;
    Time time = [](const Asked& /*asked*/) { return std::numeric_limits<double>::quiet_NaN(); };
    if (auto bound = absorbing_time(measured_, quantization, heads, is_first); bound.ok())
      time = std::move(bound).value();
    add_time(is_first ? "bmm_pre" : "bmm_post", layers_, std::move(time));
    return {};
  }

  core::Status add_shared(const Experts& experts) {
    const std::int64_t inter = experts.shared_intermediate;
    ASSAY_TRY(
        add_product("shared_gate_up_gemm", layers_, 2 * inter / worker_.tp, model_.hidden, {}));
    add_memory("shared_act_gate", layers_, 2.0 * gated_numbers(inter));
    return add_product("shared_ffn2_gemm", layers_, model_.hidden, inter / worker_.tp, {});
  }

  core::Status add_routed(const Experts& experts) {
    ASSAY_TRY(
        add_product("router_gemm", layers_, experts.count, model_.hidden, {.is_bfloat16 = true}));
    ASSAY_TRY(add_exchange("moe_pre_dispatch", "all_gather"));
    const ExpertShape shape{.hidden = model_.hidden,
                            .intermediate = experts.intermediate,
                            .count = experts.count,
                            .top_k = experts.top_k,
                            .moe_tp = worker_.moe_tp,
                            .moe_ep = worker_.moe_ep};
    Time time =
        ASSAY_TRY(experts_time(measured_, precision_.experts, shape, model_.skew, worker_.dp));
    add_time("moe", layers_, std::move(time), {.weight_bytes = expert_bytes(shape)});
    return add_exchange("moe_post_dispatch", "reduce_scatter");
  }

  [[nodiscard]] double expert_bytes(const ExpertShape& shape) const {
    const double all = static_cast<double>(3 * shape.hidden * shape.intermediate * shape.count) *
                       bytes_of(precision_.experts);
    const double of_group = std::floor(all / static_cast<double>(shape.moe_ep));
    return std::floor(of_group / static_cast<double>(shape.moe_tp)) * static_cast<double>(layers_);
  }

  // GPUs that share heads add up their results; groups with requests of their own gather tokens
  // before the experts and scatter results after them.
  core::Status add_exchange(const std::string& name, const std::string& operation) {
    Time time = ASSAY_TRY(exchange_time(operation));
    add_time(name, layers_, std::move(time));
    return {};
  }

  core::Result<Time> exchange_time(const std::string& operation) {
    const std::int64_t gpus = worker_.gpus();
    if (engine_ == Engine::kSglang && worker_.tp > 1 && worker_.dp > 1) {
      const bool is_before = operation == "all_gather";
      Time within = ASSAY_TRY(collective_time(
          measured_, is_before ? "reduce_scatter" : "all_gather", model_.hidden, worker_.tp, 1));
      Time across =
          ASSAY_TRY(collective_time(measured_, operation, model_.hidden, gpus, worker_.dp));
      return Time([within = std::move(within), across = std::move(across)](const Asked& asked) {
        return within(asked) + across(asked);
      });
    }
    if (engine_ == Engine::kVllm && worker_.tp > 1 && worker_.dp > 1) {
      Time within = ASSAY_TRY(all_reduce_time(measured_, model_.hidden, gpus));
      Time across =
          ASSAY_TRY(collective_time(measured_, operation, model_.hidden, gpus, worker_.dp));
      return Time([within = std::move(within), across = std::move(across)](const Asked& asked) {
        return within(asked) + across(asked);
      });
    }
    if (worker_.tp > 1) return all_reduce_time(measured_, model_.hidden, gpus);
    if (worker_.dp > 1 && engine_ == Engine::kTrtllm && measured_.facts().sm_version >= 100)
      return core::Error{"--compat aiconfigurator does not know exchanges of Blackwell's experts"};
    if (worker_.dp > 1)
      return collective_time(measured_, operation, model_.hidden, gpus, worker_.dp);
    return Time([](const Asked& /*asked*/) { return 0.0; });
  }

  // Shared experts run beside the routed ones.
  core::Status add_overlapped(const Experts& experts) {
    List routed(model_, worker_, engine_, precision_, measured_, phase_);
    List shared(model_, worker_, engine_, precision_, measured_, phase_);
    ASSAY_TRY(routed.add_routed(experts));
    ASSAY_TRY(shared.add_shared(experts));
    Time first = sum_of(std::move(routed.list_));
    Time second = sum_of(std::move(shared.list_));
    add_time("moe_overlap", 1,
             [first = std::move(first), second = std::move(second)](const Asked& asked) {
               return std::max(first(asked), second(asked));
             });
    return {};
  }

  static Time sum_of(std::vector<Operator> parts) {
    return [parts = std::make_shared<const std::vector<Operator>>(std::move(parts))](
               const Asked& asked) {
      double sum = 0;
      for (const Operator& part : *parts)
        sum += part.ms(asked);
      return sum;
    };
  }

  const serving::Model& model_;
  const Worker& worker_;
  Engine engine_;
  const Precision& precision_;
  Measured& measured_;
  serving::Phase phase_;
  std::int64_t layers_;
  std::vector<Operator> list_;
};

core::Status check_worker(const serving::Model& model,
                          const Worker& worker,
                          const Precision& precision,
                          const Experts* experts) {
  const serving::Mixer& mixer = model.most_frequent_layers().layer.mixer;
  const auto* attention = std::get_if<Attention>(&mixer);
  const std::int64_t heads =
      attention != nullptr ? attention->heads : std::get<LatentAttention>(mixer).heads;
  if (heads % worker.tp != 0) {
    return core::Error{
        fmt::format("{} GPUs cannot share the {} heads of {}", worker.tp, heads, model.name)};
  }
  if (experts == nullptr) {
    if (worker.dp == 1) return {};
    return core::Error{fmt::format("{} has no experts, which groups of GPUs share", model.name)};
  }
  if (worker.moe_tp * worker.moe_ep != worker.gpus()) {
    return core::Error{fmt::format("experts are on {} x {} GPUs of {}", worker.moe_tp,
                                   worker.moe_ep, worker.gpus())};
  }
  if (worker.moe_ep > experts->count) {
    return core::Error{fmt::format("{} has {} experts, fewer than {} groups of GPUs", model.name,
                                   experts->count, worker.moe_ep)};
  }
  const bool cuts_block = precision.experts == Quantization::kFp8Block &&
                          experts->intermediate / worker.moe_tp % serving::kScaleBlock != 0;
  if (cuts_block) {
    return core::Error{fmt::format("{} GPUs cannot share experts of {} in blocks of {}",
                                   worker.moe_tp, experts->intermediate, serving::kScaleBlock)};
  }
  return {};
}

double cache_bytes_of(const serving::Model& model,
                      const Worker& worker,
                      const Precision& precision) {
  const serving::Mixer& mixer = model.most_frequent_layers().layer.mixer;
  const double bytes = bytes_of(precision.cache) * static_cast<double>(model.num_layers());
  if (const auto* latent = std::get_if<LatentAttention>(&mixer))
    return bytes * static_cast<double>(latent->latent_rank + latent->rope_dim);
  const auto& attention = std::get<Attention>(mixer);
  const std::int64_t kv_heads = (attention.kv_heads + worker.tp - 1) / worker.tp;
  return bytes * static_cast<double>(2 * kv_heads * attention.head_dim);
}

}  // namespace

double Operators::weight_bytes() const {
  double sum = 0;
  for (const Operator& one : context)
    sum += one.weight_bytes;
  return sum;
}

core::Result<ModelKind> kind_of(const serving::Model& model) {
  const Layer& layer = model.most_frequent_layers().layer;
  const auto* experts = std::get_if<Experts>(&layer.feed_forward);
  if (std::holds_alternative<LatentAttention>(layer.mixer) && experts != nullptr)
    return ModelKind::kLatent;
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  const bool is_plain = attention != nullptr && attention->window == 0 &&
                        !attention->has_output_gate && model.layers.size() == 1;
  if (is_plain && experts == nullptr) return ModelKind::kDense;
  if (is_plain && experts->shared_intermediate == 0) return ModelKind::kMixture;
  return core::Error{fmt::format(
      "--compat aiconfigurator knows models with equal layers of attention and dense layers or "
      "experts, and DeepSeek-V3's; {} ({}) is neither",
      model.name, model.family)};
}

Precision assumed_precision(Engine engine, Precision checkpoint) {
  const bool is_fp8 =
      checkpoint.linear == Quantization::kFp8 || checkpoint.linear == Quantization::kFp8Block;
  checkpoint.cache = is_fp8 ? Quantization::kFp8 : Quantization::kBfloat16;
  const bool multiplies_fp8 = is_fp8 && engine != Engine::kVllm;
  checkpoint.attention = multiplies_fp8 ? Quantization::kFp8 : Quantization::kBfloat16;
  return checkpoint;
}

Precision assumed_precision(Engine engine, const serving::Model& model) {
  Precision checkpoint = model.precision;
  if (model.leaves_attention_out()) checkpoint.linear = Quantization::kBfloat16;
  return assumed_precision(engine, checkpoint);
}

core::Result<Operators> operators_of(const serving::Model& model,
                                     const Worker& worker,
                                     Engine engine,
                                     Measured& measured) {
  const ModelKind kind = ASSAY_TRY(kind_of(model));
  if (kind == ModelKind::kLatent && engine != Engine::kTrtllm) {
    return core::Error{fmt::format("--compat aiconfigurator prices {} on trtllm only", model.name)};
  }
  Precision precision = assumed_precision(engine, model);
  const Layer& layer = model.most_frequent_layers().layer;
  const auto* experts = std::get_if<Experts>(&layer.feed_forward);
  ASSAY_TRY(check_worker(model, worker, precision, experts));
  if (kind == ModelKind::kLatent) {
    // Where latent attention to prompts was not measured in fp8, bfloat16 is taken instead.
    const auto rows = ASSAY_TRY(measured.latent_prompt(precision, false));
    if (rows == nullptr) precision.attention = Quantization::kBfloat16;
  }
  const auto list_of = [&](serving::Phase phase) -> core::Result<std::vector<Operator>> {
    List list(model, worker, engine, precision, measured, phase);
    if (kind == ModelKind::kLatent)
      return list.latent(std::get<LatentAttention>(layer.mixer), *experts);
    const auto& attention = std::get<Attention>(layer.mixer);
    if (kind == ModelKind::kMixture) return list.mixture(attention, *experts);
    return list.dense(attention, std::get<FeedForward>(layer.feed_forward));
  };
  std::vector<Operator> context = ASSAY_TRY(list_of(serving::Phase::kContext));
  std::vector<Operator> generation = ASSAY_TRY(list_of(serving::Phase::kGeneration));
  return Operators{.context = std::move(context),
                   .generation = std::move(generation),
                   .layers = model.num_layers(),
                   .cache_bytes_per_token = cache_bytes_of(model, worker, precision),
                   .attention = precision.attention};
}

}  // namespace assay::plan::compat
