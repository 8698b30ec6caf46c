// The few functions of CUPTI that we call. They are declared here so that no CUDA is needed to
// build. Names and layouts are those of cupti_activity.h of CUDA 12.0 to 13.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace assay::recorder::cupti {

using Result = int;  // CUptiResult
inline constexpr Result kSuccess = 0;
inline constexpr Result kMultipleSubscribers =
    39;  // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

inline constexpr std::uint32_t kDriverKind = 4;                // CUPTI_ACTIVITY_KIND_DRIVER
inline constexpr std::uint32_t kConcurrentKernelKind = 10;     // ..._CONCURRENT_KERNEL
inline constexpr std::uint32_t kExternalCorrelationKind = 39;  // ..._EXTERNAL_CORRELATION

// CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2; PyTorch's profiler uses CUSTOM0 and CUSTOM1.
inline constexpr std::uint32_t kOurCorrelation = 5;

// The common part of CUpti_ActivityKernel8 (CUDA 12.0), 9 (12.x) and 10 (13.0); each is longer.
struct KernelRecord {
  std::uint32_t kind;
  std::uint8_t unused_settings[12];
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t completed_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::int32_t grid[3];
  std::int32_t block[3];
  std::int32_t static_shared_bytes;
  std::int32_t dynamic_shared_bytes;
  std::uint32_t local_bytes_per_thread;
  std::uint32_t local_bytes;
  std::uint32_t correlation;
  std::int64_t grid_id;
  const char* name;
  void* reserved;
  std::uint64_t queued_ns;
  std::uint64_t submitted_ns;
  std::uint8_t unused_launch[8];
  std::uint64_t graph_node;
};

static_assert(offsetof(KernelRecord, start_ns) == 16 && offsetof(KernelRecord, device) == 40);
static_assert(offsetof(KernelRecord, correlation) == 92 && offsetof(KernelRecord, name) == 104);
static_assert(offsetof(KernelRecord, graph_node) == 144);

struct CorrelationRecord {  // CUpti_ActivityExternalCorrelation
  std::uint32_t kind;
  std::uint32_t external_kind;
  std::uint64_t external_id;
  std::uint32_t correlation;
  std::uint32_t reserved;
};

static_assert(sizeof(CorrelationRecord) == 24);

using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
using CompleteBuffer = void (*)(void* context,
                                std::uint32_t stream,
                                std::uint8_t* buffer,
                                std::size_t bytes,
                                std::size_t valid_bytes);

// A function that the library lacks is null.
struct Functions {
  Result (*register_callbacks)(RequestBuffer, CompleteBuffer) = nullptr;
  Result (*enable)(std::uint32_t kind) = nullptr;
  Result (*disable)(std::uint32_t kind) = nullptr;
  Result (*next_record)(std::uint8_t* buffer,
                        std::size_t valid_bytes,
                        std::uint32_t** record) = nullptr;
  Result (*dropped_records)(void* context, std::uint32_t stream, std::size_t* count) = nullptr;
  Result (*flush_all)(std::uint32_t flags) = nullptr;
  Result (*push_correlation)(std::uint32_t kind, std::uint64_t id) = nullptr;
  Result (*pop_correlation)(std::uint32_t kind, std::uint64_t* id) = nullptr;
  Result (*timestamp)(std::uint64_t* now_ns) = nullptr;
  Result (*result_text)(Result, const char** text) = nullptr;
};

// Finds and opens CUPTI while the program runs. `wanted` is a file, or "" for the CUPTI that the
// process has loaded, else the one that belongs to its CUDA runtime, else the system's. Returns
// false and a reason on failure. The library stays loaded.
bool open(const std::string& wanted, Functions& functions, std::string& reason);

}  // namespace assay::recorder::cupti
