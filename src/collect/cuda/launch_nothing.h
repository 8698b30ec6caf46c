// A kernel that does nothing.
#pragma once

#include <cuda_runtime.h>

namespace assay::collect {

cudaError_t launch_nothing(cudaStream_t stream);

}  // namespace assay::collect
