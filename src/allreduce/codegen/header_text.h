// The text that all generated headers have in common. NAMESPACE, GUARD and ALIAS are placeholders.
// The enums and, as macros, the arrays' elements go between the pieces.
#pragma once

#include <string_view>

namespace assay::allreduce {

inline constexpr std::string_view kHeaderBegin = R"(
#ifndef GUARD
#define GUARD

#include <cstdint>

#if defined(__CUDACC__)
#define GUARD_FUNCTION __host__ __device__ constexpr
#else
#define GUARD_FUNCTION constexpr
#endif

namespace NAMESPACE {

)";

inline constexpr std::string_view kHeaderStructs = R"(
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
  std::int64_t measured_to_bytes;  // the largest message; 0: not known
  int first_segment;
  int end_segment;
};

// A segment ends where the next one of its row begins.
struct Segment {
  std::int64_t from_bytes;
  Strategy strategy;
};

)";

// CUDA kernels cannot index an array of the host, so each array has a copy on the device.
inline constexpr std::string_view kHeaderLookup = R"(
inline constexpr Slice kSlices[] = {GUARD_SLICES};
inline constexpr Row kRows[] = {GUARD_ROWS};
inline constexpr Segment kSegments[] = {GUARD_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {GUARD_SLICES};
static __device__ constexpr Row kDeviceRows[] = {GUARD_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {GUARD_SEGMENTS};
#endif
#undef GUARD_SLICES
#undef GUARD_ROWS
#undef GUARD_SEGMENTS

GUARD_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

GUARD_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

GUARD_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
GUARD_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

GUARD_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
GUARD_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
  // It was measured with this number of GPUs, fusion and type, and with messages up to this size.
  bool is_measured;
};

// Returns the strategy for a message; any input has one. Among the slices of the fusion, the lookup
// takes the one with the nearest TP and then with the data type, in it the row with the nearest
// hidden size, and in it the segment of the message's bytes. A fusion without a slice has kFallback.
GUARD_FUNCTION Match find(std::int64_t world_size,
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
  const std::int64_t measured_to = detail::row(row).measured_to_bytes;
  const bool is_beyond = measured_to != 0 && size_bytes > measured_to;
  return Match{strategy, is_extrapolated,
               !is_extrapolated && !is_beyond && detail::slice(best).data_type == data_type};
}

GUARD_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that the GPUs' NVLinks need for what one sends: (N-1) S with
// NAMES_SENDING_ALL, 2 (N-1)/N S with NAMES_SENDING_PARTS, and with NCCL S where switches may sum. No time
// is below it, extrapolated or not. 0 where the links are not known.
GUARD_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  if (kLinkBytesPerUs == 0) return 0;
  const bool is_of_nccl = IS_OF_NCCL;
  const double sent = IS_SENDING_ALL  ? world_size - 1.0
                      : is_of_nccl && kSwitchesMaySum ? 1.0
                                                      : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / kLinkBytesPerUs;
}

}  // namespace NAMESPACE

#undef GUARD_FUNCTION

ALIAS
#endif  // GUARD
)";

// The dispatcher over several tables. TABLES are the tables' headers, FIRST the first one's SM and
// launch, NEARER one line for each other table, CASES one case for each.
inline constexpr std::string_view kDispatcherBegin = R"(
#ifndef GUARD
#define GUARD

#if defined(__CUDACC__)
#define GUARD_FUNCTION __host__ __device__ constexpr
#else
#define GUARD_FUNCTION constexpr
#endif

namespace NAMESPACE {

)";

inline constexpr std::string_view kDispatcherEnd = R"(
struct Match {
  Strategy strategy;
  int sm_version;  // of the table that answers
  Launch launch;
  bool is_extrapolated;  // this number of GPUs was not measured
  // It was measured with this SM, launch, number of GPUs, fusion and type, and with messages up to
  // this size.
  bool is_measured;
};

namespace detail {

// Another launch counts more than any SM, and a newer SM than the asked one more than an older one.
GUARD_FUNCTION std::int64_t distance(std::int64_t table_sm,
                                     Launch table_launch,
                                     std::int64_t sm_version,
                                     Launch launch) {
  const std::int64_t below = sm_version - table_sm;
  const std::int64_t of_sm = below >= 0 ? below : (std::int64_t{1} << 34) - below;
  return of_sm + (table_launch == launch ? 0 : std::int64_t{1} << 36);
}

// Returns the table that answers: that of the SM and launch, else the nearest.
GUARD_FUNCTION int table_of(int sm_version, Launch launch) {
  int best = 0;
  std::int64_t least = distance(FIRST, sm_version, launch);
NEARER  return least < 0 ? 0 : best;
}

}  // namespace detail

// Returns the strategy for a message; any input has one.
GUARD_FUNCTION Match find(int sm_version,
                          Launch launch,
                          std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  switch (detail::table_of(sm_version, launch)) {
CASES  }
}

GUARD_FUNCTION Strategy lookup(int sm_version,
                               Launch launch,
                               std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(sm_version, launch, world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

}  // namespace NAMESPACE

#undef GUARD_FUNCTION

ALIAS
#endif  // GUARD
)";

}  // namespace assay::allreduce
