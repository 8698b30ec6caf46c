// What the kernels that check results share: the random numbers that inputs are made of, and the
// comparison with float64 sums of them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "allreduce/strategies/quantize.h"
#include "allreduce/worker/reference.h"

namespace assay::allreduce {

constexpr int kThreads = 256;

enum class Stream : std::uint32_t { kInput = 0, kResidual = 100, kGamma = 200 };

// Mixes 64 bits well enough for test data (the finaliser of D. Stafford's variant 13).
__device__ inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

__device__ inline std::uint64_t random_bits(std::uint64_t seed,
                                            std::uint32_t stream,
                                            std::uint64_t at) {
  return mixed(mixed(seed * 0x9E3779B97F4A7C15ULL + stream) + at * 0xD1342543DE82EF95ULL);
}

template <class T>
struct Numbers;

template <>
struct Numbers<float> {
  static constexpr int kMantissaBits = 23;
  static constexpr double kSmallest = 0x1p-149;
  static constexpr float kLargest = 3.402823466e38F;

  __device__ static float rounded(double value) { return static_cast<float>(value); }
};

template <>
struct Numbers<__nv_bfloat16> {
  static constexpr int kMantissaBits = 7;
  static constexpr double kSmallest = 0x1p-133;
  static constexpr float kLargest = 3.38953139e38F;

  __device__ static __nv_bfloat16 rounded(double value) { return __double2bfloat16(value); }
};

template <>
struct Numbers<__half> {
  static constexpr int kMantissaBits = 10;
  static constexpr double kSmallest = 0x1p-24;
  static constexpr float kLargest = 65504.0F;

