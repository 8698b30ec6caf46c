// The arguments of every all-reduce kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::allreduce {

constexpr int kMaxRanks = 8;
constexpr int kVectorBytes = 16;  // the bytes that a thread moves at once

// The message: `rows` rows of `row_vectors` vectors of 16 bytes, fewer than 2^31 vectors in all.
struct Arguments {
  const uint4* input;
  uint4* output;
  const uint4* residual_in;
  uint4* residual_out;
  const uint4* gamma;
  const float* scale;
  void* quantized;
  std::uint8_t* scale_out;
  float epsilon;
  float inverse_row_elements;  // for the mean over a row
  int rank;
  int world_size;
  int row_vectors;
  int elements_of_vector;
  int rows;

  [[nodiscard]] __host__ __device__ int vectors() const { return rows * row_vectors; }

  [[nodiscard]] __host__ __device__ std::int64_t bytes() const {
    return static_cast<std::int64_t>(vectors()) * kVectorBytes;
  }
};

// How long a thread waits for another GPU. After that it goes on with whatever there is, and the
// communicator is of no more use.
struct Patience {
  std::uint64_t nanoseconds;  // 0: for ever
  // In the host's memory: 0, or 1 + a rank that did not come in time. Null when there is no limit.
  std::uint32_t* missing;
};

// A strategy's memory on each GPU, as this GPU sees it: control words, then data. The kControlBytes
// in front of the data are used only by their own GPU, except where a strategy says otherwise.
struct Workspace {
  std::byte* of_rank[kMaxRanks];
  int capacity_vectors;  // vectors of the largest message, or what a strategy makes of it
  Patience patience;
};

constexpr std::size_t kControlBytes = 64 * 1024;

}  // namespace assay::allreduce
