// NCCL's tuner plugin interface, versions 4 (NCCL 2.24) and 5 (2.28), and the part of its profiler
// plugin interface that tells what a collective ran with. They are declared here so that no NCCL is
// needed to build. Names and layouts are those of the documented interfaces; a symbol with a
// version in its name never changes its layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::allreduce::nccl {

using Result = int;                    // ncclResult_t
inline constexpr Result kSuccess = 0;  // ncclSuccess

using Logger =
    void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kLogFlags = 0x41;  // NCCL_INIT and NCCL_TUNING

// The cost of a combination that NCCL cannot use for a call. All others are at least 0.
inline constexpr float kIgnored = -1.0F;

// The table is numAlgo rows of numProto floats, whatever the pointer's type says.
using GetCollInfo = Result (*)(void* context,
                               int collective,
                               std::size_t bytes,
                               int operations,
                               float** costs,
                               int algorithms,
                               int protocols,
                               int registered,
                               int* channels);

struct TunerV4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  GetCollInfo get_coll_info;
  Result (*destroy)(void* context);
};

struct TunerV5 {
  const char* name;
  Result (*init)(void** context,
                 std::uint64_t id,
                 std::size_t ranks,
                 std::size_t nodes,
                 Logger logger,
                 void* nvlink_domains,
                 void* constants);
  GetCollInfo get_coll_info;
  Result (*finalize)(void* context);
};

inline constexpr int kCollEvent = 2;  // ncclProfileColl, a bit of the profiler's mask

struct CollEvent {
  std::uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* data_type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct EventV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  CollEvent coll;  // where `type` is kCollEvent
};

struct EventV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  CollEvent coll;
};

static_assert(offsetof(EventV5, coll) == 24 && offsetof(EventV4, coll) == 24);
static_assert(offsetof(CollEvent, algorithm) == 64);

template <class Event, class Init>
struct Profiler {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** handle, Event* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, void* arguments);
  Result (*finalize)(void* context);
};

using ProfilerInitV4 = Result (*)(void** context,
                                  int* events,
                                  const char* name,
                                  std::uint64_t id,
                                  int nodes,
                                  int ranks,
                                  int rank,
                                  Logger logger);
using ProfilerInitV5 = Result (*)(void** context,
                                  std::uint64_t id,
                                  int* events,
                                  const char* name,
                                  int nodes,
                                  int ranks,
                                  int rank,
                                  Logger logger);
using ProfilerV4 = Profiler<EventV4, ProfilerInitV4>;
using ProfilerV5 = Profiler<EventV5, ProfilerInitV5>;

}  // namespace assay::allreduce::nccl
