// All-reduce strategies for SM 90, for calls launched by CUDA graphs that have no other call.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-28, of 600 times in benchmark.tp2.sm90.isolated.csv benchmark.tp4.sm90.isolated.csv.

#ifndef ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H
#define ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_isolated_743bf7cda2a8ddce {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION const char* name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::kOneshot:
      return "ONESHOT";
    case Strategy::kTwoshotPush:
      return "TWOSHOT_PUSH";
    case Strategy::kTwoshot:
      return "TWOSHOT";
    case Strategy::kNcclSymmetric:
      return "NCCL_SYMMETRIC";
    case Strategy::kNccl:
      return "NCCL";
  }
  return "unknown";
}

enum class Fusion : std::uint8_t {
  kNone = 0,
  kResidualRmsNorm = 1,
  kResidualRmsNormQuantFp8 = 2,
  kResidualRmsNormQuantNvfp4 = 3,
};

enum class DataType : std::uint8_t {
  kBfloat16 = 0,
  kFloat16 = 1,
  kFloat32 = 2,
};

inline constexpr int kSmVersion = 90;
inline constexpr int kSliceCount = 28;
inline constexpr Strategy kFallback = Strategy::kNccl;

namespace detail {

struct Slice {
  std::int64_t world_size;
  std::int64_t from_world_size;  // extrapolated from this many GPUs; 0: measured
  Fusion fusion;
  DataType data_type;
  int first_row;
  int end_row;
};

struct Row {
  std::int64_t hidden_size;
  int first_segment;
  int end_segment;
};

// A segment ends where the next one of its row begins.
struct Segment {
  std::int64_t from_bytes;
  Strategy strategy;
};

#define ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 1}, \
  {2, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 1, 2}, \
  {2, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 2, 3}, \
  {2, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 3, 4}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 4, 5}, \
  {4, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 5, 6}, \
  {4, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 6, 7}, \
  {4, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 7, 8}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 8, 9}, \
  {3, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 9, 10}, \
  {3, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 10, 11}, \
  {3, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 11, 12}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 12, 13}, \
  {5, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 13, 14}, \
  {5, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 14, 15}, \
  {5, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 15, 16}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 16, 17}, \
  {6, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 17, 18}, \
  {6, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 18, 19}, \
  {6, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 19, 20}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 20, 21}, \
  {7, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 21, 22}, \
  {7, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 22, 23}, \
  {7, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 23, 24}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 24, 25}, \
  {8, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 25, 26}, \
  {8, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 26, 27}, \
  {8, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 27, 28}
#define ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_ROWS \
  {4096, 0, 1}, \
  {4096, 1, 2}, \
  {4096, 2, 3}, \
  {4096, 3, 4}, \
  {4096, 4, 7}, \
  {4096, 7, 9}, \
  {4096, 9, 11}, \
  {4096, 11, 13}, \
  {4096, 13, 16}, \
  {4096, 16, 18}, \
  {4096, 18, 20}, \
  {4096, 20, 22}, \
  {4096, 22, 25}, \
  {4096, 25, 27}, \
  {4096, 27, 29}, \
  {4096, 29, 31}, \
  {4096, 31, 34}, \
  {4096, 34, 36}, \
  {4096, 36, 38}, \
  {4096, 38, 40}, \
  {4096, 40, 43}, \
  {4096, 43, 45}, \
  {4096, 45, 47}, \
  {4096, 47, 49}, \
  {4096, 49, 52}, \
  {4096, 52, 54}, \
  {4096, 54, 56}, \
  {4096, 56, 58}
#define ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {221814, Strategy::kTwoshotPush}, \
  {61616771, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {215883, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {174111, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {204472, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {481613, Strategy::kTwoshotPush}, \
  {68650465, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {431346, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {320233, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {383134, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {153477, Strategy::kTwoshotPush}, \
  {56353557, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {144179, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {121070, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {137331, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {117222, Strategy::kTwoshotPush}, \
  {53480371, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {108103, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {97154, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {109373, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {96278, Strategy::kTwoshotPush}, \
  {51670478, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {88644, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83714, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94345, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83575, Strategy::kTwoshotPush}, \
  {50425796, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {75107, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72330, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82006, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SLICES
#undef ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_ROWS
#undef ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_SEGMENTS

ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
                                          std::int64_t hidden_size,
                                          DataType data_type) {
  const std::int64_t element_bytes = data_type == DataType::kFloat32 ? 4 : 2;
  const std::int64_t tokens = num_tokens < 1 ? 1 : num_tokens;
  const std::int64_t hidden = hidden_size < 1 ? 1 : hidden_size;
  if (tokens > INT64_MAX / element_bytes / hidden) return INT64_MAX;
  return tokens * hidden * element_bytes;
}

struct Match {
  Strategy strategy;
  bool is_extrapolated;  // this number of GPUs was not measured
  bool is_measured;      // with this number of GPUs, fusion and type: nothing stands in for them
};

// Returns the strategy for a message; any input has one. Among the slices of the fusion, the lookup
// takes the one with the nearest TP and then with the data type, in it the row with the nearest
// hidden size, and in it the segment of the message's bytes. A fusion without a slice has kFallback.
ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION Match find(std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  int best = -1;
  for (int i = 0; i < kSliceCount; ++i) {
    if (detail::slice(i).fusion != fusion) continue;
    if (best < 0 || detail::is_better(detail::slice(i), detail::slice(best), world_size, data_type)) {
      best = i;
    }
  }
  if (best < 0) return Match{kFallback, false, false};

  int row = detail::slice(best).first_row;
  for (int i = row + 1; i < detail::slice(best).end_row; ++i) {
    if (detail::is_nearer(detail::row(i).hidden_size, detail::row(row).hidden_size, hidden_size)) {
      row = i;
    }
  }

  const std::int64_t size_bytes = message_bytes(num_tokens, hidden_size, data_type);
  Strategy strategy = kFallback;
  for (int i = detail::row(row).first_segment; i < detail::row(row).end_segment; ++i) {
    if (detail::segment(i).from_bytes <= size_bytes) strategy = detail::segment(i).strategy;
  }
  const bool is_extrapolated =
      detail::slice(best).from_world_size != 0 || detail::slice(best).world_size != world_size;
  return Match{strategy, is_extrapolated,
               !is_extrapolated && detail::slice(best).data_type == data_type};
}

ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_isolated_743bf7cda2a8ddce

#undef ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_isolated = ::allreduce_table_sm90_isolated_743bf7cda2a8ddce;
#endif

#endif  // ALLREDUCE_TABLE_SM90_ISOLATED_743BF7CDA2A8DDCE_H
