// Reads the recordings of libassay_recorder.so, one file per process. The records of a process are
// sorted by kind; its kernels are matched with its plans; then each of its GPUs becomes a
// recording.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "goal/inputs/join_processes.h"
#include "model/job.h"
#include "model/recording_file.h"
#include "model/warnings.h"

namespace assay::goal {

template <class Record>
struct Numbered {
  std::uint32_t number = 0;
  Record record;
};

// Sorted by number.
template <class Record>
using Records = std::vector<Numbered<Record>>;

template <class Record>
const Numbered<Record>* find_record(const Records<Record>& records, std::uint32_t number) {
  const auto found =
      std::lower_bound(records.begin(), records.end(), number,
                       [](const auto& entry, std::uint32_t n) { return entry.number < n; });
  return found != records.end() && found->number == number ? &*found : nullptr;
}

struct RecordedProcess {
  std::string file;
  model::recording::Header header;
  std::map<std::uint32_t, std::string> texts;
  std::vector<std::string> notes;
  Records<model::recording::Communicator> communicators;
  Records<model::recording::CollApi> coll_apis;
  Records<model::recording::P2pApi> p2p_apis;
  Records<model::recording::KernelLaunch> launches;
  Records<model::recording::Plan> plans;
  Records<model::recording::Coll> colls;
  Records<model::recording::P2p> p2ps;
  Records<model::recording::Kernel> kernels;
  Records<model::recording::Correlation> correlations;
  Records<model::recording::KernelChannel> kernel_channels;
  std::vector<model::recording::Clock> clocks;  // of CUPTI, or of the GPU's global timer
  std::uint64_t damaged_blocks = 0;
  std::string cut;  // what is left of a file whose end is missing; else empty

  [[nodiscard]] const std::string& text(std::uint32_t id) const;

  // Converts a time of the clock of kernels to CLOCK_REALTIME.
  [[nodiscard]] std::int64_t realtime_ns(std::uint64_t cupti_ns) const;

  // Returns the time of the last event that was recorded.
  [[nodiscard]] std::int64_t end_ns() const;
};

RecordedProcess sort_records(const model::recording::File& file, const std::string& name);

struct KernelRun {
  std::int64_t start_ns = 0;  // CLOCK_REALTIME
  std::int64_t end_ns = 0;
  std::uint32_t stream = 0;  // CUPTI's number
  std::int32_t device = -1;
};

struct PlanRun {
  std::uint32_t number = 0;  // number of the plan's record; 0 for operations outside of any plan
  std::uint32_t communicator = 0;
  const model::recording::KernelLaunch* launch = nullptr;
  const KernelRun* kernel = nullptr;
  std::int64_t call_ns = 0;  // time of the launch or, if that is unknown, of the enqueuing
  bool in_graph = false;     // a CUDA graph runs it
  // It was reported when it was captured, and ran once for each replay that names it. NCCL reports
  // plans that need its proxy anew whenever their graph runs; those ran once each.
  bool captured = false;
};

// A kernel that a CUDA graph ran, and the captured plan that it carried out.
struct Replay {
  std::uint32_t plan = 0;
  const KernelRun* kernel = nullptr;
};

// What became of the kernels that CUDA graphs ran.
struct GraphMatch {
  std::vector<Replay> replays;  // in the order of the kernels' starts
  // Plans that NCCL reported when their graph ran, and their kernels.
  std::vector<Replay> reported;
  std::vector<std::size_t> tied;  // kernels of either, by their place in the recording
  std::uint64_t untied = 0;       // kernels that fit no captured plan
  std::uint64_t ambiguous = 0;    // graphs that fit plans at several places; the first was taken
};

struct KernelMatch {
  std::vector<KernelRun> kernels;  // kernels of NCCL, in the order of the file
  std::vector<PlanRun> plans;      // by number
  // Number of plans that found their kernel by a launch, or by NCCL's timers.
  std::uint64_t by_correlation = 0;
  std::uint64_t by_order = 0;
  std::uint64_t unused_kernels = 0;  // kernels outside of graphs that no plan claimed
  GraphMatch graphs;

  [[nodiscard]] const PlanRun* find(std::uint32_t plan) const;
};

// Finds the kernel of each plan by the launch that encloses it. Plans without such a launch, among
// them all of NCCL 2.27, find it by the order in which plans were made and kernels launched.
KernelMatch match_kernels(const RecordedProcess& process);

// The clock of NCCL's timers beside CLOCK_REALTIME, about once a second: where NCCL's thread saw a
// channel start soonest after it did.
std::vector<model::recording::Clock> clocks_of(
    const Records<model::recording::KernelChannel>& channels);

// The kernels of plans as NCCL's timers of their channels tell them, from the first channel's start
// to the last one's end. The plans point to them.
std::vector<KernelRun> kernels_of_channels(const RecordedProcess& process,
                                           std::vector<PlanRun>& plans);

// Finds the plans whose calls say that they were captured into a CUDA graph.
void find_captured(const RecordedProcess& process, std::vector<PlanRun>& plans);

// Ties the kernels that CUDA graphs ran to captured plans. The kernels of one run have one
// correlation id. Captured plans stand in the order of their capture, and so do the nodes of a
// graph: a graph is the run of plans whose functions and channels are those of its kernels, and
// graphs follow one another like their first nodes.
GraphMatch match_graphs(const RecordedProcess& process, const KernelMatch& kernels);

// Returns the function of a kernel: AllReduce for "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
// SendRecv for "ncclDevKernel_SendRecv", which runs Send and Recv, and "" where the name does not
// say.
std::string_view function_of_kernel(std::string_view name);

// Returns one recording for each GPU that the process used.
std::vector<ProcessRecording> recordings_of(const RecordedProcess& process);

}  // namespace assay::goal
