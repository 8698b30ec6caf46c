// What the worker of `bench --nccl-sweep` asks of libassay_nccl_tuner.so, which NCCL has loaded
// into the same process. Users of the plugin need none of it.
#pragma once

#include <cstdint>

namespace assay::allreduce {

enum class TunerMode : int {
  kFile = 0,      // answer from the file; so it starts
  kNcclsOwn = 1,  // leave everything to NCCL
  kForce = 2,     // answer every call with one setting
};

struct TunerOrder {
  TunerMode mode = TunerMode::kFile;
  int algorithm = 0;  // these three are for kForce
  int protocol = 0;
  int channels = -1;   // -1: NCCL chooses
  bool watch = false;  // have NCCL's profiler interface tell what runs, which costs some time
};

// What happened since the last order.
struct TunerSeen {
  std::uint64_t asked = 0;     // calls that NCCL asked about
  std::uint64_t answered = 0;  // those that got a setting
  std::uint64_t ignored = 0;   // those for which NCCL cannot use the setting
  std::uint64_t ran = 0;       // collectives that NCCL told of
  bool alike = true;           // all of them ran with what follows
  char algorithm[16] = {};     // "RING"
  char protocol[16] = {};      // "LL128"
  int channels = 0;
};

// Give orders only while no call of NCCL is under way in this process.
using GiveTunerOrder = void (*)(const TunerOrder* order);
using ReadTunerSeen = void (*)(TunerSeen* seen);
inline constexpr const char* kGiveTunerOrder = "assay_nccl_tuner_order";
inline constexpr const char* kReadTunerSeen = "assay_nccl_tuner_seen";

}  // namespace assay::allreduce
