// All-reduce strategies of 1 tables, by SM and launch.
// Made by assay allreduce codegen; do not edit.

// All-reduce strategies for SM 90, for calls launched by the host.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-28, of 1725 times in benchmark.tp2.sm90.eager.csv benchmark.tp4.sm90.eager.csv.

#ifndef ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H
#define ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_eager_97a99ffa9b8cef09 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION const char* name_of(Strategy strategy) {
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
inline constexpr int kSliceCount = 7;
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

#define ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 13}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 13, 23}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 23, 33}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 33, 43}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 43, 53}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 53, 63}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 63, 73}
#define ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_ROWS \
  {128, 0, 1}, \
  {256, 1, 2}, \
  {512, 2, 3}, \
  {1024, 3, 4}, \
  {1536, 4, 5}, \
  {2048, 5, 6}, \
  {2880, 6, 7}, \
  {3072, 7, 8}, \
  {4096, 8, 9}, \
  {5120, 9, 10}, \
  {6144, 10, 11}, \
  {7168, 11, 12}, \
  {8192, 12, 13}, \
  {128, 13, 15}, \
  {256, 15, 17}, \
  {512, 17, 19}, \
  {1024, 19, 21}, \
  {2048, 21, 23}, \
  {2880, 23, 26}, \
  {4096, 26, 29}, \
  {5120, 29, 32}, \
  {7168, 32, 35}, \
  {8192, 35, 38}, \
  {128, 38, 40}, \
  {256, 40, 42}, \
  {512, 42, 44}, \
  {1024, 44, 46}, \
  {2048, 46, 48}, \
  {2880, 48, 51}, \
  {4096, 51, 54}, \
  {5120, 54, 57}, \
  {7168, 57, 60}, \
  {8192, 60, 63}, \
  {128, 63, 65}, \
  {256, 65, 67}, \
  {512, 67, 69}, \
  {1024, 69, 71}, \
  {2048, 71, 73}, \
  {2880, 73, 76}, \
  {4096, 76, 79}, \
  {5120, 79, 82}, \
  {7168, 82, 85}, \
  {8192, 85, 88}, \
  {128, 88, 90}, \
  {256, 90, 92}, \
  {512, 92, 94}, \
  {1024, 94, 96}, \
  {2048, 96, 98}, \
  {2880, 98, 101}, \
  {4096, 101, 104}, \
  {5120, 104, 107}, \
  {7168, 107, 110}, \
  {8192, 110, 113}, \
  {128, 113, 115}, \
  {256, 115, 117}, \
  {512, 117, 119}, \
  {1024, 119, 121}, \
  {2048, 121, 123}, \
  {2880, 123, 126}, \
  {4096, 126, 129}, \
  {5120, 129, 132}, \
  {7168, 132, 135}, \
  {8192, 135, 138}, \
  {128, 138, 140}, \
  {256, 140, 142}, \
  {512, 142, 144}, \
  {1024, 144, 146}, \
  {2048, 146, 148}, \
  {2880, 148, 151}, \
  {4096, 151, 154}, \
  {5120, 154, 157}, \
  {7168, 157, 160}, \
  {8192, 160, 163}
