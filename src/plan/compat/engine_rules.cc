#include "plan/compat/engine_rules.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::plan::compat {
namespace {

constexpr double kMib = 1024.0 * 1024;

double rounded_up(double value, double by) {
  return std::ceil(value / by);
}

// Bytes of activations for each token and number of a layer's width, over 2, on 1, 2, 4 and 8 GPUs.
double activation_coefficient(Engine engine, ModelKind kind, std::int64_t tp) {
  constexpr std::array<double, 4> kDense = {11, 6.5, 5, 5};
  constexpr std::array<double, 4> kMixture = {22, 13, 10, 10};
  constexpr std::array<double, 4> kSglangDense = {14, 8.5, 6.5, 6.5};
  constexpr std::array<double, 4> kSglangMixture = {28, 17, 13, 13};
  const bool is_sglang = engine == Engine::kSglang;
  const bool is_dense = kind == ModelKind::kDense;
  const auto& table =
      is_sglang ? (is_dense ? kSglangDense : kSglangMixture) : (is_dense ? kDense : kMixture);
  std::size_t place = 0;
  for (std::int64_t gpus = 2; gpus <= std::min<std::int64_t>(tp, 8); gpus *= 2)
    ++place;
  return table[place];
}

// The width of attention: heads times their size, where latent attention has no size of its own.
double attention_width(const serving::Model& model) {
  const serving::Mixer& mixer = model.most_frequent_layers().layer.mixer;
  if (const auto* attention = std::get_if<serving::Attention>(&mixer))
    return static_cast<double>(attention->heads * attention->head_dim);
  // A head's size is a whole number.
  const std::int64_t heads = std::get<serving::LatentAttention>(mixer).heads;
  const std::int64_t width = model.hidden / heads * heads;
  return static_cast<double>(width);
}

double activation_bytes(const serving::Model& model,
                        const Worker& worker,
                        Engine engine,
                        double tokens) {
  const auto kind = kind_of(model);
  const ModelKind known = kind.ok() ? kind.value() : ModelKind::kDense;
  const double width = attention_width(model);
  double bytes = 2 * tokens * width * activation_coefficient(engine, known, worker.tp);
  if (known == ModelKind::kLatent) {
    // Experts' inputs in blocks of 128, with a scale of 4 bytes.
    const auto& experts =
        std::get<serving::Experts>(model.most_frequent_layers().layer.feed_forward);
    bytes += tokens * width * static_cast<double>(worker.dp * experts.count * experts.top_k) /
             static_cast<double>(worker.moe_ep) / 128 * 4;
  }
  const double least = (engine == Engine::kSglang ? 90 : 70) * kMib;
  const double more = engine == Engine::kSglang ? 1.15 : 1;
  return std::max(bytes, least) * more;
}

double vllm_share(const std::string& version) {
  return version.starts_with("0.14") || version.starts_with("0.19") ? 0.9 : 0.92;
}

// The share that SGLang derives for its static memory from the GPU and how it is shared.
double sglang_share(const SystemFacts& facts, const Worker& worker) {
  struct Tier {
    double below_gib = 0;
    double prefill = 0;
    double graphs = 0;
    double graphs_of_four = 0;
  };

  constexpr std::array<Tier, 5> kTiers = {Tier{20, 2048, 8, 8}, Tier{35, 2048, 24, 80},
                                          Tier{60, 4096, 32, 160}, Tier{160, 8192, 256, 512},
                                          Tier{1e9, 16384, 512, 512}};
  const double capacity = facts.memory_bytes / kMib;
  const auto tier = *std::find_if(kTiers.begin(), kTiers.end(),
                                  [&](const Tier& one) { return capacity < one.below_gib * 1024; });
  const auto groups = static_cast<double>(worker.dp);
  const double graphs = worker.tp < 4 ? tier.graphs : tier.graphs_of_four;
  double reserved =
      512 + 1.5 * tier.prefill + static_cast<double>(worker.tp) / 8 * 1024 + graphs * 2;
  if (worker.dp > 1) reserved += graphs * groups * (graphs > 300 ? 4.5 : 3);
  if (capacity > 60 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  return std::round((capacity - reserved) / capacity * 1000) / 1000;
}

}  // namespace

std::int64_t decodes_beside(Engine engine,
                            std::int64_t batch,
                            std::int64_t prompt_tokens,
                            const Lengths& lengths) {
  const auto requests = static_cast<double>(batch);
  const auto tokens = static_cast<double>(prompt_tokens);
  const auto prompt = static_cast<double>(lengths.prompt);
  const double iterations = lengths.iterations();
  const double steps = rounded_up(prompt * requests, tokens);
  const double least = 1;
  if (engine != Engine::kVllm && steps >= iterations)
    return static_cast<std::int64_t>(std::max(least, std::floor(requests / (steps / iterations))));
  return static_cast<std::int64_t>(std::max(least, requests - rounded_up(tokens, prompt)));
}

std::int64_t mixed_steps_of_tpot(Engine engine, std::int64_t steps) {
  return engine == Engine::kVllm ? steps : std::max<std::int64_t>(1, steps - 3);
}

double queue_factor(Engine engine, std::int64_t batch, std::int64_t steps) {
  if (engine != Engine::kVllm) return std::min(2 + static_cast<double>(steps - 3) / 2 / 10, 4.0);
  return batch <= 1 ? 1 : std::min(1 + std::log2(static_cast<double>(batch)) / 8, 2.0);
}

double dispatch_ms(Engine engine, std::int64_t layers) {
  return engine == Engine::kVllm ? 0.8 * static_cast<double>(layers) : 0;
}

MemoryParts memory_of(const serving::Model& model,
                      const Worker& worker,
                      Engine engine,
                      const Operators& operators,
                      const SystemFacts& facts,
                      const MemoryAsked& asked) {
  const double more = engine == Engine::kSglang ? 1.2 : 1;
  return {.weights = operators.weight_bytes(),
          .activations = activation_bytes(model, worker, engine, static_cast<double>(asked.tokens)),
          .cache = static_cast<double>(asked.requests * asked.request_tokens) *
                   operators.cache_bytes_per_token,
          .collectives = facts.nccl_bytes_of(std::min<std::int64_t>(worker.tp, 8)),
          .others = facts.other_bytes * more};
}

bool fits(Engine engine,
          const std::string& version,
          Serving serving,
          const Worker& worker,
          const SystemFacts& facts,
          const MemoryParts& memory) {
  constexpr double kTolerance = 0.98;
  const double capacity = facts.memory_bytes;
  if (memory.total() >= capacity) return false;
  const double beside = memory.total() - memory.cache;
  if (engine == Engine::kTrtllm)
    return memory.cache <= (capacity - beside) * 0.9 * 0.985 * kTolerance;
  double share = vllm_share(version);
  if (engine == Engine::kSglang)
    share = serving == Serving::kStatic ? sglang_share(facts, worker) : 0.88;
  return memory.cache <= capacity * share * kTolerance - beside;
}

}  // namespace assay::plan::compat
