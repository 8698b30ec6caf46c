// Times of single operators, bound to their rows.
#pragma once

#include <cstdint>
#include <functional>

#include "core/result.h"
#include "plan/compat/measured.h"
#include "plan/compat/operators.h"

namespace assay::plan::compat {

using Time = std::function<double(const Asked& asked)>;

// Each function's error names the operator and says that no row answers for it.

Time memory_time(const Measured& measured, double bytes_per_token);

struct Product {
  std::int64_t n = 1;
  std::int64_t k = 1;
  Quantization weights = Quantization::kBfloat16;
  // Its input comes already scaled from a kernel before it, so that in fp8 the time of scaling is
  // not the product's.
  bool has_scaled_input = false;
};

core::Result<Time> product_time(Measured& measured, const Product& product);

// `heads` of one GPU. A prompt pays for norms of heads, rotation and writing the cache, too.
core::Result<Time> prompt_attention_time(Measured& measured,
                                         const HeadGroup& group,
                                         std::int64_t heads,
                                         std::int64_t kv_heads,
                                         bool normalises_heads);
core::Result<Time> decode_attention_time(Measured& measured,
                                         const HeadGroup& group,
                                         std::int64_t heads);

// Null: no row has the key.
core::Result<Time> latent_prompt_time(Measured& measured,
                                      const serving::Precision& precision,
                                      std::int64_t heads,
                                      bool is_module);
core::Result<Time> latent_decode_time(Measured& measured,
                                      const serving::Precision& precision,
                                      std::int64_t heads,
                                      bool is_module);
core::Result<Time> absorbing_time(Measured& measured,
                                  Quantization quantization,
                                  std::int64_t heads,
                                  bool is_first);

core::Result<Time> experts_time(Measured& measured,
                                Quantization quantization,
                                const ExpertShape& shape,
                                const std::string& distribution,
                                std::int64_t groups);

// Of `numbers` for each token. Beyond a node the time grows with what the slower links take.
core::Result<Time> all_reduce_time(Measured& measured, std::int64_t numbers, std::int64_t gpus);
// Of the tokens of all groups.
core::Result<Time> collective_time(Measured& measured,
                                   const std::string& operation,
                                   std::int64_t numbers,
                                   std::int64_t gpus,
                                   std::int64_t groups);

}  // namespace assay::plan::compat
