// The file that each process with libassay_recorder.so writes: its layout in memory and on disk
// (little endian, natural alignment).
//
//   block 0        the header
//   blocks 1 ...   records, one after another; a zero byte in place of a record ends the block
//
// Several threads write, each into its own block, and what has changed is saved five times a
// second, so that a killed process loses at most what it did since. A record never crosses a block,
// and its first word is written last. Its number is its place in the file in units of 8 bytes;
// records refer to each other by it, with 0 for none. Nothing is closed or finished at the end: all
// complete records count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::model::recording {

inline constexpr std::array<char, 8> kMagic = {'A', 's', 's', 'a', 'y', 'R', 'e', 'c'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kBlockBytes = 16 * 1024;
inline constexpr const char* kFileSuffix = ".rec";

// Bits of NCCL's event mask, from ncclProfileGroup on.
enum EventBit : std::uint32_t {
  kGroupBit = 1,
  kCollBit = 2,
  kP2pBit = 4,
  kProxyOpBit = 8,
  kProxyStepBit = 16,
  kKernelChannelBit = 64,
  kGroupApiBit = 256,
  kCollApiBit = 512,
  kP2pApiBit = 1024,
  kKernelLaunchBit = 2048,
};

inline constexpr std::uint32_t kDefaultEvents =
    kGroupBit | kCollBit | kP2pBit | kGroupApiBit | kCollApiBit | kP2pApiBit | kKernelLaunchBit;

// The times of kernels: nobody's; records of CUPTI; NCCL's timers in records of channels.
enum KernelTimer : std::uint32_t { kNoTimer = 0, kCuptiTimer = 1, kNcclTimer = 2 };

// Texts end with a zero byte.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t block_bytes = kBlockBytes;
  std::int64_t start_ns = 0;  // CLOCK_REALTIME, like all times except those of kernels
  std::int32_t process_id = 0;
  std::int32_t nccl_version = 0;       // 22809 means 2.28.9; 0 if unknown
  std::uint32_t plugin_interface = 0;  // 4 or 5
  std::uint32_t events = 0;            // the mask that was requested from NCCL
  std::array<char, 64> host = {};
  std::array<char, 64> node = {};  // NCCL_HOSTID where it is set: the node as NCCL sees it
  std::array<char, 40> boot = {};  // the kernel's boot id; processes with equal ones share a clock
  // The fields from here on are updated while recording.
  std::uint32_t kernel_times = 0;     // whose are the times of kernels: KernelTimer
  std::uint32_t stopped = 0;          // 1: ended normally, 2: reached the size limit
  std::uint64_t nccl_kernels = 0;     // number seen, recorded or not
  std::uint64_t other_kernels = 0;    // number seen; these are not recorded
  std::uint64_t dropped_kernels = 0;  // number of kernels whose records CUPTI lost
  // The blocks that the file has, this one included; 0 in files of versions that did not say.
  std::uint64_t saved_blocks = 0;
};

static_assert(sizeof(Header) == 248 && sizeof(Header) <= kBlockBytes);

enum class Kind : std::uint8_t {
  kEnd = 0,
  kText,
  kCommunicator,
  kCommunicatorEnd,
  kClock,
  kNote,
  kGroupApi = 16,
  kCollApi,
  kP2pApi,
  kKernelLaunch,
  kPlan,
  kColl,
  kP2p,
  kKernelChannel,
  kProxyOp,
  kProxyStep,
  kKernel = 32,
  kCorrelation,
};

inline constexpr std::uint8_t kGraphFlag = 1;       // captured into, or run from, a CUDA graph
inline constexpr std::uint32_t kNotEnded = 0;       // `duration_ns` of an event without a stop
inline constexpr std::uint32_t kMaxDuration = ~0U;  // `duration_ns` of this or any longer time

struct Head {
  Kind kind = Kind::kEnd;
  std::uint8_t flags = 0;
  std::uint16_t size_bytes = 0;  // size of the whole record, a multiple of 8
  // The time from an event's start to its stop, at least 1; other kinds use it differently.
  std::uint32_t duration_ns = 0;
};

// A string that other records mention by `id`; the characters follow, padded with zeros.
struct Text {
  Head head;
  std::uint32_t id = 0;
  std::uint32_t length = 0;
};

// A deviation from the request, in words; the characters follow.
struct Note {
  Head head;
  std::int64_t time_ns = 0;
  std::uint32_t length = 0;
  std::uint32_t reserved = 0;
};

struct Communicator {
  Head head;
  std::int64_t time_ns = 0;
  std::uint64_t id = 0;  // the same in all of its processes
  std::uint32_t name = 0;
  std::int32_t rank = 0;
  std::int32_t num_ranks = 0;
  std::int32_t num_nodes = 0;
  std::int32_t device = -1;  // CUDA's number of the device; -1 if unknown
  std::uint32_t reserved = 0;
};

struct CommunicatorEnd {
  Head head;
  std::int64_t time_ns = 0;
  std::uint32_t communicator = 0;
  std::uint32_t reserved = 0;
};