  __device__ static __half rounded(double value) { return __double2half(value); }
};

template <class T>
__device__ double as_double(T value) {
  return static_cast<double>(static_cast<float>(value));
}

// Returns the distance between a value of T and the next one.
template <class T>
__device__ double spacing(double value) {
  const double size = fabs(value);
  if (!(size > 0) || isinf(size)) return Numbers<T>::kSmallest;
  return fmax(ldexp(1.0, ilogb(size) - Numbers<T>::kMantissaBits), Numbers<T>::kSmallest);
}

template <class T>
__device__ T special_value(std::uint64_t bits) {
  switch (bits >> 10U & 7U) {
    case 0:
      return T(-0.0F);
    case 1:
      return T(__int_as_float(0x7FC00000));
    case 2:
      return T(__int_as_float(0x7F800000));
    case 3:
      return T(__int_as_float(static_cast<int>(0xFF800000U)));
    case 4:
      return T(Numbers<T>::kLargest);
    case 5:
      return T(static_cast<float>(Numbers<T>::kSmallest));
    case 6: {  // all ones, which is what an empty word looks like
      T value;
      memset(&value, 0xFF, sizeof value);
      return value;
    }
    default:
      return T(0.0F);
  }
}

// Returns a number of about normal distribution with deviation 1, or uniform in [-1, 1) for gamma.
// With kSpecial, one input in 64 is a special value.
template <class T>
__device__ T random_value(const Problem& problem, std::uint32_t stream, std::uint64_t at) {
  const std::uint64_t bits = random_bits(problem.seed, stream, at);
  const bool input = stream < static_cast<std::uint32_t>(Stream::kResidual);
  if (input && problem.values == Values::kSpecial) {
    // In half of these places all ranks have the same value, for sums of -0 and of NaN only.
    const std::uint64_t shared = random_bits(problem.seed, 999, at);
    if ((shared & 63U) == 0) return special_value<T>((shared >> 6U & 1U) != 0 ? shared : bits);
  }
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += static_cast<float>(bits >> (16 * i) & 0xFFFFU) / 65536.0F - 0.5F;
  return T(stream == static_cast<std::uint32_t>(Stream::kGamma) ? sum : sum * 1.732F);
}

// With FP8 most values fit and some saturate. NVFP4 follows the convention 448 * 6 / largest, with
// a largest value of about 4.
__host__ __device__ inline float scale_of(Fusion fusion) {
  return fusion == Fusion::kResidualRmsNormQuantNvfp4 ? 448.0F * 6.0F / 4.0F : 0.004F;
}

enum Output { kPlain, kResidual, kNormalized, kQuantized, kScale };

__device__ inline void report(
    Findings* findings, Output output, std::int64_t at, double value, double expected) {
  if (atomicAdd(&findings->wrong, 1ULL) != 0) return;
  findings->at = static_cast<unsigned long long>(at);
  findings->output = output;
  findings->value = static_cast<float>(value);
  findings->expected = static_cast<float>(expected);
}

struct Exact {
  double sum = -0.0;  // adding to it changes no sign
  double sizes = 0;   // sum of the summands' magnitudes, for the error bound
};

template <class T>
__device__ Exact exact_sum(const Problem& problem, std::int64_t at) {
  Exact exact;
  for (int rank = 0; rank < problem.cell.world_size; ++rank) {
    const double value = as_double(
        random_value<T>(problem, static_cast<std::uint32_t>(rank), static_cast<std::uint64_t>(at)));
    exact.sum += value;
    exact.sizes += fabs(value);
  }
  return exact;
}

// Returns how far a rounded sum may be from the exact one: half a spacing for the last rounding,
// and (N-1) roundings of partial sums, to float32 or to the data type.
template <class T>
__device__ double sum_bound(const Exact& exact, int world_size, Summation summation) {
  const double unit =
      summation == Summation::kFloat32 ? 0x1p-24 : ldexp(1.0, -Numbers<T>::kMantissaBits - 1);
  return 0.5 * spacing<T>(fabs(exact.sum) + unit * exact.sizes) +
         (world_size - 1) * unit * exact.sizes;
}

template <class T>
__device__ bool is_close(double value, double expected, double bound) {
  if (isnan(expected)) return isnan(value);
  // Beyond the largest number both "infinite" and "largest" are one spacing apart.
  if (isinf(expected)) return value == expected;
  if (fabs(expected) >= static_cast<double>(Numbers<T>::kLargest))
    return isinf(value) || fabs(value - expected) <= bound;
  return fabs(value - expected) <= bound;
}

// A partial sum may overflow although the whole does not; then infinity and NaN are right, too.
template <class T>
__device__ bool may_overflow(const Exact& exact, double value) {
  return exact.sizes >= static_cast<double>(Numbers<T>::kLargest) && !isfinite(value);
}

// The elements of this thread, out of `count`.
template <class Visit>
__device__ void for_elements(std::int64_t count, Visit visit) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads)
    visit(i);
}

// `first` is the element of the message with which the output begins.
template <class T>
__device__ void check_sums(const Problem& problem,
                           Summation summation,
                           const Buffers& buffers,
                           std::int64_t first,
                           std::int64_t count,
                           Findings* findings) {
  const T* output = static_cast<const T*>(buffers.output);
  for_elements(count, [&](std::int64_t i) {
    const Exact exact = exact_sum<T>(problem, first + i);
    const double bound = sum_bound<T>(exact, problem.cell.world_size, summation);
    const double value = as_double(output[i]);
    const bool zero_sign_lost = exact.sizes == 0 && signbit(value) != signbit(exact.sum);
    if (zero_sign_lost || (!may_overflow<T>(exact, value) && !is_close<T>(value, exact.sum, bound)))
      report(findings, kPlain, i, value, exact.sum);
  });
}

// Every rank's part is what its input was filled with.
template <class T>
__device__ void check_gathered(const Problem& problem,
                               const Buffers& buffers,
                               std::int64_t count,
                               Findings* findings) {
  const T* output = static_cast<const T*>(buffers.output);
  const std::int64_t part = count / problem.cell.world_size;
  for_elements(count, [&](std::int64_t i) {
    const double expected = as_double(random_value<T>(problem, static_cast<std::uint32_t>(i / part),
                                                      static_cast<std::uint64_t>(i % part)));
    const double value = as_double(output[i]);
    const bool same =
        isnan(expected) ? isnan(value) : value == expected && signbit(value) == signbit(expected);
    if (!same) report(findings, kPlain, i, value, expected);
  });
}

