// The public planner's rooflines: the larger of what operations and bytes take at least, in ms.
#pragma once

#include <cstdint>

#include "model/serving/model.h"
#include "store/systems/system_facts.h"

namespace assay::plan::compat {

using serving::Quantization;
using store::SystemFacts;

// Of a weight, or of a number in the cache.
double bytes_of(Quantization quantization);

// A kernel that only moves bytes.
double memory_ms(const SystemFacts& facts, double bytes);

double product_least_ms(
    const SystemFacts& facts, Quantization weights, double m, double n, double k);

// Attention with softmax of one GPU's heads.
struct HeadGroup {
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 128;
  std::int64_t window = 0;  // 0: none
  Quantization cache = Quantization::kBfloat16;
  Quantization products = Quantization::kBfloat16;  // of attention to prompts

  [[nodiscard]] double kv_heads_of(double heads) const {
    return kv_heads == 0 ? heads : static_cast<double>(kv_heads);
  }
};

double prompt_attention_least_ms(
    const SystemFacts& facts, const HeadGroup& group, double heads, double tokens, double requests);
double decode_attention_least_ms(
    const SystemFacts& facts, const HeadGroup& group, double heads, double requests, double tokens);

// Multi-head latent attention, with the precision of products of attention to prompts.
double latent_prompt_least_ms(const SystemFacts& facts,
                              const serving::Precision& precision,
                              double heads,
                              double tokens,
                              double requests);
double latent_decode_least_ms(const SystemFacts& facts,
                              const serving::Precision& precision,
                              double heads,
                              double requests,
                              double tokens);
// With the two products that absorb the latent.
double latent_module_least_ms(const SystemFacts& facts,
                              const serving::Precision& precision,
                              double heads,
                              double requests,
                              double tokens);
double absorbing_least_ms(const SystemFacts& facts,
                          Quantization quantization,
                          double heads,
                          double tokens);

struct ExpertShape {
  std::int64_t hidden = 1;
  std::int64_t intermediate = 1;
  std::int64_t count = 1;
  std::int64_t top_k = 1;
  std::int64_t moe_tp = 1;
  std::int64_t moe_ep = 1;
};

// `tokens` of all groups.
double experts_least_ms(const SystemFacts& facts,
                        Quantization quantization,
                        const ExpertShape& shape,
                        double tokens);

}  // namespace assay::plan::compat
