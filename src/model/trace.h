// One rank's PyTorch profiler (Kineto) trace: its events as plain records with interned texts and
// integer nanoseconds. Times are on the file's own clock (Kineto subtracts baseTimeNanoseconds, a
// constant shared by the ranks of a run).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/string_pool.h"
#include "model/warnings.h"

namespace assay::model {

// Far above the ranks of any run; a larger number is not a rank.
constexpr int kHighestRank = 1 << 24;

// A row of the trace viewer: process and thread as the file spells them (they may be text).
struct Track {
  TextId process = 0;
  TextId thread = 0;
};

using TrackId = std::uint32_t;

// A dispatcher operator (category cpu_op). The argument texts are the JSON arrays of the file;
// id 0 when the file has none.
struct CpuOp {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t sequence = -1;  // autograd sequence number; -1 when absent
  TextId name = 0;
  TrackId track = 0;
  std::uint32_t uid = 0;  // position in traceEvents
  TextId input_dims = 0;
  TextId input_types = 0;
  TextId input_strides = 0;
  TextId concrete_inputs = 0;
  // Of TorchScript: "TOP(Net)::forward.fc1(Linear)::forward", and "a.py(3): f;b.py(9): g", the
  // innermost function first.
  TextId module_hierarchy = 0;
  TextId call_stack = 0;
};

// A CUDA or HIP runtime or driver call (categories cuda_runtime, cuda_driver).
struct RuntimeCall {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t correlation = -1;
  std::int64_t external_id = -1;
  TextId name = 0;
  TrackId track = 0;
  std::uint32_t uid = 0;
};

enum class GpuEventKind : std::uint8_t { kKernel, kMemcpy, kMemset };

// Work on the GPU (categories kernel, gpu_memcpy, gpu_memset).
struct GpuEvent {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t correlation = -1;
  std::int64_t external_id = -1;
  TextId name = 0;
  TrackId track = 0;
  std::uint32_t uid = 0;
  std::int32_t device = -1;
  std::int32_t stream = -1;
  std::int32_t collective = -1;             // index into Trace::collectives; -1 without metadata
  std::array<std::uint32_t, 3> grid = {};   // thread blocks; zeros when absent
  std::array<std::uint32_t, 3> block = {};  // threads per block; zeros when absent
  GpuEventKind kind = GpuEventKind::kKernel;
};

// What PyTorch records about a collective on its kernel. Texts are as in the file ("[0, 1]"). A
// missing text has id 0; a missing number is -1.
struct CollectiveArgs {
  TextId name = 0;   // "_allgather_base", "allreduce", …
  TextId dtype = 0;  // "BFloat16", "Float", …
  TextId group_name = 0;
  TextId group_description = 0;
  TextId group_ranks = 0;
  TextId in_split = 0;
  TextId out_split = 0;
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int32_t group_size = -1;
  std::int32_t peer_rank = -1;  // of a send or a receive: the rank at the other end, in the job
};

// A named range (user_annotation on the CPU, gpu_user_annotation on the GPU).
struct Annotation {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  TextId name = 0;
  TrackId track = 0;
  std::uint32_t uid = 0;
  bool on_gpu = false;
};

// A call of a Python function, in traces with call stacks.
struct PythonCall {
  enum class Kind : std::uint8_t {
    kModule,     // of an nn.Module; the name is the module's class and number: "Linear_3"
    kRecompute,  // of the function that computes a checkpointed forward pass again
    kFunction,   // of any other function: "train.py(12): step"
  };

  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  TextId name = 0;
  TrackId track = 0;
  Kind kind = Kind::kModule;
};

// One end of an arrow that the profiler draws from a launching call to its GPU work.
struct LaunchFlow {
  enum class End : std::uint8_t { kStart, kFinish };

  std::int64_t id = -1;  // the correlation id
  TrackId track = 0;
  End end = End::kStart;
};

// A stream waits for what another one had been given when an event was recorded on it (category
// cuda_sync, which PyTorch writes when it is asked to).
struct StreamWait {
  std::int64_t correlation = -1;         // of the call that makes the stream wait
  std::int64_t record_correlation = -1;  // of the call that recorded the event
  std::int32_t stream = -1;
  std::int32_t other_stream = -1;
};

struct Trace {
  std::string path;
  std::uint64_t text_bytes = 0;   // size of the JSON text
  std::uint64_t event_count = 0;  // all entries of traceEvents, kept or not
  bool truncated = false;
  std::string damage = {};  // why the file is not whole, where that was looked for; "" for nothing

  std::optional<int> rank;        // distributedInfo.rank
  std::optional<int> world_size;  // distributedInfo.world_size
  int device_count = 0;           // entries of deviceProperties
  std::string gpu_name;           // name of the first device
  // How often each Rank occurs in record_param_comms, counting only the largest group named there,
  // because a rank is numbered within its group.
  std::map<int, std::int64_t> recorded_ranks = {};
  std::int64_t recorded_group_size = 0;  // size of that group; 0 when none is named

  StringPool texts;
  std::vector<Track> tracks;
  std::map<TextId, TextId> process_names = {};   // process → process_name metadata
  std::map<TextId, TextId> process_labels = {};  // process → process_labels metadata
  std::map<TrackId, TextId> thread_names = {};

  std::vector<CpuOp> cpu_ops;
  std::vector<RuntimeCall> runtime_calls;
  std::vector<GpuEvent> gpu_events;
  std::vector<CollectiveArgs> collectives;
  std::vector<Annotation> annotations;
  std::vector<StreamWait> stream_waits = {};
  std::vector<PythonCall> python_calls;  // kFunction only where it was asked for
  std::optional<std::vector<LaunchFlow>> launch_flows = std::nullopt;  // std::nullopt: not read
  Warnings warnings;

  [[nodiscard]] std::string_view text(TextId id) const { return texts.view(id); }
};

}  // namespace assay::model
