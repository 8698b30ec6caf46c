// One rank of a job that calls the profiler plugin named by NCCL_PROFILER_PLUGIN, if it is set, as
// NCCL does. The
// order of events is that of NCCL 2.28 (of 2.27 with ASSAY_FAKE_NCCL=v4). The layouts are
// deliberately written down here a second time. Kernels go to the fake CUPTI that
// ASSAY_RECORDER_CUPTI names.
//
//   fake_nccl_job RANK RANKS STEPS [hang|fork|abort|opposite|late|talk|exit|starve|starved|graph]
//   fake_nccl_job bench CALLS
//
// A step is an AllReduce, three grouped AllGathers, a Send to the next rank and a Recv from the
// previous one in one group, a kernel that is not NCCL's and, on a second thread, a ReduceScatter
// in a second communicator. After the steps, the process ends, hangs, goes on in a forked child, or
// exits without handlers. Ranks do not wait for each other. With "opposite", the second thread runs
// before the first on odd ranks and after it on even ones. With "late", the second thread launches
// its first kernel before the first thread's kernels and reports it after them. With "talk", the
// process says "ready", goes on when its input ends, says "done" and ends with 7; with "exit" it
// ends without finalize(). With "graph", an AllReduce and three AllGathers are captured into a CUDA
// graph after the steps, which runs three times, and one more step follows. The job has no memory
// after the steps with "starve", and none from the beginning with "starved".
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {
std::atomic<bool> g_starved{false};
}

extern "C" void* __libc_malloc(std::size_t bytes);  // NOLINT: glibc's name

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc names it so.
extern "C" void* malloc(std::size_t __size) {
  if (!g_starved) return __libc_malloc(__size);
  errno = ENOMEM;
  return nullptr;
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);

struct CollPart {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};

struct P2pPart {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
};

struct CollPart5 {
  CollPart coll;
  void* parentGroup;
};

struct P2pPart5 {
  P2pPart p2p;
  void* parentGroup;
};

struct Descriptor5 {
  std::uint64_t type;
  void* parentObj;
  int rank;

  union {
    struct {
      int graphCaptured;
      int groupDepth;
    } groupApi;

    struct {
      const char* func;
      std::size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graphCaptured;
    } collApi;

    struct {
      const char* func;
      std::size_t count;
      const char* datatype;
      void* stream;
      bool graphCaptured;
    } p2pApi;

    struct {
      void* stream;
    } kernelLaunch;

    CollPart5 coll;
    P2pPart5 p2p;

    struct {
      std::uint8_t channelId;
      std::uint64_t pTimer;
    } kernelCh;
  };
};

struct Descriptor4 {
  std::uint8_t type;
  void* parentObj;
  int rank;

  union {
    CollPart coll;
    P2pPart p2p;
  };
};

struct Plugin5 {
  const char* name;
  int (*init)(void**, std::uint64_t, int*, const char*, int, int, int, Log);
  int (*startEvent)(void*, void**, Descriptor5*);
  int (*stopEvent)(void*);
  int (*recordEventState)(void*, int, void*);
  int (*finalize)(void*);
};

struct Plugin4 {
  const char* name;
  int (*init)(void**, int*, const char*, std::uint64_t, int, int, int, Log);
  int (*startEvent)(void*, void**, Descriptor4*);
  int (*stopEvent)(void*);
  int (*recordEventState)(void*, int, void*);
  int (*finalize)(void*);
};

enum : std::uint64_t {
  kGroup = 1,
  kColl = 2,
  kP2p = 4,
  kKernelCh = 64,
  kGroupApi = 256,
  kCollApi = 512,
  kP2pApi = 1024,
  kLaunch = 2048
};

Plugin5* g_v5 = nullptr;
Plugin4* g_v4 = nullptr;
void (*g_kernel)(const char*, std::uint32_t, std::uint64_t, std::uint64_t, int, std::uint64_t) =
    nullptr;