#define ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {294888, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {271289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {290323, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {309807, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {286200, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {229298, Strategy::kTwoshotPush}, \
  {49176887, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {291947, Strategy::kTwoshotPush}, \
  {62398946, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {140821, Strategy::kTwoshotPush}, \
  {47951211, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {266326, Strategy::kTwoshotPush}, \
  {55141794, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {278463, Strategy::kTwoshotPush}, \
  {57499814, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {563977, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {566663, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {560172, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {540298, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {421366, Strategy::kTwoshotPush}, \
  {52412754, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524288, Strategy::kTwoshotPush}, \
  {67108864, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {327681, Strategy::kTwoshotPush}, \
  {51170740, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {522052, Strategy::kTwoshotPush}, \
  {58720256, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {485700, Strategy::kTwoshotPush}, \
  {64936050, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {171710, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {159584, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {159651, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {186368, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {157515, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132481, Strategy::kTwoshotPush}, \
  {47185921, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {159617, Strategy::kTwoshotPush}, \
  {55134452, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {130829, Strategy::kTwoshotPush}, \
  {45113534, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {147845, Strategy::kTwoshotPush}, \
  {45449947, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {143478, Strategy::kTwoshotPush}, \
  {52220087, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {153742, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {140264, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {146666, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {160272, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {143666, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102746, Strategy::kTwoshotPush}, \
  {41921553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {144321, Strategy::kTwoshotPush}, \
  {51645981, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {112641, Strategy::kTwoshotPush}, \
  {43262115, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131725, Strategy::kTwoshotPush}, \
  {41862726, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131072, Strategy::kTwoshotPush}, \
  {49452260, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {147676, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132634, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {142435, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {150229, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {139001, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {101590, Strategy::kTwoshotPush}, \
  {40065609, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {139281, Strategy::kTwoshotPush}, \
  {47456256, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {81921, Strategy::kTwoshotPush}, \
  {41958904, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {126517, Strategy::kTwoshotPush}, \
  {39993833, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {119156, Strategy::kTwoshotPush}, \
  {47448064, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {118355, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92673, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104288, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {121490, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99424, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70741, Strategy::kTwoshotPush}, \
  {38844439, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {84317, Strategy::kTwoshotPush}, \
  {47456256, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {78894, Strategy::kTwoshotPush}, \
  {40309383, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {73866, Strategy::kTwoshotPush}, \
  {38847182, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {76760, Strategy::kTwoshotPush}, \
  {46593520, Strategy::kTwoshot}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SLICES
#undef ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_ROWS
#undef ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_SEGMENTS

ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_eager_97a99ffa9b8cef09

#undef ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_eager = ::allreduce_table_sm90_eager_97a99ffa9b8cef09;
#endif

#endif  // ALLREDUCE_TABLE_SM90_EAGER_97A99FFA9B8CEF09_H


#ifndef ALLREDUCE_TABLES_97A99FFA9B8CEF09_H
#define ALLREDUCE_TABLES_97A99FFA9B8CEF09_H

#if defined(__CUDACC__)
#define ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION constexpr
#endif

namespace allreduce_tables_97a99ffa9b8cef09 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION const char* name_of(Strategy strategy) {
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

enum class Launch : std::uint8_t {
  kGraph = 0,
  kEager = 1,
  kIsolated = 2,
};

struct Match {
  Strategy strategy;
  int sm_version;  // of the table that answers
  Launch launch;
  bool is_extrapolated;  // this number of GPUs was not measured
  bool is_measured;      // with this SM, launch, number of GPUs, fusion and type
};

namespace detail {

// Another launch counts more than any SM, and a newer SM than the asked one more than an older one.
ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION std::int64_t distance(std::int64_t table_sm,
                                     Launch table_launch,
                                     std::int64_t sm_version,
                                     Launch launch) {
  const std::int64_t below = sm_version - table_sm;
  const std::int64_t of_sm = below >= 0 ? below : (std::int64_t{1} << 34) - below;
  return of_sm + (table_launch == launch ? 0 : std::int64_t{1} << 36);
}

// Returns the table that answers: that of the SM and launch, else the nearest.
ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION int table_of(int sm_version, Launch launch) {
  int best = 0;
  std::int64_t least = distance(90, Launch::kEager, sm_version, launch);
  return least < 0 ? 0 : best;
}

}  // namespace detail

// Returns the strategy for a message; any input has one.
ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION Match find(int sm_version,
                          Launch launch,
                          std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  switch (detail::table_of(sm_version, launch)) {
    default: {
      const ::allreduce_table_sm90_eager_97a99ffa9b8cef09::Match match =
          ::allreduce_table_sm90_eager_97a99ffa9b8cef09::find(world_size, static_cast<::allreduce_table_sm90_eager_97a99ffa9b8cef09::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_eager_97a99ffa9b8cef09::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kEager, match.is_extrapolated,
                   match.is_measured && detail::distance(90, Launch::kEager, sm_version, launch) == 0};
    }
  }
}

ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION Strategy lookup(int sm_version,
                               Launch launch,
                               std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(sm_version, launch, world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

}  // namespace allreduce_tables_97a99ffa9b8cef09

#undef ALLREDUCE_TABLES_97A99FFA9B8CEF09_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_tables = ::allreduce_tables_97a99ffa9b8cef09;
#endif

#endif  // ALLREDUCE_TABLES_97A99FFA9B8CEF09_H
