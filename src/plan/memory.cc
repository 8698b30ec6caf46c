#include "plan/memory.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plan/stages.h"

namespace assay::plan {
namespace {

using serving::Attention;
using serving::DeltaNet;
using serving::Deployment;
using serving::EqualLayers;
using serving::LatentAttention;
using serving::Model;
using serving::OperatorUse;
using serving::Quantization;
using serving::SparseAttention;
using serving::StateSpace;

constexpr double kGib = 1024.0 * 1024 * 1024;
// A CUDA context, the workspaces of cuBLAS, and the pools of captured graphs.
constexpr double kRuntimeBytes = 1.5 * kGib;
constexpr double kActivationBytes = 2;  // of an element in bfloat16
constexpr double kLogitBytes = 4;       // samplers work in float32

constexpr double kIntegerScaleBytes = 2;

double bytes_of(Quantization quantization, std::int64_t integer_group = 0) {
  switch (quantization) {
    case Quantization::kBfloat16:
      return 2;
    case Quantization::kFp8:
      return 1;
    case Quantization::kFp8Block:
      return 1 + 4.0 / (serving::kScaleBlock * serving::kScaleBlock);
    case Quantization::kInt4:
    case Quantization::kInt4Fp8:
      return 0.5 +
             (integer_group == 0 ? 0 : kIntegerScaleBytes / static_cast<double>(integer_group));
    case Quantization::kNvfp4:
      return 0.5 + 1.0 / 16;
    case Quantization::kMxfp4:
      break;
  }
  return 0.5 + 1.0 / 32;
}

double number_of(const OperatorUse& use, const char* column) {
  const model::PerfValue* value = serving::find_key(use, column);
  return value == nullptr ? 0 : static_cast<double>(std::get<std::int64_t>(*value));
}

Quantization quantization_of(const OperatorUse& use, const char* column) {
  const model::PerfValue* value = serving::find_key(use, column);
  if (value == nullptr) return Quantization::kBfloat16;
  return serving::quantization_named(std::get<std::string>(*value))
      .value_or(Quantization::kBfloat16);
}

double weights_of_use(const OperatorUse& use, std::int64_t integer_group) {
  const auto bytes_by = [&](const char* column) {
    return bytes_of(quantization_of(use, column), integer_group);
  };
  if (use.op == "gemm") return number_of(use, "n") * number_of(use, "k") * bytes_by("gemm_dtype");
  if (use.module.weights == 0) return 0;
  return static_cast<double>(use.module.weights) * bytes_by(use.module.type.c_str());
}

// The hidden states beside the input and output of the widest product, and the rows that wait for
// their experts.
double columns_of(const OperatorUse& use) {
  if (use.op == "gemm" && use.role != "logits") return number_of(use, "n") + number_of(use, "k");
  if (use.op != "moe") return static_cast<double>(use.module.columns);
  const double pairs = number_of(use, "topk") / number_of(use, "moe_ep_size");
  const double width = number_of(use, "inter_size") / number_of(use, "moe_tp_size");
  return std::max(1.0, pairs) * (2 * number_of(use, "hidden_size") + 3 * width);
}

struct CacheOf {
  const Deployment& deployment;
  KeptCache policy;
  double tokens;
  double output_tokens;  // of these, those of the answer

  // Bytes of one request of so many tokens in one layer.
  double operator()(const Attention& attention) const {
    const double heads =
        std::ceil(static_cast<double>(attention.kv_heads) / static_cast<double>(deployment.tp));
    return 2 * heads * static_cast<double>(attention.head_dim) * kept_tokens(attention) *
           bytes_of(deployment.precision.cache);
  }

  double operator()(const LatentAttention& attention) const {
    return static_cast<double>(attention.latent_rank + attention.rope_dim) * tokens *
           bytes_of(deployment.precision.cache);
  }

  // A cache in fp8 keeps the part with positions in bfloat16, and a scale in float32 for 128
  // elements of the latent: 656 bytes of 512 + 64 elements.
  double operator()(const SparseAttention& attention) const {
    constexpr double kScaleBytes = 4;
    const auto latent = static_cast<double>(attention.latent.latent_rank);
    const auto rope = static_cast<double>(attention.latent.rope_dim);
    const auto index = static_cast<double>(attention.index_dim);
    const bool is_fp8 = deployment.precision.cache == Quantization::kFp8;
    const double kept =
        is_fp8 ? latent + kScaleBytes * latent / serving::kScaleBlock + kActivationBytes * rope
               : kActivationBytes * (latent + rope);
    return (kept + index + kScaleBytes * index / serving::kScaleBlock) * tokens;
  }