// Joins one number of each thread of the block, for all of them.
template <class Join>
__device__ double block_joined(double value, Join join) {
  __shared__ double parts[kThreads];
  __syncthreads();
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int distance = kThreads / 2; distance > 0; distance /= 2) {
    if (threadIdx.x < static_cast<unsigned>(distance))
      parts[threadIdx.x] = join(parts[threadIdx.x], parts[threadIdx.x + distance]);
    __syncthreads();
  }
  return parts[0];
}

__device__ inline double block_sum(double value) {
  return block_joined(value, [](double a, double b) { return a + b; });
}

__device__ inline double block_largest(double value) {
  return block_joined(value, [](double a, double b) { return fmax(a, b); });
}

// The allowed range of y: the kernels compute it in float32, a few roundings away from the exact
// value. The smallest numbers have no more digits to round to than multiples of 2^-149.
template <class T>
struct Normalized {
  float low;
  float high;

  __device__ Normalized(double exact) {
    const double slack = fabs(exact) * 4e-6 + 0x1p-148;
    low = static_cast<float>(Numbers<T>::rounded(exact - slack));
    high = static_cast<float>(Numbers<T>::rounded(exact + slack));
  }

  [[nodiscard]] __device__ bool has(float value) const {
    if (isnan(low)) return isnan(value);
    return value >= low && value <= high;
  }
};

// Checks one row: residual_out against the exact sum, everything else against that residual_out.
template <class T>
class RowCheck {
 public:
  __device__ RowCheck(const Problem& problem,
                      const Buffers& buffers,
                      std::int64_t row,
                      Findings* findings)
      : problem_(problem),
        buffers_(buffers),
        row_(row),
        hidden_(problem.cell.hidden_size),
        findings_(findings) {}

  __device__ void residual(Summation summation) {
    double squares = 0;
    for (std::int64_t column = threadIdx.x; column < hidden_; column += kThreads) {
      const std::int64_t i = row_ * hidden_ + column;
      const Exact exact = exact_sum<T>(problem_, i);
      const bool adds = buffers_.residual_in != nullptr;
      const double added = adds ? as_double(static_cast<const T*>(buffers_.residual_in)[i]) : -0.0;
      const double h = as_double(static_cast<const T*>(buffers_.residual_out)[i]);
      const double bound = sum_bound<T>(exact, problem_.cell.world_size, summation);
      const double expected = exact.sum + added;
      if (!may_overflow<T>(exact, h) &&
          !is_close<T>(h, expected, bound + (adds ? spacing<T>(fabs(expected) + bound) : 0)))
        report(findings_, kResidual, i, h, expected);
      squares += h * h;
    }
    const double sum = block_sum(squares);
    squares_fit_ = !(isfinite(sum) && sum > 0.99 * 3.4e38);
    factor_ = 1.0 / sqrt(sum / static_cast<double>(hidden_) + static_cast<double>(kEpsilon));
  }

  [[nodiscard]] __device__ bool squares_fit() const { return squares_fit_; }

  [[nodiscard]] __device__ Normalized<T> normalized(std::int64_t column) const {
    const double h =
        as_double(static_cast<const T*>(buffers_.residual_out)[row_ * hidden_ + column]);
    const double gamma = as_double(static_cast<const T*>(buffers_.gamma)[column]);
    // The kernels round the sum to float32.
    const float weight = static_cast<float>(gamma) + problem_.variant.weight_bias;
    return Normalized<T>(h * factor_ * static_cast<double>(weight));
  }