void (*g_exiting)() = nullptr;
std::uint64_t (*g_flushes)() = nullptr;
void (*g_graph_launch)() = nullptr;
bool g_capturing = false;

struct CapturedKernel {
  const char* name;
  int blocks;
};

std::vector<CapturedKernel>& captured_kernels() {
  static std::vector<CapturedKernel> the_kernels;
  return the_kernels;
}

std::atomic<bool> g_launched{false};
std::atomic<bool> g_hold{false};

void log(int, unsigned long, const char*, int, const char*, ...) {}

std::uint64_t cupti_now() {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return (static_cast<std::uint64_t>(time.tv_sec) - 1000) * kSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The GPU's timer, 500 s behind CLOCK_REALTIME.
std::uint64_t global_timer() {
  constexpr std::uint64_t kHalfThousandSeconds = 500'000'000'000;
  return cupti_now() + kHalfThousandSeconds;
}

class Communicator {
 public:
  Communicator(std::uint64_t id, int ranks, int rank, const char* name) : rank_(rank) {
    if (g_v5 != nullptr) {
      g_v5->init(&context_, id, &mask_, name, 1, ranks, rank, log);
    } else if (g_v4 != nullptr) {
      g_v4->init(&context_, &mask_, name, id, 1, ranks, rank, log);
    }
  }

  void finalize() {
    if (g_v5 != nullptr) g_v5->finalize(context_);
    if (g_v4 != nullptr) g_v4->finalize(context_);
  }

  Descriptor5 descriptor(std::uint64_t type, void* parent) const {
    Descriptor5 d = {};
    d.type = type;
    d.parentObj = parent;
    d.rank = rank_;
    return d;
  }

  // Calls a plugin of version 4 as NCCL does, without the events that version 4 lacks.
  void* start(Descriptor5& d) {
    void* handle = nullptr;
    if ((static_cast<std::uint64_t>(mask_) & d.type) == 0) return nullptr;
    if (g_v5 != nullptr) {
      g_v5->startEvent(context_, &handle, &d);
      return handle;
    }
    if (d.type > kP2p) return nullptr;
    Descriptor4 old = {};
    old.type = static_cast<std::uint8_t>(d.type);
    if (d.type == kColl) {
      old.coll = d.coll.coll;
      old.parentObj = d.coll.parentGroup;
    } else if (d.type == kP2p) {
      old.p2p = d.p2p.p2p;
      old.parentObj = d.p2p.parentGroup;
    }
    g_v4->startEvent(context_, &handle, &old);
    return handle;
  }

  static void stop(void* handle) {
    if (handle == nullptr) return;
    g_v5 != nullptr ? g_v5->stopEvent(handle) : g_v4->stopEvent(handle);
  }

  void* group_api() {
    Descriptor5 d = descriptor(kGroupApi, nullptr);
    d.groupApi.groupDepth = 1;
    d.groupApi.graphCaptured = g_capturing ? 1 : 0;
    return start(d);
  }

  void* coll_api(void* group, const char* func, std::size_t count, void* stream) {
    Descriptor5 d = descriptor(kCollApi, group);
    d.collApi = {func, count, "ncclFloat32", 0, stream, g_capturing};
    void* call = start(d);
    stop(call);
    return call;
  }

  void* p2p_api(void* group, const char* func, std::size_t count, void* stream) {
    Descriptor5 d = descriptor(kP2pApi, group);
    d.p2pApi = {func, count, "ncclFloat32", stream, g_capturing};
    void* call = start(d);
    stop(call);
    return call;
  }

  void launch(void* group, const char* kernel, void* stream, int blocks) {
    Descriptor5 d = descriptor(kLaunch, group);
    d.kernelLaunch.stream = stream;
    void* event = start(d);
    constexpr std::uint64_t kDelay = 5000;
    constexpr std::uint64_t kDuration = 20000;
    const std::uint64_t now = cupti_now();
    started_ = global_timer();
    if (g_capturing) {
      captured_kernels().push_back({kernel, blocks});
    } else if (g_kernel != nullptr)
      g_kernel(kernel, 7, now + kDelay, now + kDelay + kDuration, blocks, 0);
    stop(event);
  }

  void* plan() {
    Descriptor5 d = descriptor(kGroup, nullptr);
    return start(d);
  }

  void coll(void* call, void* plan, const CollPart& part) {
    Descriptor5 d = descriptor(kColl, call);
    d.coll = {part, plan};
    run(start(d), part.nChannels);
  }

  void p2p(void* call, void* plan, const P2pPart& part) {
    Descriptor5 d = descriptor(kP2p, call);
    d.p2p = {part, plan};
    run(start(d), part.nChannels);
  }

  [[nodiscard]] int rank() const { return rank_; }

 private:
  // Kernels end before the next one of their communicator is launched.
  void run(void* operation, int channels) {
    constexpr int kStop = 22;
    constexpr std::uint64_t kShortest = 300;
    stop(operation);
    if (operation == nullptr || g_v5 == nullptr || (mask_ & kKernelCh) == 0 || g_capturing) return;
    for (int channel = 0; channel < channels; ++channel) {
      Descriptor5 d = descriptor(kKernelCh, operation);
      d.kernelCh = {static_cast<std::uint8_t>(channel), started_};
      void* event = start(d);
      std::uint64_t end = started_ + kShortest + static_cast<std::uint64_t>(channel);
      if (event != nullptr) g_v5->recordEventState(event, kStop, &end);
      stop(event);
    }
  }

  void* context_ = nullptr;
  int mask_ = 0;
  int rank_;
  std::uint64_t started_ = 0;
};

void* address(std::uint64_t value) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(value));
}

