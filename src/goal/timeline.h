// When a GPU's launches start: what each waits for and how long after it, and which CPUs of the
// schedule it runs on.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/resolve.h"

namespace assay::goal {

// Whether streams that never overlap on any GPU become one chain.
enum class Streams { kApart, kMergedWhenDisjoint };

// What a launch follows, besides the one before it in its stream.
enum class StreamOrder {
  // The last launch of any stream that had ended when it started. Programs wait for one stream
  // with another, so a schedule in which operations take longer than recorded delays all.
  kObserved,
  // Nothing: streams know nothing of each other, as in the public generator.
  kIndependent,
};

struct TimedLaunch {
  Launch launch;
  std::uint64_t gap_ns = 0;          // after the last of those that it follows, or the job's start
  std::vector<std::uint32_t> after;  // indices into GpuTimeline::launches, lower than its own
  unsigned first_cpu = 0;            // of its channels
  unsigned message_cpu = 0;
};

struct GpuTimeline {
  std::vector<TimedLaunch> launches;  // by start
  // From the end of the last launch to the end of the recording; follows all streams.
  std::uint64_t tail_ns = 0;
  std::vector<std::uint32_t> last;  // launches that no other one follows
  unsigned num_cpus = 0;
};

// True when on every GPU no launch begins before those of other streams have ended.
bool never_overlap(const Resolved& resolved);

// `start_ns` is the job's start in the GPU's clock. Each stream has a CPU for each channel and one
// for messages, as NCCL has a proxy thread for them: on the CPU of a channel, a message that waits
// for a NIC would find the next slice's work before it. A launch that began before the one before
// it in its stream had ended is counted in `warnings`.
GpuTimeline make_timeline(const Resolved& resolved,
                          std::uint32_t gpu,
                          bool merged,
                          StreamOrder order,
                          std::int64_t start_ns,
                          model::Warnings& warnings);

}  // namespace assay::goal
