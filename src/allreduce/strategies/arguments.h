// The arguments of every all-reduce kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::allreduce {

constexpr int kMaxRanks = 8;
constexpr int kVectorBytes = 16;  // the bytes that a thread moves at once

// The numbers are those of assay/allreduce.h.
enum class Operation : int { kAllReduce = 0, kReduceScatter = 1, kAllGather = 2 };

// Where the scales of a quantising fusion come from, and where they go.
enum class ScaleLayout : int {
  kDefault = 0,      // FP8: one given scale; NVFP4: blocks of 128 rows by 4 scales
  kPerToken = 1,     // FP8: computed, one a row
  kPerGroup128 = 2,  // FP8: computed, one for 128 elements
  kLinear = 3,       // NVFP4: row after row
  kBlocks8x4 = 4,    // NVFP4: blocks of 8 rows by 4 scales
};

// The message: `rows` rows of `row_vectors` vectors of 16 bytes, fewer than 2^31 vectors in all.
// With kReduceScatter the output, and with kAllGather the input, has this rank's part of the rows
// only: as many for each rank.
struct Arguments {
  const uint4* input;
  uint4* output;
  const uint4* residual_in;  // null: no residual, and residual_out may be null, too
  uint4* residual_out;
  const uint4* gamma;
  const float* scale;
  void* quantized;
  void* scale_out;
  float epsilon;
  float weight_bias;           // added to gamma
  float inverse_row_elements;  // for the mean over a row
  int rank;
  int world_size;
  int row_vectors;
  int elements_of_vector;
  int rows;
  int first_row;  // where these rows begin in the message that scale_out is laid out for
  ScaleLayout scale_layout;
  Operation operation;

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
  // For tests: if not 0, threads are late at random wherever they might be.
  std::uint32_t delays;
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