// The same moment on both clocks.
struct Clock {
  Head head;
  std::int64_t time_ns = 0;
  std::uint64_t cupti_ns = 0;
};

// The common first part of all events.
struct Event {
  Head head;
  std::int64_t start_ns = 0;
  std::uint32_t communicator = 0;
  std::uint32_t parent = 0;
};

struct GroupApi {
  Event event;
  std::int32_t depth = 0;
  std::uint32_t reserved = 0;
};

struct CollApi {
  Event event;  // parent: group api
  std::uint64_t count = 0;
  std::uint64_t stream = 0;
  std::int32_t root = -1;
  std::uint16_t function = 0;
  std::uint16_t data_type = 0;
};

struct P2pApi {
  Event event;  // parent: group api
  std::uint64_t count = 0;
  std::uint64_t stream = 0;
  std::uint16_t function = 0;
  std::uint16_t data_type = 0;
  std::uint32_t reserved = 0;
};

// The number of this record is the external id that CUPTI links to the kernel.
struct KernelLaunch {
  Event event;  // parent: group api
  std::uint64_t stream = 0;
};

// NCCL's "group" event: operations that one kernel runs.
struct Plan {
  Event event;  // parent: the launch just before it on the same thread
};

struct Coll {
  Event event;  // parent: its api call
  std::uint32_t plan = 0;
  std::int32_t root = -1;
  std::uint64_t sequence = 0;  // sequence number of this function in the communicator
  std::uint64_t count = 0;
  std::uint64_t send_buffer = 0;
  std::uint64_t receive_buffer = 0;
  std::uint16_t function = 0;
  std::uint16_t data_type = 0;
  std::uint16_t algorithm = 0;
  std::uint16_t protocol = 0;
  std::uint8_t channels = 0;
  std::uint8_t warps = 0;
  std::array<std::uint8_t, 6> reserved = {};
};

struct P2p {
  Event event;  // parent: its api call
  std::uint32_t plan = 0;
  std::int32_t peer = -1;
  std::uint64_t count = 0;
  std::uint64_t buffer = 0;
  std::uint16_t function = 0;
  std::uint16_t data_type = 0;
  std::uint8_t channels = 0;
  std::array<std::uint8_t, 3> reserved = {};
};

struct KernelChannel {
  Event event;  // parent: an operation
  std::uint64_t start_timer =
      0;  // GPU globaltimer; NCCL 2.28 gives some channels those of other kernels
  std::uint64_t end_timer = 0;
  std::uint32_t channel = 0;
  std::uint32_t reserved = 0;
};

struct ProxyOp {
  Event event;  // parent: an operation, if it belongs to this process
  std::int32_t process_id = 0;
  std::int32_t peer = -1;
  std::int32_t steps = 0;
  std::int32_t chunk_bytes = 0;
  std::uint8_t channel = 0;
  std::uint8_t is_send = 0;
  std::array<std::uint8_t, 6> reserved = {};
};

inline constexpr std::size_t kProxyStates = 6;

// The states are in the order of kProxyStepStates, in nanoseconds since start_ns; 0 if never
// reached.
struct ProxyStep {
  Event event;  // parent: a proxy op
  std::int32_t step = 0;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint32_t, kProxyStates> state_ns = {};
};

// ProxyStep::state_ns[i] belongs to NCCL's event state kProxyStepStates[i]: SendGPUWait, SendWait,
// RecvWait, RecvFlushWait, RecvGPUWait, SendPeerWait.
inline constexpr std::array<int, kProxyStates> kProxyStepStates = {8, 9, 10, 11, 12, 20};

// A kernel of NCCL, with times of CUPTI's clock.
struct Kernel {
  Head head;  // duration_ns: the correlation id
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t name = 0;
  std::uint32_t stream = 0;  // CUPTI's number of the stream
  std::int32_t grid = 0;     // number of blocks: one per channel
  std::int32_t device = -1;
  // CUPTI's number of the node of a CUDA graph that ran it, the same in every run; 0 for none.
  // Recordings of before 26 November 2026 lack it.
  std::uint64_t graph_node = 0;
};

// Links a launch to a driver call that CUPTI saw between its start and stop.
struct Correlation {
  Head head;  // duration_ns: the correlation id
  std::uint32_t launch = 0;
  std::uint32_t reserved = 0;
};

static_assert(sizeof(Head) == 8 && sizeof(Text) == 16 && sizeof(Note) == 24);
static_assert(sizeof(Communicator) == 48 && sizeof(CommunicatorEnd) == 24 && sizeof(Clock) == 24);
static_assert(sizeof(Event) == 24 && sizeof(GroupApi) == 32 && sizeof(CollApi) == 48);
static_assert(sizeof(P2pApi) == 48 && sizeof(KernelLaunch) == 32 && sizeof(Plan) == 24);
static_assert(sizeof(Coll) == 80 && sizeof(P2p) == 56 && sizeof(KernelChannel) == 48);
static_assert(sizeof(ProxyOp) == 48 && sizeof(ProxyStep) == 64);
static_assert(sizeof(Kernel) == 48 && sizeof(Correlation) == 16);

}  // namespace assay::model::recording
