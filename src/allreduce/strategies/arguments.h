// What every all-reduce kernel is given.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::allreduce {

constexpr int kMaxRanks = 8;
constexpr int kVectorBytes = 16;  // what a thread moves at once

// The message, in vectors of 16 bytes: `rows` rows of `row_vectors`; fewer than 2^31 vectors.
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
  float inverse_row_elements;  // for the mean
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

// A strategy's memory on each GPU, as this GPU sees it: control words, then data. In front of the
// data stand kControlBytes that only their own GPU uses, except where a strategy says otherwise.
struct Workspace {
  std::byte* of_rank[kMaxRanks];
  int capacity_vectors;  // of the largest message
};

constexpr std::size_t kControlBytes = 64 * 1024;

}  // namespace assay::allreduce
