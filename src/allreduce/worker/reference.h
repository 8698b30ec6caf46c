// The expected outputs, computed on each GPU in float64 from the random numbers that the ranks'
// inputs are made of, so that nothing is sent between GPUs for them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "allreduce/strategies/arguments.h"
#include "allreduce/timings.h"

namespace assay::allreduce {

// What a call may ask for beyond its cell.
struct Variant {
  Operation operation = Operation::kAllReduce;
  ScaleLayout scale_layout = ScaleLayout::kDefault;
  float weight_bias = 0;
  bool has_residual = true;
  bool keeps_residual = true;     // whether the call has a residual_out
  bool keeps_normalized = false;  // whether a quantising call has an output, too
};

// A rank's device memory for a cell; null where a fusion does not need it.
struct Buffers {
  void* input = nullptr;
  void* output = nullptr;  // null with the quantising fusions, except where the variant keeps it
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
  Variant variant = {};
};

constexpr float kEpsilon = 1e-5F;
constexpr std::size_t kCanaryBytes = 256;  // bytes behind every output

// Fills input, residual_in, gamma and scale, and covers the outputs with a pattern.
cudaError_t fill(const Problem& problem, const Buffers& buffers, cudaStream_t stream);

// Filled by compare(), in device memory.
struct Findings {
  unsigned long long wrong;  // number of wrong values
  unsigned long long at;     // index of one of them
  int output;                // its output, an index into kOutputNames
  float value;               // its value
  float expected;            // about the value that it should have
  // Checksums of the outputs; equal on ranks that agree to the bit.
  unsigned long long checksum;
  unsigned long long residual_checksum;  // of residual_out
  unsigned long long canaries;           // bytes written behind an output
};

inline constexpr const char* kOutputNames[] = {"output", "residual_out", "normalized output",
                                               "quantized", "scale_out"};

// Rows whose squares overflow float32 are compared up to residual_out only. Without a residual_out
// only the canaries are looked at: such a call's outputs are to equal those of one that has it.
cudaError_t compare(const Problem& problem,
                    Summation summation,
                    const Buffers& buffers,
                    Findings* findings,
                    cudaStream_t stream);

// Computes only the checksum and the canaries.
cudaError_t sum_up(const Cell& cell,
                   const Variant& variant,
                   const Buffers& buffers,
                   Findings* findings,
                   cudaStream_t stream);

// The bytes of each output of a cell, without canaries.
struct OutputBytes {
  std::size_t message = 0;  // the larger of input and output, residuals
  std::size_t output = 0;
  std::size_t gamma = 0;
  std::size_t quantized = 0;
  std::size_t scale_out = 0;
};

OutputBytes output_bytes(const Cell& cell, const Variant& variant);

}  // namespace assay::allreduce
