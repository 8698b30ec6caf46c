// Launches a kernel that may begin while the kernel before it in the stream still runs. It must
// wait by wait_for_earlier_kernels() before it touches what earlier kernels write or read.
#pragma once

#include <cuda_runtime.h>

namespace assay::collect {

struct KernelShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  unsigned shared_bytes = 0;
};

template <class... Parameters>
cudaError_t launch_after(void (*kernel)(Parameters...),
                         const KernelShape& shape,
                         cudaStream_t stream,
                         const Parameters&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace assay::collect
