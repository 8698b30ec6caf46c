// Chooses the number and the size of the blocks, and launches them. A grid is never larger than
// what the GPU holds at once, because blocks wait for blocks of other GPUs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "allreduce/row_division.h"
#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {

struct LaunchShape {
  int blocks = 1;
  int threads = 32;
  int cluster = 1;         // blocks that share a row
  int threads_of_row = 0;  // threads of one block
};

constexpr int kMaxThreads = 1024;

// Returns how many blocks of a kernel the GPU holds at once, or one for each SM where ranks share
// it. CUDA is asked once for each kernel and size.
int resident_blocks(const Device& device, const void* kernel, int threads);

// Returns the shape for messages without rows.
LaunchShape flat_shape(const Device& device,
                       const void* kernel,
                       std::int64_t vectors,
                       const Request& request);

// Rows of `threads` threads each, in blocks of at most `most_of_block` threads, a limit that the
// kernel's registers set.
struct Rows {
  std::int64_t count;
  int threads;
  int most_of_block;
  RowBlocks blocks = RowBlocks::kByRows;
};

LaunchShape row_shape(const Device& device,
                      const void* kernel,
                      const Rows& rows,
                      const Request& request);

// Returns how many rows the GPU holds at once in that shape.
std::int64_t held_rows(const Device& device,
                       const void* kernel,
                       const Rows& rows,
                       const Request& request);

// Returns some rows of a message as a message.
Arguments some_rows(const Arguments& a, Fusion fusion, int first, int count);

// Calls launch(Arguments) for whole rows of a message, at most `most_rows` at a time, until one
// fails.
template <class Launch>
cudaError_t for_rows(const Arguments& a, Fusion fusion, std::int64_t most_rows, Launch launch) {
  for (std::int64_t first = 0; first < a.rows; first += most_rows) {
    const std::int64_t count = std::min(most_rows, a.rows - first);
    const cudaError_t error =
        launch(some_rows(a, fusion, static_cast<int>(first), static_cast<int>(count)));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

std::string message_too_large(const Arguments& a, const Workspace& workspace);
std::string row_too_long(const Arguments& a, int vectors);

template <class... Parameters>
LaunchShape flat_shape(const Device& device,
                       void (*kernel)(Parameters...),
                       std::int64_t vectors,
                       const Request& request) {
  return flat_shape(device, reinterpret_cast<const void*>(kernel), vectors, request);
}

template <class... Parameters>
LaunchShape row_shape(const Device& device,
                      void (*kernel)(Parameters...),
                      const Rows& rows,
                      const Request& request) {
  return row_shape(device, reinterpret_cast<const void*>(kernel), rows, request);
}

template <class... Parameters>
std::int64_t held_rows(const Device& device,
                       void (*kernel)(Parameters...),
                       const Rows& rows,
                       const Request& request) {
  return held_rows(device, reinterpret_cast<const void*>(kernel), rows, request);
}

// Launches the kernel so that it may be brought onto the GPU while the one before it in the stream
// still runs. Where ranks share the GPU it waits, because its blocks would take another rank's
// place.
template <class... Parameters, class... Arguments>
cudaError_t launch_overlapped(void (*kernel)(Parameters...),
                              const LaunchShape& shape,
                              const Device& device,
                              const Request& request,
                              Arguments... arguments) {
  if (request.purpose == Purpose::kLoad) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel);
  }
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = device.shares_gpu ? 0 : 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(shape.cluster), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.stream = request.stream;
  config.attrs = attributes;
  config.numAttrs = shape.cluster > 1 ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Launches a kernel of which one more cluster meets the other GPUs: see meet() in device.cuh.
template <class... Parameters, class... Arguments>
cudaError_t launch_meeting(void (*kernel)(Parameters...),
                           LaunchShape shape,
                           const Device& device,
                           const Request& request,
                           Arguments... arguments) {
  shape.blocks += shape.cluster;
  return launch_overlapped(kernel, shape, device, request, arguments...);
}

}  // namespace assay::allreduce
