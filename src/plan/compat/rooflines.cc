#include "plan/compat/rooflines.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace assay::plan::compat {
namespace {

constexpr double kMsPerS = 1000;

double flops_of(const SystemFacts& facts, Quantization quantization) {
  // Weights in mxfp4, and in integers of 4 bits, are multiplied in bfloat16.
  if (quantization == Quantization::kMxfp4 || quantization == Quantization::kInt4)
    quantization = Quantization::kBfloat16;
  return facts.peaks.flops_of(name_of(quantization));
}

double larger_ms(const SystemFacts& facts, double operations_s, double bytes) {
  return std::max(operations_s, bytes / facts.peaks.memory_bytes_per_s) * kMsPerS;
}

// Decoding multiplies in fp8 where the cache is in it and the GPU can.
Quantization decode_products(const SystemFacts& facts, Quantization cache) {
  const bool can = facts.sm_version >= 89;
  return cache == Quantization::kFp8 && can ? Quantization::kFp8 : Quantization::kBfloat16;
}

}  // namespace

double bytes_of(Quantization quantization) {
  switch (quantization) {
    case Quantization::kBfloat16:
      return 2;
    case Quantization::kMxfp4:
    case Quantization::kInt4:
    case Quantization::kInt4Fp8:
      return 0.5;
    case Quantization::kNvfp4:
      return 9.0 / 16;
    default:
      return 1;
  }
}

double memory_ms(const SystemFacts& facts, double bytes) {
  const double bandwidth = facts.peaks.memory_bytes_per_s * facts.memory_share;
  return (bytes / bandwidth + facts.memory_latency_s) * kMsPerS;
}

double product_least_ms(
    const SystemFacts& facts, Quantization weights, double m, double n, double k) {
  return larger_ms(facts, 2 * m * n * k / flops_of(facts, weights),
                   bytes_of(weights) * (m * n + m * k + n * k));
}

double prompt_attention_least_ms(const SystemFacts& facts,
                                 const HeadGroup& group,
                                 double heads,
                                 double tokens,
                                 double requests) {
  const auto head_dim = static_cast<double>(group.head_dim);
  const auto window = static_cast<double>(group.window);
  const double pairs = group.window > 0 && tokens > window ? 2 * tokens * window : tokens * tokens;
  const double operations = 2 * requests * pairs * heads * head_dim;
  const double bytes = 4 * requests * heads * tokens * head_dim + bytes_of(group.cache) * requests *
                                                                      2 * group.kv_heads_of(heads) *
                                                                      tokens * head_dim;
  return larger_ms(facts, operations / flops_of(facts, group.products), bytes);
}

double decode_attention_least_ms(const SystemFacts& facts,
                                 const HeadGroup& group,
                                 double heads,
                                 double requests,
                                 double tokens) {
  const auto head_dim = static_cast<double>(group.head_dim);
  double cached = tokens - 1;
  if (group.window > 0) cached = std::min(cached, static_cast<double>(group.window));
  const double operations = 4 * requests * heads * head_dim * cached;
  const double bytes = requests * (4 * heads * head_dim + 2 * group.kv_heads_of(heads) * cached *
                                                              head_dim * bytes_of(group.cache));
  const Quantization products = decode_products(facts, group.cache);
  return larger_ms(facts, operations / flops_of(facts, products), bytes);
}

double latent_prompt_least_ms(const SystemFacts& facts,
                              const serving::Precision& precision,
                              double heads,
                              double tokens,
                              double requests) {
  constexpr double kHeadDims = 192 + 128;
  const double operations = requests * heads * kHeadDims * tokens * tokens;
  const double bytes = requests * heads * tokens * kHeadDims * (bytes_of(precision.cache) + 2);
  return larger_ms(facts, operations / flops_of(facts, precision.attention), bytes);
}

namespace {

struct LatentWork {
  double operations_s = 0;
  double bytes = 0;
};

LatentWork latent_decode_work(
    const SystemFacts& facts, Quantization cache, double heads, double requests, double tokens) {
  // A query of 512 + 64 numbers, and a result of 512.
  constexpr double kNumbers = 1088;
  constexpr double kCached = 576;
  const double operations = 2 * requests * heads * kNumbers * tokens;
  return {.operations_s = operations / flops_of(facts, decode_products(facts, cache)),
          .bytes = requests * (heads * kNumbers * 2 + (tokens - 1) * kCached * bytes_of(cache))};
}

LatentWork absorbing_work(const SystemFacts& facts,
                          Quantization quantization,
                          double heads,
                          double tokens) {
  constexpr double kWeights = 128 * 512;
  return {.operations_s = 2 * tokens * heads * kWeights / flops_of(facts, quantization),
          .bytes = heads * (tokens * 640 + kWeights) * bytes_of(quantization)};
}

}  // namespace

double latent_decode_least_ms(const SystemFacts& facts,
                              const serving::Precision& precision,
                              double heads,
                              double requests,
                              double tokens) {
  const LatentWork work = latent_decode_work(facts, precision.cache, heads, requests, tokens);
  return larger_ms(facts, work.operations_s, work.bytes);
}

double latent_module_least_ms(const SystemFacts& facts,
                              const serving::Precision& precision,
                              double heads,
                              double requests,
                              double tokens) {
  const LatentWork attention = latent_decode_work(facts, precision.cache, heads, requests, tokens);
  const LatentWork absorbing = absorbing_work(facts, precision.linear, heads, requests);
  return larger_ms(facts, attention.operations_s + 2 * absorbing.operations_s,
                   attention.bytes + 2 * absorbing.bytes);
}

double absorbing_least_ms(const SystemFacts& facts,
                          Quantization quantization,
                          double heads,
                          double tokens) {
  const LatentWork work = absorbing_work(facts, quantization, heads, tokens);
  return larger_ms(facts, work.operations_s, work.bytes);
}

double experts_least_ms(const SystemFacts& facts,
                        Quantization quantization,
                        const ExpertShape& shape,
                        double tokens) {
  constexpr std::int64_t kProducts = 3;
  // The public planner counts in whole numbers and rounds each division down.
  const std::int64_t pairs = static_cast<std::int64_t>(std::llround(tokens)) * shape.top_k;
  const std::int64_t own = pairs / shape.moe_ep;
  const std::int64_t operations =
      pairs * shape.hidden * shape.intermediate * kProducts * 2 / shape.moe_ep / shape.moe_tp;
  const std::int64_t numbers = own * shape.hidden * 2 +
                               own * shape.intermediate * kProducts / shape.moe_tp +
                               shape.hidden * shape.intermediate * kProducts / shape.moe_tp *
                                   std::min(shape.count / shape.moe_ep, own);
  return larger_ms(facts, static_cast<double>(operations) / flops_of(facts, quantization),
                   static_cast<double>(numbers) * bytes_of(quantization));
}

}  // namespace assay::plan::compat
