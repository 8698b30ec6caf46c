// Inputs of collectives on a GPU and the comparison of their outputs:
// collect/kernels/collective_pattern.h.
#pragma once

#include <cuda_runtime.h>

#include "collect/kernels/kernels.h"

namespace assay::collect {

cudaError_t fill_collective(void* input, const CollectiveSpec& spec, int rank, cudaStream_t stream);

// In device memory.
struct CollectiveFindings {
  unsigned long long wrong;
  unsigned long long at;  // one of them
  float value;            // what it is
};

// Overwrites the findings.
cudaError_t compare_collective(const void* output,
                               const CollectiveSpec& spec,
                               int rank,
                               CollectiveFindings* findings,
                               cudaStream_t stream);

}  // namespace assay::collect
