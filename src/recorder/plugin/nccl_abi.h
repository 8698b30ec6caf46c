// NCCL's profiler plugin interface. It is declared here so that no NCCL is needed to build. Names
// and layouts are those of the documented interface, version 4 (NCCL 2.27) and version 5 (2.28); a
// symbol with a version in its name never changes its layout.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace assay::recorder::nccl {

using Result = int;                     // ncclResult_t
inline constexpr Result kSuccess = 0;   // ncclSuccess
inline constexpr int kKernelStop = 22;  // ncclProfilerKernelChStop

using Logger =
    void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

struct ProxyOp {
  pid_t process_id;
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct KernelChannel {
  std::uint8_t channel;
  std::uint64_t timer;
};

struct Coll {
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
  void* plan;  // version 5 only; version 4 has it as the event's parent
};

struct P2p {
  const char* function;
  void* buffer;
  const char* data_type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* plan;  // version 5 only
};

struct GroupApi {
  int graph_captured;
  int depth;
};

struct CollApi {
  const char* function;
  std::size_t count;
  const char* data_type;
  int root;
  void* stream;
  bool graph_captured;
};

struct P2pApi {
  const char* function;
  std::size_t count;
  const char* data_type;
  void* stream;
  bool graph_captured;
};

// The valid member depends on `type`, which is one of model::recording::EventBit.
union Details {
  GroupApi group_api;
  CollApi coll_api;
  P2pApi p2p_api;
  void* launch_stream;
  Coll coll;
  P2p p2p;
  ProxyOp proxy_op;
  int proxy_step;
  KernelChannel kernel_channel;
};

struct DescriptorV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  Details details;
};

// Version 4 lacks the calls of the API and both `plan` members, which are the last of theirs.
struct DescriptorV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  Details details;
};

static_assert(offsetof(DescriptorV5, details) == 24 && offsetof(DescriptorV4, details) == 24);
static_assert(offsetof(Coll, algorithm) == 64 && offsetof(Coll, plan) == 80);
static_assert(offsetof(P2p, peer) == 32 && offsetof(P2p, plan) == 40);

union StateArguments {
  std::size_t transferred_bytes;  // for a proxy step
  std::uint64_t timer;            // for a channel of a kernel
};

template <class Descriptor, class Init>
struct Plugin {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** event, Descriptor* descriptor);
  Result (*stop_event)(void* event);
  Result (*record_event_state)(void* event, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

using InitV4 = Result (*)(void** context,
                          int* events,
                          const char* name,
                          std::uint64_t id,
                          int num_nodes,
                          int num_ranks,
                          int rank,
                          Logger logger);
using InitV5 = Result (*)(void** context,
                          std::uint64_t id,
                          int* events,
                          const char* name,
                          int num_nodes,
                          int num_ranks,
                          int rank,
                          Logger logger);
using PluginV4 = Plugin<DescriptorV4, InitV4>;
using PluginV5 = Plugin<DescriptorV5, InitV5>;

}  // namespace assay::recorder::nccl
