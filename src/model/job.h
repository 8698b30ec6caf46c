// The communication of a distributed job, whatever recorded or made it: the GPUs, the communicators
// with their rings and trees, and every NCCL operation of every GPU with the run time of its
// kernel.
//
// A recorded job tells computation by its absence: what an operation follows, and how much later,
// comes from the times. A made job (goal/synth) states both: see JobGpu::states_waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model/collective.h"
#include "model/warnings.h"

namespace assay::model {

// NCCL has no more channels in a communicator.
inline constexpr std::uint32_t kMostNcclChannels = 64;

inline constexpr std::uint32_t kNoGpu = std::numeric_limits<std::uint32_t>::max();

// The communicator of an operation that communicates nothing: a computation.
inline constexpr std::uint32_t kNoCommunicator = std::numeric_limits<std::uint32_t>::max();

// The neighbours of one rank in one channel, as ranks of the communicator; -1 for none.
struct ChannelLinks {
  std::int32_t ring_previous = -1;
  std::int32_t ring_next = -1;
  std::int32_t tree_up = -1;
  std::array<std::int32_t, 3> tree_down = {-1, -1, -1};
};

// The kind of parallelism that a communicator serves. The first three have the numbers of the
// public generator.
enum class Parallelism : std::uint8_t {
  kOther = 0,
  kPipeline = 1,
  kData = 2,
  kExpert = 3,
  kTensor = 4
};

struct Communicator {
  std::string name;                                 // "0x6cbe2a2b243598bd"
  std::vector<std::uint32_t> gpus = {};             // [rank]; index into Job::gpus, or kNoGpu
  std::vector<std::vector<ChannelLinks>> channels;  // [channel][rank]; empty when not recorded
  // It is known where a program made the job; recordings do not say it. A communicator of kData
  // grows with the replicas, of which the job may be one, so that it may have one rank here. Where
  // no communicator says kData, goal::scale() guesses.
  std::optional<Parallelism> parallelism = {};

  [[nodiscard]] bool spans_replicas() const { return parallelism == Parallelism::kData; }
};

// The part of an operation that one channel moves. Counts are elements of Operation::element_bytes;
// for sends and receives they are bytes.
struct ChannelPart {
  std::uint32_t channel = 0;
  std::uint64_t count = 0;             // elements of this channel (NCCL 2.20 logs it as workCount)
  std::uint64_t chunk_count = 0;       // elements that one step of the algorithm moves
  std::uint64_t last_chunk_count = 0;  // elements per step in the last, incomplete loop
};

// One call of NCCL on one GPU.
struct Operation {
  NcclFunction function = NcclFunction::kAllReduce;
  NcclAlgorithm algorithm = NcclAlgorithm::kNone;
  NcclProtocol protocol = NcclProtocol::kNone;
  bool in_place = false;
  std::uint32_t communicator = 0;  // index into Job::communicators, or kNoCommunicator
  std::uint32_t stream = 0;        // index into JobGpu::streams
  // Operations of a GPU with the same number were in one plan and start together.
  std::uint32_t group = 0;
  // The number, within the GPU, of the program's outermost ncclGroupStart() … ncclGroupEnd() around
  // the call; -1 for a call outside any group, or where the recording does not say.
  std::int32_t call_group = -1;
  std::int32_t root = -1;  // the root of Broadcast and Reduce, a rank of the communicator
  std::int32_t peer = -1;  // the peer of Send and Recv
  // The number of earlier operations with this function (and peer) in the communicator on this GPU.
  // Where a recording cannot know it, the first recorded operation has 0.
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;  // count x element size of the call: what one rank gives to AllGather,
                            // gets from ReduceScatter, sends or receives
  std::uint32_t element_bytes = 1;
  // NCCL's pipelining; 0 where a recording does not say (NCCL's rules then give it).
  std::uint32_t chunk_steps = 0;
  std::uint32_t slice_steps = 0;
  std::uint32_t step_bytes = 0;
  std::uint32_t num_channels = 0;  // 0 when neither this nor `parts` was recorded
  std::uint32_t first_part = 0;    // JobGpu::parts[first_part … +num_parts)
  std::uint32_t num_parts = 0;     // 0 if the channels share the work by NCCL's rules
  std::int64_t start_ns = 0;       // start of the kernel, in the clock of the GPU's node
  std::int64_t end_ns = 0;
  // Where JobGpu::states_waits: JobGpu::waits[first_wait … +num_waits), and the computation between
  // the last end of these (and of the operation before in its stream) and the start; of a
  // computation, its own time.
  std::uint32_t first_wait = 0;
  std::uint32_t num_waits = 0;
  std::uint64_t compute_ns = 0;
};

// One GPU of the job, identified by its process, since NCCL programs use one GPU in each process or
// thread.
struct JobGpu {
  std::string node;  // host name or number
  std::int64_t process_id = 0;
  std::int32_t device = -1;  // the process's number for it; -1 if unknown
  // Timestamps of two GPUs may be compared only when this number is the same.
  std::uint32_t clock = 0;
  std::int64_t window_start_ns = 0;  // start of the recorded time
  std::int64_t window_end_ns = 0;
  std::vector<std::string> streams = {};
  std::vector<Operation> operations = {};  // sorted by start; equal starts, and all where they
                                           // state their waits, in the order of calls
  std::vector<ChannelPart> parts = {};
  // Whether the job states what each operation waits for besides the one before it in its stream:
  // earlier operations of this GPU, by index. Otherwise their times tell.
  bool states_waits = false;
  std::vector<std::uint32_t> waits = {};
};

// The number of kernels that each kind of evidence ties to operations, the most reliable first. One
// may carry out several operations.
struct KernelMatches {
  std::uint64_t by_correlation = 0;  // the profiler linked the call and the kernel
  std::uint64_t by_order = 0;        // the n-th operation belongs to the n-th kernel of a stream
  std::uint64_t by_time = 0;         // the kernel is the one that started next
};

struct Job {
  std::vector<JobGpu> gpus = {};  // sorted: a GPU's index is its rank in the schedule
  std::vector<Communicator> communicators = {};
  std::string nccl_version;  // "2.28.9"; empty if unknown
  KernelMatches matches = {};
  Warnings warnings = {};
};

}  // namespace assay::model