  double operator()(const DeltaNet&) const { return 0; }

  double operator()(const StateSpace&) const { return 0; }

  double operator()(const serving::NoMixer&) const { return 0; }

  [[nodiscard]] double kept_tokens(const Attention& attention) const {
    const bool frees = attention.is_chunked ? policy.frees_chunks : policy.frees_windows;
    if (attention.window == 0 || !frees) return tokens;
    const double still_written = policy.is_apart ? output_tokens : 0;
    return std::min(tokens, static_cast<double>(attention.window) + still_written);
  }

  // Tells whether a layer has memory apart in which it keeps less than all tokens.
  [[nodiscard]] bool is_apart(const serving::Mixer& mixer) const {
    const auto* attention = std::get_if<Attention>(&mixer);
    return policy.is_apart && attention != nullptr && kept_tokens(*attention) < tokens;
  }
};

double bytes_of_type(const std::string& type) {
  constexpr double kFloat32Bytes = 4;
  constexpr double kFloat16Bytes = 2;
  return type == "float32" ? kFloat32Bytes : kFloat16Bytes;
}

// The type of states where nobody asks for another one. vLLM takes that of the activations for
// linear attention unless the config.json asks for another, and float32 for Nemotron's state
// spaces; SGLang takes float32 for both unless mamba_ssm_dtype is there; TensorRT-LLM that of the
// activations for linear attention, whatever the config.json says.
std::string type_of_state(Engine engine, const Model& model, const DeltaNet& /*net*/) {
  switch (engine) {
    case Engine::kVllm:
      return model.state_type.empty() ? "bfloat16" : model.state_type;
    case Engine::kSglang:
      return model.state_type.empty() ? "float32" : model.state_type;
    case Engine::kTrtllm:
      break;
  }
  return "bfloat16";
}

std::string type_of_state(Engine engine, const Model& model, const StateSpace& /*space*/) {
  switch (engine) {
    case Engine::kVllm:
      return model.state_cache_type.empty() ? "float32" : model.state_cache_type;
    case Engine::kSglang:
      return model.state_type.empty() ? "float32" : model.state_type;
    case Engine::kTrtllm:
      break;
  }
  return model.state_cache_type.empty() ? "bfloat16" : model.state_cache_type;
}

// Bytes of a request that do not grow with its tokens, on one GPU.
struct StateOf {
  const Deployment& deployment;
  const Model& model;
  Engine engine;

  double operator()(const DeltaNet& net) const {
    const auto values = static_cast<double>(net.value_heads * net.key_dim * net.value_dim);
    const std::int64_t channels = 2 * net.key_heads * net.key_dim + net.value_heads * net.value_dim;
    const auto convolved = static_cast<double>(channels * (net.convolution - 1));
    return (bytes_of_type(type_of_state(engine, model, net)) * values +
            kActivationBytes * convolved) /
           static_cast<double>(deployment.tp);
  }

  double operator()(const StateSpace& space) const {
    const auto values = static_cast<double>(space.width() * space.state);
    const auto convolved = static_cast<double>(space.channels() * (space.convolution - 1));
    return (bytes_of_type(type_of_state(engine, model, space)) * values +
            kActivationBytes * convolved) /
           static_cast<double>(deployment.tp);
  }