  __device__ void norm() const {
    for (std::int64_t column = threadIdx.x; column < hidden_; column += kThreads) {
      const std::int64_t i = row_ * hidden_ + column;
      const auto value = static_cast<float>(static_cast<const T*>(buffers_.output)[i]);
      const Normalized<T> y = normalized(column);
      if (!y.has(value)) report(findings_, kNormalized, i, value, y.low);
    }
  }

  __device__ void fp8() const {
    for (std::int64_t column = threadIdx.x; column < hidden_; column += kThreads) {
      const float scale = problem_.variant.scale_layout == ScaleLayout::kDefault
                              ? *buffers_.scale
                              : static_cast<const float*>(buffers_.scale_out)[scale_at(column)];
      const float factor =
          problem_.variant.scale_layout == ScaleLayout::kDefault ? 1.0F / scale : fp8_factor(scale);
      const std::int64_t i = row_ * hidden_ + column;
      const std::uint8_t q = static_cast<const std::uint8_t*>(buffers_.quantized)[i];
      const Normalized<T> y = normalized(column);
      const bool fine = isnan(y.low)
                            ? (q & 0x7FU) == 0x7FU
                            : q == to_e4m3(y.low * factor) || q == to_e4m3(y.high * factor);
      if (!fine) report(findings_, kQuantized, i, from_e4m3(q), y.low * factor);
    }
    if (problem_.variant.scale_layout == ScaleLayout::kPerToken) {
      Largest largest;
      for (std::int64_t column = threadIdx.x; column < hidden_; column += kThreads)
        largest.take(normalized(column));
      largest.low = static_cast<float>(block_largest(static_cast<double>(largest.low)));
      largest.high = static_cast<float>(block_largest(static_cast<double>(largest.high)));
      if (threadIdx.x == 0) compare_scale(0, largest);
    } else if (problem_.variant.scale_layout == ScaleLayout::kPerGroup128) {
      for (std::int64_t group = threadIdx.x; group < hidden_ / kFp8Group; group += kThreads) {
        Largest largest;
        for (int i = 0; i < kFp8Group; ++i)
          largest.take(normalized(group * kFp8Group + i));
        compare_scale(group * kFp8Group, largest);
      }
    }
  }

  __device__ void nvfp4() const {
    const float global_scale = *buffers_.scale;
    for (std::int64_t group = threadIdx.x; group < hidden_ / kNvfp4Group; group += kThreads) {
      float low = 0;
      float high = 0;
      bool has_nan = false;
      for (int i = 0; i < kNvfp4Group; ++i) {
        const Normalized<T> y = normalized(group * kNvfp4Group + i);
        has_nan |= isnan(y.low);
        low = fmaxf(low, fminf(fabsf(y.low), fabsf(y.high)));
        high = fmaxf(high, fmaxf(fabsf(y.low), fabsf(y.high)));
      }
      if (has_nan) continue;
      const std::uint8_t scale = static_cast<const std::uint8_t*>(
          buffers_
              .scale_out)[nvfp4_scale_offset(problem_.variant.scale_layout, row_, group, hidden_)];
      if (scale != nvfp4_scale(low, global_scale) && scale != nvfp4_scale(high, global_scale))
        report(findings_, kScale, row_ * hidden_ + group * kNvfp4Group, from_e4m3(scale),
               from_e4m3(nvfp4_scale(low, global_scale)));
      values(group, nvfp4_factor(scale, global_scale));
    }
  }

 private:
  // Returns the place of the scale of a column, of kPerToken or kPerGroup128.
  [[nodiscard]] __device__ std::int64_t scale_at(std::int64_t column) const {
    return problem_.variant.scale_layout == ScaleLayout::kPerToken
               ? row_
               : row_ * (hidden_ / kFp8Group) + column / kFp8Group;
  }

  // The range of the largest magnitude of some elements. NaN does not count.
  struct Largest {
    float low = 0;
    float high = 0;

    __device__ void take(const Normalized<T>& y) {
      low = fmaxf(low, fminf(fabsf(y.low), fabsf(y.high)));
      high = fmaxf(high, fmaxf(fabsf(y.low), fabsf(y.high)));
    }
  };

