#include "plan/memory.h"

#include <algorithm>
#include <cmath>
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
  double tokens;

  // Bytes of one request of so many tokens in one layer.
  double operator()(const Attention& attention) const {
    const double heads =
        std::ceil(static_cast<double>(attention.kv_heads) / static_cast<double>(deployment.tp));
    const double kept =
        attention.window > 0 ? std::min(tokens, static_cast<double>(attention.window)) : tokens;
    return 2 * heads * static_cast<double>(attention.head_dim) * kept *
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
};

// Bytes of a request that do not grow with its tokens, on one GPU.
struct StateOf {
  const Deployment& deployment;

  double operator()(const DeltaNet& net) const {
    const auto values = static_cast<double>(net.value_heads * net.key_dim * net.value_dim);
    const std::int64_t channels = 2 * net.key_heads * net.key_dim + net.value_heads * net.value_dim;
    const auto convolved = static_cast<double>(channels * (net.convolution - 1));
    return (kStateBytes * values + kActivationBytes * convolved) /
           static_cast<double>(deployment.tp);
  }

  double operator()(const StateSpace& space) const {
    const auto values = static_cast<double>(space.width() * space.state);
    const auto convolved = static_cast<double>(space.channels() * (space.convolution - 1));
    return (kStateBytes * values + kActivationBytes * convolved) /
           static_cast<double>(deployment.tp);
  }

  template <class Other>
  double operator()(const Other&) const {
    return 0;
  }

  static constexpr double kStateBytes = 4;  // float32
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
    : model_(&model), deployment_(deployment), with_cache_(model.layers) {
  if (deployment.speculative_tokens > 0 && model.mtp) with_cache_.push_back(*model.mtp);
  if (!model.ties_embedding) {
    embedding_bytes_ = static_cast<double>(model.vocabulary * model.hidden) *
                       bytes_of(Quantization::kBfloat16) / static_cast<double>(deployment.tp);
  }
  double widest = 0;
  for (const OperatorUse& use : uses_of(model, deployment, serving::Phase::kContext)) {
    double& part = use.role == "logits" ? logit_weight_bytes_ : layer_bytes_;
    // Further layers for multi-token prediction are loaded, though a pass is through one.
    const bool is_mtp = use.role.starts_with("MTP ");
    part += weights_of_use(use, deployment.precision.integer_group) *
            static_cast<double>(is_mtp ? model.mtp->count : use.count);
    widest = std::max(widest, columns_of(use));
  }
  columns_ = widest + 2 * static_cast<double>(model.hidden);
}

// Of several stages the last one holds the most: the logits and their weights, which are as large
// as the embedding of the first.
double LayerMemory::weight_bytes(std::int64_t stages, double share) const {
  const double embedding = stages == 1 ? embedding_bytes_ : 0;
  return share * layer_bytes_ + embedding + logit_weight_bytes_;
}

MemoryUse LayerMemory::of(const MemoryRequest& request, const GpuMemory& gpu) const {
  const double share =
      stage_excess(model_->num_layers(), request.pp) / static_cast<double>(request.pp);
  const std::int64_t verified = 1 + deployment_.speculative_tokens;
  const double logits =
      static_cast<double>(request.max_batch * verified * model_->vocabulary) * kLogitBytes;
  MemoryUse use{.capacity_bytes = gpu.capacity_bytes,
                .weight_bytes = weight_bytes(request.pp, share),
                .activation_bytes =
                    static_cast<double>(request.max_tokens) * columns_ * kActivationBytes + logits,
                .communication_bytes = gpu.communication_bytes,
                .runtime_bytes = kRuntimeBytes};
  use.cache_bytes = free_for_cache(use, request);
  const auto tokens = static_cast<double>(request.request_tokens);
  double of_request = 0;
  for (const EqualLayers& equal : with_cache_) {
    const double layers = share * static_cast<double>(equal.count);
    of_request += layers * std::visit(CacheOf{deployment_, tokens}, equal.layer.mixer);
    // Drafts may be refused, so that the state before each of them stays.
    use.bytes_per_request += layers * static_cast<double>(verified) *
                             std::visit(StateOf{deployment_}, equal.layer.mixer);
  }
  use.bytes_per_token = of_request / tokens;
  const double requests = use.cache_bytes / (of_request + use.bytes_per_request);
  use.cache_tokens = static_cast<std::int64_t>(std::max(0.0, std::floor(requests * tokens)));
  return use;
}

MemoryUse memory_of(const Model& model, const MemoryRequest& request, const GpuMemory& gpu) {
  return LayerMemory(model, request.deployment).of(request, gpu);
}

}  // namespace assay::plan
