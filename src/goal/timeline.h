// When a GPU's launches start: what each waits for and how long after it, and which CPUs of the
// schedule it runs on.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/resolve.h"

namespace assay::goal {

// What a launch follows, besides the one before it in its stream.
enum class StreamOrder {
  // The last launch of any stream that had ended when it started. Programs wait for one stream
  // with another, so a schedule in which operations take longer than recorded delays all.
  kObserved,
  // Nothing: streams know nothing of each other, as in the public generator.
  kIndependent,
};

// What is decided about streams once for all GPUs.
struct StreamPlan {
  bool merged = false;  // one chain for all streams of a GPU
  StreamOrder order = StreamOrder::kObserved;
  // By GPU, launch in order of start: those that follow their own stream only. Those it does not
  // reach are ordered.
  std::vector<std::vector<bool>> unordered = {};
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

// `start_ns` is the job's start in the GPU's clock. Each stream has a CPU for each channel and one
// for messages, as NCCL has a proxy thread for them: on the CPU of a channel, a message that waits
// for a NIC would find the next slice's work before it. A launch that began before the one before
// it in its stream had ended is counted in `warnings`.
GpuTimeline make_timeline(const Resolved& resolved,
                          std::uint32_t gpu,
                          const StreamPlan& plan,
                          std::int64_t start_ns,
                          model::Warnings& warnings);

}  // namespace assay::goal