  // Compares the computed scale of the elements that begin with column `first`.
  __device__ void compare_scale(std::int64_t first, const Largest& largest) const {
    const float scale = static_cast<const float*>(buffers_.scale_out)[scale_at(first)];
    if (!(scale >= fp8_scale(largest.low) && scale <= fp8_scale(largest.high)))
      report(findings_, kScale, row_ * hidden_ + first, scale, fp8_scale(largest.low));
  }

  __device__ void values(std::int64_t group, float factor) const {
    for (int i = 0; i < kNvfp4Group; ++i) {
      const std::int64_t at = row_ * hidden_ + group * kNvfp4Group + i;
      const std::uint8_t byte = static_cast<const std::uint8_t*>(buffers_.quantized)[at / 2];
      const std::uint32_t q = at % 2 == 0 ? byte & 15U : byte >> 4U;
      const Normalized<T> y = normalized(group * kNvfp4Group + i);
      if (q != to_e2m1(y.low * factor) && q != to_e2m1(y.high * factor))
        report(findings_, kQuantized, at, static_cast<double>(q), to_e2m1(y.low * factor));
    }
  }

  const Problem& problem_;
  const Buffers& buffers_;
  std::int64_t row_;
  std::int64_t hidden_;
  Findings* findings_;
  double factor_ = 0;
  bool squares_fit_ = true;
};

// Checks everything that a call wrote.
template <class T>
__device__ void check_call(const Problem& problem,
                           Summation summation,
                           const Buffers& buffers,
                           Findings* findings) {
  const Cell& cell = problem.cell;
  const std::int64_t count = cell.num_tokens * cell.hidden_size;
  if (problem.variant.operation == Operation::kAllGather)
    return check_gathered<T>(problem, buffers, count, findings);
  if (cell.fusion == Fusion::kNone) {
    const bool scatters = problem.variant.operation == Operation::kReduceScatter;
    const std::int64_t part = scatters ? count / cell.world_size : count;
    return check_sums<T>(problem, summation, buffers, scatters ? problem.rank * part : 0, part,
                         findings);
  }
  if (buffers.residual_out == nullptr) return;
  for (std::int64_t row = blockIdx.x; row < cell.num_tokens; row += gridDim.x) {
    RowCheck<T> check(problem, buffers, row, findings);
    check.residual(summation);
    if (!check.squares_fit()) continue;
    if (buffers.output != nullptr) check.norm();
    if (cell.fusion == Fusion::kResidualRmsNormQuantFp8) check.fp8();
    if (cell.fusion == Fusion::kResidualRmsNormQuantNvfp4) check.nvfp4();
  }
}

// Returns this thread's part of a checksum.
__device__ inline std::uint64_t checksum_part(const std::uint32_t* words,
                                              std::int64_t count,
                                              std::uint64_t salt) {
  std::uint64_t sum = 0;
  for_elements(count, [&](std::int64_t i) {
    sum +=
        mixed((static_cast<std::uint64_t>(words[i]) << 32U) + static_cast<std::uint64_t>(i) + salt);
  });
  return sum;
}

inline unsigned blocks_for(std::int64_t items) {
  const std::int64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 1056 ? 1056 : blocks);
}

// A row has a block where there are rows.
inline unsigned blocks_for(const Cell& cell) {
  return cell.fusion == Fusion::kNone
             ? blocks_for(cell.num_tokens * cell.hidden_size)
             : static_cast<unsigned>(cell.num_tokens < 4096 ? cell.num_tokens : 4096);
}

// Runs run(T{}) with the cell's type.
template <class Run>
void with_type(DataType type, Run run) {
  switch (type) {
    case DataType::kBfloat16:
      return run(__nv_bfloat16{});
    case DataType::kFloat16:
      return run(__half{});
    default:
      return run(float{});
  }
}

}  // namespace assay::allreduce