void* const kStream = address(0x1000);
void* const kSideStream = address(0x2000);
constexpr const char* kAllReduceKernel =
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";

void all_reduce(Communicator& comm, std::uint64_t sequence) {
  void* group = comm.group_api();
  void* call = comm.coll_api(group, "AllReduce", 1024, kStream);
  comm.launch(group, kAllReduceKernel, kStream, 4);
  void* plan = comm.plan();
  comm.coll(call, plan,
            {sequence, "AllReduce", address(0x10000), address(0x10000), 1024, 0, "ncclFloat32", 4,
             17, "RING", "LL"});
  Communicator::stop(plan);
  Communicator::stop(group);
}

void all_gathers(Communicator& comm, std::uint64_t sequence) {
  constexpr int kCount = 3;
  void* group = comm.group_api();
  void* calls[kCount];
  for (void*& call : calls)
    call = comm.coll_api(group, "AllGather", 256, kStream);
  comm.launch(group, "ncclDevKernel_AllGather_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)",
              kStream, 6);
  void* plan = comm.plan();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    void* receive = address(0x20000 + i * 0x10000);
    void* own = static_cast<char*>(receive) + comm.rank() * 1024;
    comm.coll(calls[i], plan,
              {sequence * kCount + i, "AllGather", own, receive, 1024, 0, "ncclInt8", 2, 17, "RING",
               "SIMPLE"});
  }
  Communicator::stop(plan);
  Communicator::stop(group);
}

