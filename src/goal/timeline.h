// Decides when the launches of a GPU start (what each waits for and how long after it), on which
// CPUs of the schedule they run, and which order among streams keeps a schedule that can end.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/resolve.h"

namespace assay::goal {

// The launches that a launch waits for in addition to the one before it in its stream, where the
// job does not state them (JobGpu::states_waits).
enum class StreamOrder {
  // It waits for the last launch of any stream that had ended when it started. Programs make one
  // stream wait for another, so an operation that takes longer than recorded delays all that
  // follow.
  kObserved,
  // It waits for nothing else: streams are independent, as in the public generator.
  kIndependent,
};

// The decisions about streams that hold for all GPUs.
struct StreamPlan {
  bool merged = false;  // one chain for all streams of a GPU
  StreamOrder order = StreamOrder::kObserved;
  // Indexed by GPU, then by launch in the order of start: true for launches that wait only for
  // their own stream. Launches beyond the end are false.
  std::vector<std::vector<bool>> unordered = {};
};

// The CPUs of a launch's channels. A send and a receive that NCCL has in one channel run in
// different warps.
struct ChannelCpus {
  unsigned first = 0;
  unsigned first_of_receives = 0;

  [[nodiscard]] unsigned of(model::NcclFunction function, std::uint32_t channel) const {
    const bool receives = function == model::NcclFunction::kRecv;
    return (receives ? first_of_receives : first) + channel;
  }
};

struct TimedLaunch {
  Launch launch;
  // After the last of the launches that it waits for, or after the job's start. Of a computation it
  // is all there is: no kernel of NCCL is launched.
  std::uint64_t gap_ns = 0;
  std::vector<std::uint32_t> after;  // indices into GpuTimeline::launches, lower than its own
  ChannelCpus cpus;
  unsigned message_cpu = 0;
};

struct GpuTimeline {
  std::vector<TimedLaunch> launches;  // sorted by start, or by operation as GpuCalls::launches
  // The time from the end of the last launch to the end of the recording, after all streams.
  std::uint64_t tail_ns = 0;
  std::vector<std::uint32_t> last;  // launches that no other one follows
  unsigned num_cpus = 0;
};

// `start_ns` is the job's start in the GPU's clock. Each stream has one CPU per channel, another
// for receives of pairs, and one for messages, because NCCL has proxy threads for them: on the CPU
// of a channel, a message that waits for a NIC would delay the work of the next slice. A launch
// that began before the end of the launch before it in its stream is counted in `warnings`.
GpuTimeline make_timeline(const Resolved& resolved,
                          std::uint32_t gpu,
                          const StreamPlan& plan,
                          std::int64_t start_ns,
                          model::Warnings& warnings);

// The treatment of streams that overlap on no GPU: separate chains or one chain.
enum class Streams { kApart, kMergedWhenDisjoint };

struct StreamOptions {
  Streams streams = Streams::kApart;
  StreamOrder order = StreamOrder::kObserved;
};

// NCCL's buffers let a send end before its receive starts. A schedule in which other launches wait
// for the end of that send may then wait in a circle over several GPUs. Streams are merged only
// when no circle arises. Otherwise, launches that would close a circle wait for their own stream
// only and are counted in `warnings`.
StreamPlan plan_streams(const Resolved& resolved,
                        const StreamOptions& options,
                        model::Warnings& warnings);

}  // namespace assay::goal
