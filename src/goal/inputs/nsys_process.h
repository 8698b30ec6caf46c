// Gathers one process of an nsys report: its NVTX texts, in the order of their start on each
// thread, become operations that are grouped into plans.
//
// A plan is the work of one communicator in one group; NCCL launches a kernel for it. A call
// outside of a group is a group of its own. The marks that describe a plan come when the group
// ends, after all of its calls, and NCCL orders the collectives of a group by size. Therefore marks
// are assigned to the calls of the group by function, size and peer.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "goal/inputs/nsys_text.h"
#include "model/job.h"

namespace assay::goal {

// A set of functions: bit n is function n. A kernel is named after a function; a generic kernel has
// all bits.
using FunctionSet = std::uint16_t;
FunctionSet kernel_functions(model::NcclFunction function);

struct NsysCommunicator {
  std::uint64_t hash = 0;
  std::uint64_t id = 0;
  std::int32_t rank = -1;
  std::uint32_t num_ranks = 0;
  std::vector<model::ChannelLinks> channels = {};
};

// Facts about an operation that model::Operation does not hold.
struct NsysCall {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t count = 0;    // elements according to the mark of its plan
  std::uint64_t covered = 0;  // the sum of its parts: elements, or bytes of sends and receives
  std::uint64_t send_buffer = 0;
  std::uint64_t receive_buffer = 0;
  bool planned = false;  // a mark has told algorithm and protocol
};

struct NsysPart {
  std::uint32_t operation = 0;
  std::uint64_t work_offset = 0;
  model::ChannelPart part = {};
};

struct NsysGroup {
  std::uint32_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// The way in which the kernel of a plan was found; earlier ways are more trustworthy.
enum class FoundBy : std::uint8_t { kNothing, kCorrelation, kOrder, kTime };

struct NsysPlan {
  std::uint32_t group = 0;
  std::uint32_t communicator = 0;
  std::uint32_t stream = 0;
  FunctionSet functions = 0;
  FoundBy found_by = FoundBy::kNothing;
  std::int64_t call_ns = 0;  // start of the first call
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct NsysKernel {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t stream = 0;
  std::int64_t launch_ns = 0;  // start of the runtime call that launched it
  std::uint32_t launch_thread = 0;
  std::uint32_t correlation = 0;  // 0: not told
  std::int32_t device = -1;
  FunctionSet functions = 0;
  bool launch_known = false;
  bool used = false;
};

// Counts of faults that were mended. The reader of the file turns them into warnings.
struct NsysOddities {
  std::int64_t marks_without_call = 0;
  std::int64_t parts_without_call = 0;
  std::int64_t repeated_communicators = 0;
  std::int64_t group_ends_without_start = 0;
};

class NsysProcess {
 public:
  explicit NsysProcess(std::int64_t process_id) : process_id_(process_id) {}

  // The texts of one thread must come in the order of their start.
  void add(const NvtxText& text, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t thread);

  [[nodiscard]] std::int64_t process_id() const { return process_id_; }

  // Sorted in the order of the calls.
  std::vector<model::Operation> operations;
  std::vector<NsysCall> calls;  // parallel to operations
  std::vector<NsysPart> parts;
  std::vector<NsysGroup> groups;
  std::vector<NsysPlan> plans;  // Operation::group indexes them
  std::vector<NsysKernel> kernels;
  std::vector<NsysCommunicator> communicators;
  std::vector<std::uint64_t> streams;
  // The profiler's number of the process; -1 when it is the process id.
  std::int64_t system_process_id = -1;
  std::int64_t window_start_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t window_stop_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  NsysOddities oddities;
  // Describes two ranks of one communicator in this process, which then drives several GPUs.
  std::string several_gpus;

 private:
  struct Thread {
    std::uint32_t depth = 0;
    bool group_open = false;  // the last group of this thread still takes calls and marks
    std::uint32_t group = 0;
    std::vector<std::uint32_t> operations = {};  // operations of the group
    std::vector<std::uint32_t> plans = {};
    std::uint32_t marked = kNone;  // the operation that the last mark of a collective describes
  };

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  void start_group(Thread& thread, std::uint32_t id, std::int64_t start_ns);
  void end_group(Thread& thread, std::int64_t end_ns);
  void add_call(const NvtxText& text, std::int64_t start_ns, std::int64_t end_ns, Thread& thread);
  std::uint32_t plan_of(Thread& thread, const model::Operation& operation, std::int64_t call_ns);
  void add_collective(const NvtxText& text, Thread& thread);
  void add_collective_part(const NvtxText& text, Thread& thread);
  void add_point_to_point_part(const NvtxText& text, Thread& thread);
  void add_communicator(const NvtxText& text);
  void add_links(const NvtxText& text);
  void add_window(const NvtxText& text, std::int64_t at_ns);
  std::uint32_t find_unplanned(const NvtxText& text, const Thread& thread) const;
  std::uint32_t communicator_of(std::uint64_t hash);
  std::uint32_t stream_of(std::uint64_t handle);

  std::int64_t process_id_;
  std::unordered_map<std::uint32_t, Thread> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> communicator_of_;
  std::unordered_map<std::uint64_t, std::uint32_t> stream_of_;
  std::unordered_map<std::uint64_t, std::uint64_t> sequences_;  // by communicator, function, peer
};

// Sets start_ns, end_ns and found_by of the process's plans and `used` of its kernels. Three ways
// are tried, each on what the one before left over:
//  1. the runtime call that launched the kernel lies inside the plan's group on the same thread;
//  2. the plans of a stream and the kernels of a stream are the same sequence of functions;
//  3. the first kernel of a fitting function that starts after the call.
void match_kernels(NsysProcess& process);

}  // namespace assay::goal