void shift(Communicator& comm, int ranks) {
  const int next = (comm.rank() + 1) % ranks;
  const int previous = (comm.rank() + ranks - 1) % ranks;
  void* group = comm.group_api();
  void* send = comm.p2p_api(group, "Send", 512, kStream);
  void* receive = comm.p2p_api(group, "Recv", 512, kStream);
  comm.launch(group, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", kStream, 8);
  void* plan = comm.plan();
  comm.p2p(send, plan, {"Send", address(0x90000), "ncclFloat32", 512, next, 8});
  comm.p2p(receive, plan, {"Recv", address(0xA0000), "ncclFloat32", 512, previous, 8});
  Communicator::stop(plan);
  Communicator::stop(group);
}

void wait_while(const std::atomic<bool>& held, bool value) {
  while (held == value)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void reduce_scatter(Communicator& comm, std::uint64_t sequence) {
  void* group = comm.group_api();
  void* call = comm.coll_api(group, "ReduceScatter", 128, kSideStream);
  comm.launch(group, "ncclDevKernel_ReduceScatter_Sum_f32_RING_SIMPLE(X)", kSideStream, 2);
  g_launched = true;
  wait_while(g_hold, true);
  void* plan = comm.plan();
  comm.coll(call, plan,
            {sequence, "ReduceScatter", address(0xB0000), address(0xC0000), 128, 0, "ncclFloat32",
             2, 9, "RING", "SIMPLE"});
  Communicator::stop(plan);
  Communicator::stop(group);
}

// Waits, at most a minute, until the recorder's thread has saved what CUPTI held: it did when it
// flushes for the second time.
void wait_for_flush() {
  constexpr int kRounds = 60'000;
  constexpr std::uint64_t kFlushes = 2;
  if (g_flushes == nullptr || g_flushes() == UINT64_MAX) return;
  const std::uint64_t wanted = g_flushes() + kFlushes;
  for (int i = 0; i < kRounds && g_flushes() < wanted; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool load() {
  const char* library = std::getenv("NCCL_PROFILER_PLUGIN");
  if (library == nullptr) return true;
  void* plugin = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "fake_nccl_job: %s\n", ::dlerror());
    return false;
  }
  const char* version = std::getenv("ASSAY_FAKE_NCCL");
  g_v5 = static_cast<Plugin5*>(::dlsym(plugin, "ncclProfiler_v5"));
  if (version != nullptr && std::strcmp(version, "v4") == 0) {
    g_v5 = nullptr;
    g_v4 = static_cast<Plugin4*>(::dlsym(plugin, "ncclProfiler_v4"));
  }
  const char* cupti = std::getenv("ASSAY_RECORDER_CUPTI");
  if (void* fake = cupti == nullptr ? nullptr : ::dlopen(cupti, RTLD_NOW | RTLD_LOCAL)) {
    g_kernel = reinterpret_cast<decltype(g_kernel)>(::dlsym(fake, "fakeCuptiKernel"));
    g_exiting = reinterpret_cast<decltype(g_exiting)>(::dlsym(fake, "fakeCuptiExiting"));
    g_flushes = reinterpret_cast<decltype(g_flushes)>(::dlsym(fake, "fakeCuptiFlushes"));
    g_graph_launch =
        reinterpret_cast<decltype(g_graph_launch)>(::dlsym(fake, "fakeCuptiGraphLaunch"));
  }
  return g_v5 != nullptr || g_v4 != nullptr;
}

enum class Threads { kTogether, kSecondFirst, kSecondLast, kSecondLate };

void train(Communicator& world,
           Communicator& side,
           int ranks,
           int first,
           int steps,
           Threads threads = Threads::kTogether) {
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  const auto reduce_scatters = [&] {
    for (int step = first; step < first + steps; ++step)
      reduce_scatter(side, static_cast<std::uint64_t>(step));
  };
  std::thread other;
  g_hold = threads == Threads::kSecondLate;
  if (threads != Threads::kSecondLast) other = std::thread(reduce_scatters);
  if (threads == Threads::kSecondFirst) other.join(), wait();
  if (threads == Threads::kSecondLate) wait_while(g_launched, false);
  for (int step = first; step < first + steps; ++step) {
    all_reduce(world, static_cast<std::uint64_t>(step));
    all_gathers(world, static_cast<std::uint64_t>(step));
    shift(world, ranks);
    if (g_kernel != nullptr) g_kernel("sgemm", 7, cupti_now(), cupti_now() + 10, 1, 0);
  }
  g_hold = false;
  if (threads == Threads::kSecondLast) wait(), other = std::thread(reduce_scatters);
  if (other.joinable()) other.join();
}

// NCCL does not count what it captures: the next step has the same sequence.
void capture(Communicator& world, std::uint64_t sequence) {
  g_capturing = true;
  all_reduce(world, sequence);
  all_gathers(world, sequence);
  g_capturing = false;
}

void run_graph() {
  constexpr std::uint64_t kFirstNode = 100;
  constexpr std::uint64_t kDuration = 30000;
  if (g_graph_launch == nullptr) return;
  g_graph_launch();
  std::uint64_t start = cupti_now();
  for (std::size_t i = 0; i < captured_kernels().size(); ++i) {
    const CapturedKernel& kernel = captured_kernels()[i];
    g_kernel(kernel.name, 9, start, start + kDuration, kernel.blocks, kFirstNode + i);
    start += 2 * kDuration;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The job has no memory once a thread that has written records ends.
void starve(Communicator& world) {
  std::thread([&] {
    all_reduce(world, 0);
    g_starved = true;
  }).join();
  Communicator late(0x7777, 1, 0, "a communicator with a name that needs memory");
  late.coll_api(nullptr, "a function with a name that needs memory", 1, kStream);
  all_reduce(world, 1);
}

void talk() {
  std::printf("ready\n");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

int bench(int calls) {
  Communicator world(0x1, 2, 0, "world");
  all_reduce(world, 0);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 1; i <= calls; ++i)
    all_reduce(world, static_cast<std::uint64_t>(i));
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  // Each operation has five events, each started and stopped.
  std::printf("%.1f ns an operation, %.1f ns a call\n", took.count() / calls,
              took.count() / calls / 10);
  return 0;
}

constexpr int kTalkEnd = 7;

}  // namespace

int main(int count, char** arguments) {
  if (!load()) return 1;
  if (count == 3) return bench(std::atoi(arguments[2]));
  if (count < 4) return 2;
  const int rank = std::atoi(arguments[1]);
  const int ranks = std::atoi(arguments[2]);
  const int steps = std::atoi(arguments[3]);
  const std::string end = count > 4 ? arguments[4] : "";
  g_starved = end == "starved";
  Communicator world(0xABCD, ranks, rank, "world");
  Communicator side(0x1234, ranks, ranks - 1 - rank, "");
  const bool odd = rank % 2 == 1;
  Threads threads = Threads::kTogether;
  if (end == "opposite") threads = odd ? Threads::kSecondFirst : Threads::kSecondLast;
  if (end == "late") threads = Threads::kSecondLate;
  if (end == "starved") {
    all_reduce(world, 0);
  } else {
    train(world, side, ranks, 0, steps, threads);
  }
  if (end == "graph") {
    constexpr int kRuns = 3;
    capture(world, static_cast<std::uint64_t>(steps));
    for (int i = 0; i < kRuns; ++i)
      run_graph();
    train(world, side, ranks, steps, 1);
  }
  if (end == "hang") {
    wait_for_flush();
    std::printf("ready\n");
    std::fflush(stdout);
    ::pause();
  } else if (end == "abort") {
    ::_exit(3);
  } else if (end == "talk") {
    talk();
    train(world, side, ranks, steps, steps);
  } else if (end == "starve") {
    starve(world);
  } else if (end == "fork") {
    const pid_t child = ::fork();
    if (child == 0) {
      train(world, side, ranks, steps, 1);  // must have no effect
      Communicator own(0x5555, 1, 0, "child");
      all_reduce(own, 0);
      std::exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) {
      std::fprintf(stderr, "the child ended with status 0x%x\n", static_cast<unsigned>(status));
      return 4;
    }
  }
  if (end != "exit") {
    side.finalize();
    world.finalize();
  }
  if (g_exiting != nullptr) g_exiting();
  if (end != "talk") return 0;
  std::printf("done\n");
  return kTalkEnd;
}
