// Which experts the tokens of a mixture go to, made up as the public collector does.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/kernels/kernels.h"

namespace assay::collect {

struct ExpertChoice {
  std::vector<std::int32_t> experts;           // [tokens, top_k], different ones for a token
  std::vector<std::int64_t> tokens_of_expert;  // how many tokens each expert got

  // Tokens that the experts of a GPU got, of `ep` GPUs with equal shares of the experts.
  [[nodiscard]] std::int64_t tokens_of_gpu(std::int64_t gpu, std::int64_t ep) const;
};

// Experts are numbered so that GPU 0 is the one with most tokens. The same for the same spec ever
// after. kPowerLaw: shares drawn from x^-exponent; of five draws that whose busiest GPU is the
// median. Needs top_k <= experts and experts a multiple of ep.
ExpertChoice choose_experts(const MoeSpec& spec);

}  // namespace assay::collect