  template <class Other>
  double operator()(const Other&) const {
    return 0;
  }
};

double free_for_cache(const MemoryUse& use, const MemoryRequest& request) {
  const double fraction =
      request.fraction > 0 ? request.fraction : default_fraction(request.engine);
  const double taken =
      use.weight_bytes + use.activation_bytes + use.communication_bytes + use.runtime_bytes;
  if (request.engine == Engine::kTrtllm) return fraction * (use.capacity_bytes - taken);
  return fraction * use.capacity_bytes - taken;
}

}  // namespace

GpuMemory memory_of_gpu(const store::SystemFacts& facts, std::int64_t gpus) {
  return {.capacity_bytes = facts.usable_bytes(),
          .communication_bytes = facts.nccl_bytes_of(gpus),
          .stated_bytes = facts.memory_bytes};
}

double MemoryUse::bytes_of(std::int64_t requests, std::int64_t tokens) const {
  return shared_bytes +
         static_cast<double>(requests) *
             (static_cast<double>(tokens - shared_tokens) * bytes_per_token + bytes_per_request);
}

std::int64_t MemoryUse::tokens_of_batch(std::int64_t batches) const {
  return shared_tokens + std::max<std::int64_t>(0, cache_tokens - shared_tokens) / batches;
}

double default_fraction(Engine engine) {
  switch (engine) {
    case Engine::kTrtllm:
    case Engine::kVllm:
      return 0.9;
    case Engine::kSglang:
      return 0.88;
  }
  return 0;
}

// The GPUs of `tp` share the embedding and the product that makes logits.
LayerMemory::LayerMemory(const Model& model, const Deployment& deployment)
    : model_(&model), deployment_(deployment), kinds_(model.layers) {
  embedding_bytes_ = static_cast<double>(model.vocabulary * model.hidden) *
                     bytes_of(Quantization::kBfloat16) / static_cast<double>(deployment.tp);
  const std::int64_t group = deployment.precision.integer_group;
  for (const EqualLayers& kind : kinds_) {
    kind_bytes_.push_back(0);
    for (const OperatorUse& use :
         uses_of_layer(model, kind.layer, deployment, serving::Phase::kContext))
      kind_bytes_.back() += weights_of_use(use, group);
  }
  if (deployment.speculative_tokens > 0 && model.mtp) {
    kinds_.push_back(*model.mtp);
    kind_bytes_.push_back(0);
  }
  double widest = 0;
  for (const OperatorUse& use : uses_of(model, deployment, serving::Phase::kContext)) {
    if (use.role == "logits") logit_weight_bytes_ += weights_of_use(use, group);
    if (use.role.starts_with("MTP ")) kind_bytes_.back() += weights_of_use(use, group);
    widest = std::max(widest, columns_of(use));
  }
  columns_ = widest + 2 * static_cast<double>(model.hidden);
}

// Layers whose places are not known are divided evenly. The last stage drafts, for which further
// layers for multi-token prediction are loaded, though a pass is through one.
LayerMemory::Stage LayerMemory::stage_of(std::int64_t begin, std::int64_t end) const {
  const std::int64_t all = model_->num_layers();
  Stage stage{.counts = {}, .is_first = begin == 0, .is_last = end == all};
  for (const EqualLayers& kind : model_->layers) {
    const auto& indices = kind.indices;
    const auto within = std::lower_bound(indices.begin(), indices.end(), end) -
                        std::lower_bound(indices.begin(), indices.end(), begin);
    stage.counts.push_back(indices.empty() ? static_cast<double>(kind.count * (end - begin)) /
                                                 static_cast<double>(all)
                                           : static_cast<double>(within));
  }
  if (stage.counts.size() < kinds_.size())
    stage.counts.push_back(stage.is_last ? static_cast<double>(kinds_.back().count) : 0);
  return stage;
}

// A stage with both ends has the embedding once where the logits take its weights.
double LayerMemory::weight_bytes(const Stage& stage) const {
  double bytes = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i)
    bytes += stage.counts[i] * kind_bytes_[i];
  if (stage.is_last) bytes += logit_weight_bytes_;
  const bool is_shared = stage.is_last && model_->ties_embedding;
  return stage.is_first && !is_shared ? bytes + embedding_bytes_ : bytes;
}

MemoryUse LayerMemory::of_stage(const MemoryRequest& request,
                                const GpuMemory& gpu,
                                const Stage& stage) const {
  const std::int64_t verified = 1 + deployment_.speculative_tokens;
  const double logits =
      stage.is_last
          ? static_cast<double>(request.max_batch * verified * model_->vocabulary) * kLogitBytes
          : 0;
  MemoryUse use{.capacity_bytes = gpu.capacity_bytes,
                .weight_bytes = weight_bytes(stage),
                .activation_bytes =
                    static_cast<double>(request.max_tokens) * columns_ * kActivationBytes + logits,
                .communication_bytes = gpu.communication_bytes,
                .runtime_bytes = kRuntimeBytes};
  use.cache_bytes = free_for_cache(use, request);
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    // Drafts may be refused, so that the state before each of them stays.
    use.bytes_per_request +=
        stage.counts[i] * static_cast<double>(verified) *
        std::visit(StateOf{deployment_, *model_, request.engine}, kinds_[i].layer.mixer);
  }
  MemoryUse whole = use;
  hold(request, stage, use);
  if (!request.kept.is_apart) return use;
  MemoryRequest keeping_all = request;
  keeping_all.kept = kKeptWhole;
  hold(keeping_all, stage, whole);
  return use.cache_tokens > whole.cache_tokens ? use : whole;
}

