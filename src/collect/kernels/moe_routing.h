// Which experts the tokens of a mixture go to, chosen as the public collector chooses them.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/kernels/kernels.h"

namespace assay::collect {

struct ExpertChoice {
  std::vector<std::int32_t> experts;           // [tokens, top_k]; the experts of a token differ
  std::vector<std::int64_t> tokens_of_expert;  // how many tokens each expert got

  // The number of tokens of one GPU's experts, if `ep` GPUs share the experts equally.
  [[nodiscard]] std::int64_t tokens_of_gpu(std::int64_t gpu, std::int64_t ep) const;
};

// Experts are numbered so that GPU 0 has the most tokens. The same spec always gets the same
// choice. kPowerLaw draws the shares from x^-exponent five times and uses the draw whose busiest
// GPU is the median. Precondition: top_k <= experts, and experts is a multiple of ep.
ExpertChoice choose_experts(const MoeSpec& spec);

// Only how many tokens each expert gets, which takes microseconds whatever the number of tokens.
// The same precondition.
std::vector<std::int64_t> expert_counts(const MoeSpec& spec);

}  // namespace assay::collect
