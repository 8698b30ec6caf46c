// A CUPTI for tests, built as libcupti.so.13. fakeCuptiKernel() announces that a kernel was
// launched and when it ran, and the client gets the records that CUPTI would give it, laid out by
// hand as in CUDA 13's cupti_activity.h. Its clock is 1000 s behind CLOCK_REALTIME. With
// ASSAY_FAKE_CUPTI=busy, it acts as if another profiler were using it. A call while the process
// tears down aborts: on any thread after the handlers of exit() that were there when CUPTI was
// first used, and from fakeCuptiExiting() on for its caller.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <vector>

namespace {

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr int kMaxLimitReached = 12;
constexpr int kBusy = 39;
constexpr std::size_t kKernelBytes = 216;
constexpr std::size_t kCorrelationBytes = 24;
constexpr std::uint32_t kDriverKind = 4;
constexpr std::uint32_t kKernelKind = 10;
constexpr std::uint32_t kCorrelationKind = 39;

struct State {
  std::mutex mutex;
  Request request = nullptr;
  Complete complete = nullptr;
  std::set<std::uint32_t> enabled;
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;
  std::uint32_t next_correlation = 1;
  std::uint32_t graph_correlation = 0;
  std::uint64_t flushes = 0;
};

State& state();

// A child has no thread that could give back a lock which another one held at the fork.
State* make_state() {
  ::pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); },
                   [] { state().mutex.unlock(); });
  return new State;
}

State& state() {
  static State* the_state = make_state();
  return *the_state;
}

struct External {
  std::uint32_t kind;
  std::uint64_t id;
};

std::vector<External>& stack() {
  thread_local std::vector<External> the_stack;
  return the_stack;
}

std::atomic<bool> g_gone{false};
std::atomic<pid_t> g_exiting{0};

void must_live(const char* function) {
  if (!g_gone && g_exiting != ::gettid()) return;
  std::fprintf(stderr, "fake CUPTI: %s while the process tears down\n", function);
  std::abort();
}

void hand_over(State& s) {
  if (s.buffer == nullptr) return;
  s.complete(nullptr, 0, s.buffer, s.bytes, s.used);
  s.buffer = nullptr;
}

void add(State& s, const std::uint8_t* record, std::size_t bytes) {
  if (s.buffer != nullptr && s.used + bytes > s.bytes) hand_over(s);
  if (s.buffer == nullptr) {
    std::size_t records = 0;
    s.request(&s.buffer, &s.bytes, &records);
    s.used = 0;
  }
  std::memcpy(s.buffer + s.used, record, bytes);
  s.used += bytes;
}

template <class Value>
void put(std::uint8_t* record, std::size_t offset, Value value) {
  std::memcpy(record + offset, &value, sizeof value);
}

}  // namespace

extern "C" {

int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  const char* mode = std::getenv("ASSAY_FAKE_CUPTI");
  if (mode != nullptr && std::strcmp(mode, "busy") == 0) return kBusy;
  std::atexit([] { g_gone = true; });
  state().request = request;
  state().complete = complete;
  return 0;
}

int cuptiActivityEnable(std::uint32_t kind) {
  state().enabled.insert(kind);
  return 0;
}

int cuptiActivityDisable(std::uint32_t kind) {
  must_live("cuptiActivityDisable");
  state().enabled.erase(kind);
  return 0;
}

int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    next = *record + (kind == kKernelKind ? kKernelBytes : kCorrelationBytes);
  }
  if (next >= buffer + valid) return kMaxLimitReached;
  *record = next;
  return 0;
}

int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* count) {
  *count = 0;
  return 0;
}

int cuptiActivityFlushAll(std::uint32_t) {
  must_live("cuptiActivityFlushAll");
  const std::lock_guard<std::mutex> lock(state().mutex);
  hand_over(state());
  ++state().flushes;
  return 0;
}

int cuptiActivityPushExternalCorrelationId(std::uint32_t kind, std::uint64_t id) {
  must_live("cuptiActivityPushExternalCorrelationId");
  stack().push_back({kind, id});
  return 0;
}

int cuptiActivityPopExternalCorrelationId(std::uint32_t, std::uint64_t* id) {
  must_live("cuptiActivityPopExternalCorrelationId");
  if (stack().empty()) return 1;
  *id = stack().back().id;
  stack().pop_back();
  return 0;
}

int cuptiGetTimestamp(std::uint64_t* now) {
  must_live("cuptiGetTimestamp");
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  *now = (static_cast<std::uint64_t>(time.tv_sec) - 1000) * kSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
  return 0;
}

void fakeCuptiExiting() {
  g_exiting = ::gettid();
}

// Returns the number of flushes; no number when nobody asks for kernels.
std::uint64_t fakeCuptiFlushes() {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  return s.enabled.count(kKernelKind) != 0 ? s.flushes : UINT64_MAX;
}

// The kernels of a graph that are announced next have the correlation id of its launch.
void fakeCuptiGraphLaunch() {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.graph_correlation = s.next_correlation++;
}

// Times are those of CUPTI's clock.
void fakeCuptiKernel(const char* name,
                     std::uint32_t stream,
                     std::uint64_t start,
                     std::uint64_t end,
                     int blocks,
                     std::uint64_t graph_node) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (s.enabled.count(kKernelKind) == 0) return;
  const std::uint32_t correlation = graph_node == 0 ? s.next_correlation++ : s.graph_correlation;
  const bool call_seen = s.enabled.count(kDriverKind) != 0 && graph_node == 0;
  if (call_seen && s.enabled.count(kCorrelationKind) != 0 && !stack().empty()) {
    std::uint8_t external[kCorrelationBytes] = {};
    put(external, 0, kCorrelationKind);
    put(external, 4, stack().back().kind);
    put(external, 8, stack().back().id);
    put(external, 16, correlation);
    add(s, external, sizeof external);
  }
  std::uint8_t kernel[kKernelBytes] = {};
  put(kernel, 0, kKernelKind);
  put(kernel, 16, start);
  put(kernel, 24, end);
  put(kernel, 40, std::uint32_t{0});  // device
  put(kernel, 44, std::uint32_t{1});  // context
  put(kernel, 48, stream);
  put(kernel, 52, blocks);
  put(kernel, 92, correlation);
  put(kernel, 104, name);
  put(kernel, 144, graph_node);
  add(s, kernel, sizeof kernel);
}
}