// A prompt that begins in a step lies whole in all layers until it is computed. Tokens that all
// requests share are kept once, and of a window that reaches into them each keeps its own part.
void LayerMemory::hold(const MemoryRequest& request, const Stage& stage, MemoryUse& use) const {
  const auto whole_tokens = static_cast<double>(request.request_tokens);
  const auto shared_tokens = static_cast<double>(request.shared_tokens);
  const double tokens = whole_tokens - shared_tokens;
  const auto output = static_cast<double>(request.output_tokens);
  const CacheOf whole{deployment_, request.kept, whole_tokens, output};
  const CacheOf own{deployment_, request.kept, tokens, output};
  const CacheOf shared{deployment_, request.kept, shared_tokens, 0};
  const double begun = static_cast<double>(std::max(request.max_tokens, request.request_tokens));
  double of_request = 0;
  double apart_of_request = 0;
  double once = 0;  // however many requests there are
  double apart_once = 0;
  double apart_tokens = 0;  // of a request
  double apart_tokens_once = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const serving::Mixer& mixer = kinds_[i].layer.mixer;
    const double bytes = stage.counts[i] * std::visit(own, mixer);
    const double of_shared = stage.counts[i] * std::visit(shared, mixer);
    of_request += bytes;
    use.shared_bytes += of_shared;
    if (!whole.is_apart(mixer)) continue;
    const auto& attention = std::get<Attention>(mixer);
    const double kept = own.kept_tokens(attention);
    apart_of_request += bytes;
    once += bytes / kept * begun;
    apart_once += of_shared;
    apart_tokens = std::max(apart_tokens, kept);
    apart_tokens_once = std::max(apart_tokens_once, begun + shared.kept_tokens(attention));
  }
  apart_once += once;
  once += use.shared_bytes;
  use.bytes_per_token = of_request / tokens;
  constexpr double kMostHeld = 1e15;  // a stage without attention keeps nothing
  const double requests =
      (use.cache_bytes - once) / std::max(1.0, of_request + use.bytes_per_request);
  use.shared_tokens = request.shared_tokens;
  if (requests <= 0) return;
  use.cache_tokens = request.shared_tokens +
                     static_cast<std::int64_t>(std::min(std::floor(requests * tokens), kMostHeld));
  if (apart_tokens == 0 || use.cache_tokens == 0) return;
  use.window_tokens = requests * apart_tokens + apart_tokens_once;
  use.window_share = (requests * apart_of_request + apart_once) / (requests * of_request + once);
}

MemoryUse LayerMemory::of(const MemoryRequest& request, const GpuMemory& gpu) const {
  std::optional<MemoryUse> fullest;
  std::int64_t begin = 0;
  for (const std::int64_t layers :
       layers_of_stages(request.engine, model_->num_layers(), request.pp)) {
    MemoryUse use = of_stage(request, gpu, stage_of(begin, begin + layers));
    begin += layers;
    if (!fullest) fullest = use;
    MemoryUse worst = use.cache_bytes < fullest->cache_bytes ? use : *fullest;
    worst.cache_tokens = std::min(use.cache_tokens, fullest->cache_tokens);
    worst.bytes_per_token = std::max(use.bytes_per_token, fullest->bytes_per_token);
    worst.bytes_per_request = std::max(use.bytes_per_request, fullest->bytes_per_request);
    worst.shared_bytes = std::max(use.shared_bytes, fullest->shared_bytes);
    fullest = worst;
  }
  return fullest.value_or(MemoryUse{});
}

MemoryUse memory_of(const Model& model, const MemoryRequest& request, const GpuMemory& gpu) {
  return LayerMemory(model, request.deployment).of(request, gpu);
}

}  // namespace assay::plan
