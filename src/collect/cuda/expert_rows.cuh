// The places of the rows of a mixture's experts. They follow each other, perhaps with padding
// between experts, so that block scales begin where the library expects them.
#pragma once

#include <cstdint>

#include "collect/kernels/block_scales.h"

namespace assay::collect {

struct ExpertRow {
  std::int64_t expert = 0;
  std::int64_t row = 0;  // among the rows of all experts, including padding
};

// Returns the nth row that is not padding. `offsets` has each expert's first row, `counts` the
// number of rows without padding.
__device__ inline ExpertRow nth_row(const std::int32_t* offsets,
                                    const std::int32_t* counts,
                                    std::int64_t experts,
                                    std::int64_t nth) {
  std::int64_t expert = 0;
  for (; expert + 1 < experts && nth >= counts[expert]; ++expert)
    nth -= counts[expert];
  return {expert, offsets[expert] + nth};
}

// Returns the row of the input that belongs to an expert's row. `sources` has the tokens of rows
// that were not gathered, or is nullptr.
__device__ inline std::int64_t input_row(const std::int32_t* sources, std::int64_t row) {
  return sources != nullptr ? sources[row] : row;
}

// `offsets` has one element more than there are experts.
__device__ inline ExpertScales expert_scales(const std::int32_t* offsets,
                                             std::int64_t expert,
                                             std::int64_t k) {
  return {offsets[expert], offsets[expert + 1], k};
}

}  // namespace assay::collect
