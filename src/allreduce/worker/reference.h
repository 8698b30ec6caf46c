// The expected outputs, computed on each GPU in float64 from the random numbers that the ranks'
// inputs are made of, so that nothing is sent between GPUs for them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "allreduce/timings.h"

namespace assay::allreduce {

// A rank's device memory for a cell; null where a fusion does not need it.
struct Buffers {
  void* input = nullptr;
  void* output = nullptr;  // null with the quantising fusions
  void* residual_in = nullptr;
  void* residual_out = nullptr;
  void* gamma = nullptr;
  float* scale = nullptr;
  void* quantized = nullptr;
  void* scale_out = nullptr;
};

// kSpecial sprinkles -0, NaN, infinities, the largest and denormal numbers into the input.
enum class Values { kOrdinary, kSpecial };

// How precise a strategy's sum is before the last rounding.
enum class Summation {
  kFloat32,   // summed in float32, rounded once
  kDataType,  // partial sums rounded to the data type, in any order
};

struct Problem {
  Cell cell;
  int rank = 0;
  std::uint64_t seed = 0;
  Values values = Values::kOrdinary;
};

constexpr float kEpsilon = 1e-5F;
constexpr std::size_t kCanaryBytes = 256;  // bytes behind every output

// Fills input, residual_in, gamma and scale, and covers the outputs with a pattern.
cudaError_t fill(const Problem& problem, const Buffers& buffers, cudaStream_t stream);

// Filled by compare(), in device memory.
struct Findings {
  unsigned long long wrong;     // number of wrong values
  unsigned long long at;        // index of one of them
  int output;                   // its output, an index into kOutputNames
  float value;                  // its value
  float expected;               // about the value that it should have
  unsigned long long checksum;  // checksum of all outputs; equal on ranks that agree to the bit
  unsigned long long canaries;  // bytes written behind an output
};

inline constexpr const char* kOutputNames[] = {"output", "residual_out", "normalized output",
                                               "quantized", "scale_out"};

// Rows whose squares overflow float32 are compared up to residual_out only.
cudaError_t compare(const Problem& problem,
                    Summation summation,
                    const Buffers& buffers,
                    Findings* findings,
                    cudaStream_t stream);

// Computes only the checksum and the canaries.
cudaError_t sum_up(const Cell& cell,
                   const Buffers& buffers,
                   Findings* findings,
                   cudaStream_t stream);

// The bytes of each output of a cell, without canaries.
struct OutputBytes {
  std::size_t message = 0;  // input, output, residuals
  std::size_t gamma = 0;
  std::size_t quantized = 0;
  std::size_t scale_out = 0;
};

OutputBytes output_bytes(const Cell& cell);

}  // namespace assay::allreduce
