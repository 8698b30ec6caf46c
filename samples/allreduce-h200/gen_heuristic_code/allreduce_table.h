// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.9, 2026-11-21, of 5748 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_H
#define ALLREDUCE_TABLE_SM90_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_H_FUNCTION constexpr
#endif

namespace allreduce_table {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_H_FUNCTION const char* name_of(Strategy strategy) {
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
inline constexpr int kSliceCount = 8;
inline constexpr Strategy kFallback = Strategy::kNccl;

namespace detail {

struct Slice {
  std::int64_t world_size;
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

// From so many bytes up to those of the row's next segment.
struct Segment {
  std::int64_t from_bytes;
  Strategy strategy;
};

#define ALLREDUCE_TABLE_SM90_H_SLICES \
  {2, Fusion::kNone, DataType::kBfloat16, 0, 10}, \
  {2, Fusion::kResidualRmsNorm, DataType::kBfloat16, 10, 20}, \
  {2, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 20, 30}, \
  {2, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 30, 40}, \
  {4, Fusion::kNone, DataType::kBfloat16, 40, 50}, \
  {4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 50, 60}, \
  {4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 60, 70}, \
  {4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 70, 80}
#define ALLREDUCE_TABLE_SM90_H_ROWS \
  {128, 0, 1}, \
  {256, 1, 2}, \
  {512, 2, 3}, \
  {1024, 3, 4}, \
  {2048, 4, 6}, \
  {2880, 6, 8}, \
  {4096, 8, 10}, \
  {5120, 10, 12}, \
  {7168, 12, 14}, \
  {8192, 14, 16}, \
  {128, 16, 17}, \
  {256, 17, 18}, \
  {512, 18, 19}, \
  {1024, 19, 20}, \
  {2048, 20, 22}, \
  {2880, 22, 24}, \
  {4096, 24, 26}, \
  {5120, 26, 28}, \
  {7168, 28, 30}, \
  {8192, 30, 32}, \
  {128, 32, 33}, \
  {256, 33, 34}, \
  {512, 34, 35}, \
  {1024, 35, 38}, \
  {2048, 38, 40}, \
  {2880, 40, 42}, \
  {4096, 42, 44}, \
  {5120, 44, 46}, \
  {7168, 46, 48}, \
  {8192, 48, 50}, \
  {128, 50, 52}, \
  {256, 52, 54}, \
  {512, 54, 56}, \
  {1024, 56, 58}, \
  {2048, 58, 60}, \
  {2880, 60, 62}, \
  {4096, 62, 64}, \
  {5120, 64, 66}, \
  {7168, 66, 68}, \
  {8192, 68, 70}, \
  {128, 70, 72}, \
  {256, 72, 74}, \
  {512, 74, 76}, \
  {1024, 76, 78}, \
  {2048, 78, 81}, \
  {2880, 81, 84}, \
  {4096, 84, 87}, \
  {5120, 87, 90}, \
  {7168, 90, 93}, \
  {8192, 93, 96}, \
  {128, 96, 98}, \
  {256, 98, 100}, \
  {512, 100, 102}, \
  {1024, 102, 104}, \
  {2048, 104, 107}, \
  {2880, 107, 110}, \
  {4096, 110, 113}, \
  {5120, 113, 116}, \
  {7168, 116, 119}, \
  {8192, 119, 122}, \
  {128, 122, 124}, \
  {256, 124, 126}, \
  {512, 126, 128}, \
  {1024, 128, 130}, \
  {2048, 130, 133}, \
  {2880, 133, 136}, \
  {4096, 136, 139}, \
  {5120, 139, 142}, \
  {7168, 142, 145}, \
  {8192, 145, 148}, \
  {128, 148, 150}, \
  {256, 150, 152}, \
  {512, 152, 154}, \
  {1024, 154, 156}, \
  {2048, 156, 159}, \
  {2880, 159, 162}, \
  {4096, 162, 165}, \
  {5120, 165, 168}, \
  {7168, 168, 171}, \
  {8192, 171, 174}
#define ALLREDUCE_TABLE_SM90_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {3449098, Strategy::kTwoshotPush}, \
  {6207978, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {3610410, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {3598614, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {3045288, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {3480504, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {281087, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {273958, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {281800, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {296188, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {299195, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {280174, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {327681, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {329729, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {294411, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {552062, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {536746, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {538163, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {648547, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {460801, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {458753, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {626448, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {618985, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {610787, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {607446, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {619975, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {763487, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {582414, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {660259, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {571001, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {595575, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {890180, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {881146, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {838964, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {848121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {823281, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {930650, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {745473, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {846234, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {820584, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {872137, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_H_SLICES
#undef ALLREDUCE_TABLE_SM90_H_ROWS
#undef ALLREDUCE_TABLE_SM90_H_SEGMENTS

ALLREDUCE_TABLE_SM90_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Whether b is nearer to `wanted` than a by ratio; of two equally near, the larger is. What the
// table holds is at most 2^28, so that products fit.
ALLREDUCE_TABLE_SM90_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Bytes of a message; INT64_MAX where that would not do. What is below 1 counts as 1.
ALLREDUCE_TABLE_SM90_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
                                          std::int64_t hidden_size,
                                          DataType data_type) {
  const std::int64_t element_bytes = data_type == DataType::kFloat32 ? 4 : 2;
  const std::int64_t tokens = num_tokens < 1 ? 1 : num_tokens;
  const std::int64_t hidden = hidden_size < 1 ? 1 : hidden_size;
  if (tokens > INT64_MAX / element_bytes / hidden) return INT64_MAX;
  return tokens * hidden * element_bytes;
}

// The strategy for a message, for any input whatever: of the slices of this fusion the one of the
// nearest TP and then of this data type, in it the row of the nearest hidden size, in it the segment
// that the message's bytes fall into. A fusion without a slice has kFallback.
ALLREDUCE_TABLE_SM90_H_FUNCTION Strategy lookup(std::int64_t world_size,
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
  if (best < 0) return kFallback;

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
  return strategy;
}

}  // namespace allreduce_table

#undef ALLREDUCE_TABLE_SM90_H_FUNCTION

#endif  // ALLREDUCE_TABLE_SM90_H
