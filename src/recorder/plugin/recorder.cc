#include "recorder/plugin/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>

#include "recorder/plugin/held_signals.h"
#include "recorder/plugin/kernel_times.h"
#include "recorder/plugin/settings.h"

namespace assay::recorder {
namespace {

namespace rec = model::recording;

constexpr std::size_t kMaxNote = 1024;
constexpr useconds_t kTendEveryUs = 200'000;
constexpr int kClockEvery = 50;  // rounds of tend()
constexpr std::chrono::seconds kLongestFlush{1};

enum Stopped : std::uint32_t { kInOrder = 1, kLimit = 2, kDisk = 3 };

pthread_mutex_t g_starting = PTHREAD_MUTEX_INITIALIZER;
bool g_failed = false;
bool g_hooked = false;

pthread_key_t g_thread_key = 0;

void say(std::string_view words) {
  const HeldSignals held;
  std::fprintf(stderr, "assay recorder: %.*s\n", static_cast<int>(words.size()), words.data());
}

void end_thread(void* thread) {
  const auto* state = static_cast<const ThreadState*>(thread);
  if (state->recorder == Recorder::current() && state->recorder != nullptr) {
    state->recorder->give_back(state->room, state->room_end);
  }
  std::free(thread);
}

template <std::size_t N>
void copy_text(std::array<char, N>& to, const std::string& text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), N - 1));
}

std::string boot_id() {
  constexpr std::size_t kLength = 36;
  std::array<char, kLength> id{};
  const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t count = file < 0 ? 0 : ::read(file, id.data(), id.size());
  if (file >= 0) ::close(file);
  return {id.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace

std::atomic<Recorder*> Recorder::active_recorder{nullptr};

std::int64_t now_ns() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// A key of pthread's, because the C library ends the process when there is no memory for a variable
// that is thread_local. Exceptions need one, too, which the first question for them makes: a thread
// that has a state can throw.
ThreadState* thread_state(Recorder* recorder) {
  auto* state = static_cast<ThreadState*>(::pthread_getspecific(g_thread_key));
  if (state == nullptr) {
    state = static_cast<ThreadState*>(std::malloc(sizeof(ThreadState)));  // new throws inside
    if (state == nullptr || ::pthread_setspecific(g_thread_key, state) != 0) {
      std::free(state);
      return nullptr;
    }
    [[maybe_unused]] const volatile int exceptions = std::uncaught_exceptions();
    *state = ThreadState{recorder};
  }
  if (state->recorder != recorder) *state = ThreadState{recorder};
  return state;
}

Recorder::Recorder(Settings settings)
    : settings_(std::move(settings)), texts_([this](std::uint16_t id, std::string_view text) {
        rec::Text record;
        record.head.kind = rec::Kind::kText;
        record.id = id;
        record.length = static_cast<std::uint32_t>(text.size());
        append_with_text(&record, sizeof record, text);
      }) {}

Recorder::~Recorder() = default;

// Returns whether this thread has a state.
bool Recorder::make_key() {
  static bool made = false;
  made = made || ::pthread_key_create(&g_thread_key, end_thread) == 0;
  return made && thread_state(nullptr) != nullptr;
}

Recorder* Recorder::start(nccl::Logger logger, std::uint32_t plugin_interface) {
  if (Recorder* recorder = current()) return recorder;
  ::pthread_mutex_lock(&g_starting);
  Recorder* recorder = current();
  if (recorder == nullptr && !g_failed && !make_key()) {
    say("no memory for a thread: nothing is recorded");
    g_failed = true;
  }
  if (recorder == nullptr && !g_failed) {
    try {
      recorder = create(logger, plugin_interface);
    } catch (const std::exception&) {
      say("out of memory: nothing is recorded");
    }
    g_failed = recorder == nullptr;
  }
  ::pthread_mutex_unlock(&g_starting);
  return recorder;
}

Recorder* Recorder::create(nccl::Logger logger, std::uint32_t plugin_interface) {
  std::unique_ptr<Recorder> recorder(new Recorder(read_settings()));
  std::string reason;
  recorder->file_ =
      BlockFile::create(recorder->settings_.folder, recorder->settings_.limit_bytes, reason);
  if (recorder->file_ == nullptr) {
    say(reason + ": nothing is recorded");
    return nullptr;
  }
  recorder->fill_header(logger, plugin_interface);
  if (!g_hooked) ::pthread_atfork(nullptr, nullptr, forked_child);
  g_hooked = true;
  // The recorder lives as long as the process, because NCCL's threads may call until the very end.
  Recorder* self = recorder.release();
  active_recorder.store(self, std::memory_order_release);
  try {
    if (!self->settings_.problems.empty()) self->note(self->settings_.problems);
    self->start_kernel_times();
    self->start_thread();
  } catch (const std::exception&) {
    self->note("out of memory: kernel times may be missing");
  }
  // Handlers run in reverse order: ours, before those of a CUPTI that was loaded just now. In a
  // forked child these come after the parent's, so that it has one of its own.
  std::atexit(at_exit);
  return self;
}

void Recorder::fill_header(nccl::Logger logger, std::uint32_t plugin_interface) {
  const char* node = std::getenv("NCCL_HOSTID");
  rec::Header& to = header();
  to.start_ns = now_ns();
  to.process_id = ::getpid();
  to.nccl_version = nccl_version(reinterpret_cast<const void*>(logger));
  to.plugin_interface = plugin_interface;
  to.events = settings_.events;
  copy_text(to.host, host_name());
  copy_text(to.node, node != nullptr && *node != '\0' ? std::string(node) : host_name());
  copy_text(to.boot, boot_id());
}

void Recorder::start_kernel_times() {
  header().kernel_times = settings_.kernel_times;
  if (settings_.kernel_times == rec::kNoTimer) note("no kernel times are recorded, as asked for");
  if (settings_.kernel_times != rec::kCuptiTimer) return;
  std::string reason;
  KernelTimes* times = KernelTimes::start(settings_.cupti, reason).release();
  if (times == nullptr) header().kernel_times = rec::kNoTimer;
  kernel_times_.store(times, std::memory_order_release);
  if (times == nullptr) note("no kernel times are recorded: " + reason);
}

void Recorder::see_captured() {
  if (records_of_cupti() != nullptr || captured_noted_.exchange(true)) return;
  note(
      "CUDA graphs hold calls of NCCL, whose runs CUPTI alone tells: record with --kernel-times "
      "cupti (ASSAY_RECORDER_KERNEL_TIMES)");
}

void Recorder::start_thread() {
  // This thread must not handle the program's signals.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = ::pthread_create(&thread, nullptr, run, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    note(std::string("records are saved late: cannot start a thread: ") + std::strerror(error));
    return;
  }
  ::pthread_setname_np(thread, "assay-recorder");
  ::pthread_detach(thread);
}

void* Recorder::run(void* recorder) {
  auto* self = static_cast<Recorder*>(recorder);
  if (thread_state(self) == nullptr) return nullptr;
  try {
    self->tend();
  } catch (const std::exception&) {
    say("out of memory: records are saved late");
  }
  return nullptr;
}

void Recorder::tend() {
  for (int round = 0; !ending_.load(std::memory_order_relaxed); ++round) {
    file_->prepare();
    if (records_of_cupti() != nullptr) tend_kernel_times(round);
    file_->save();
    if (file_->error() != 0) note_end();
    ::usleep(kTendEveryUs);
  }
}

void Recorder::tend_kernel_times(int round) {
  const std::lock_guard<std::timed_mutex> lock(tending_);
  KernelTimes* times = kernel_times();
  if (times == nullptr) return;
  if (file_->error() != 0) times->stop();
  times->flush();
  times->look_after(*this);
  if (round % kClockEvery == 0) times->record_clock(*this);
}

// It is printed once; the file itself has no room for a note any more.
void Recorder::note_end() {
  if (end_noted_.exchange(true)) return;
  const bool limit = file_->error() == BlockFile::kFull;
  header().stopped = limit ? kLimit : kDisk;
  file_->save();
  if (thread_state(this) == nullptr) return;
  try {
    if (limit) {
      say("recording ends at its limit of " + std::to_string(settings_.limit_bytes >> 20U) +
          " MB (ASSAY_RECORDER_LIMIT_MB): " + file_->path());
    } else {
      say("recording ends: " + file_->path() + ": " + std::strerror(file_->error()));
    }
  } catch (const std::exception&) {
    say("recording ends");
  }
}

// CUPTI is left alone: whether it has been torn down by now is unknown. A call of our thread comes
// to its end first, unless it waits for what the thread that exits holds.
void Recorder::at_exit() {
  Recorder* self = current();
  if (self == nullptr || self->ending_.exchange(true)) return;
  const std::unique_lock<std::timed_mutex> lock(self->tending_, kLongestFlush);
  if (self->file_->error() == 0) self->header().stopped = kInOrder;
  self->file_->close();
  if (self->file_->error() != 0) self->note_end();
}

// A forked child has neither the mapping nor the other threads.
void Recorder::forked_child() {
  Recorder* parents = active_recorder.exchange(nullptr);
  if (parents != nullptr) parents->file_->forget();
  ::pthread_mutex_init(&g_starting, nullptr);
  g_failed = false;
}

void Recorder::note(std::string_view words) {
  say(words);
  rec::Note record;
  record.head.kind = rec::Kind::kNote;
  record.time_ns = now_ns();
  record.length = static_cast<std::uint32_t>(std::min(words.size(), kMaxNote));
  append_with_text(&record, sizeof record, words.substr(0, kMaxNote));
}

const CommunicatorContext* Recorder::add_communicator(const rec::Communicator& record,
                                                      const char* name) {
  rec::Communicator named = record;
  named.name = name == nullptr || *name == '\0' ? 0 : copied_text(name);
  const auto* written = append(named, rec::Kind::kCommunicator);
  if (written == nullptr) return nullptr;
  auto context = std::make_unique<CommunicatorContext>();
  context->recorder = this;
  context->number = number_of(written);
  const std::lock_guard<std::mutex> lock(slow_);
  communicators_.push_back(std::move(context));
  return communicators_.back().get();
}

void Recorder::append_with_text(void* record, std::size_t bytes, std::string_view text) {
  alignas(8) std::array<std::byte, 64 + kMaxNote> buffer{};
  auto* head = static_cast<rec::Head*>(record);
  const std::size_t size = (bytes + text.size() + 7) / 8 * 8;
  head->size_bytes = static_cast<std::uint16_t>(size);
  std::memcpy(buffer.data(), record, bytes);
  std::memcpy(buffer.data() + bytes, text.data(), text.size());
  append_bytes(buffer.data(), size);
}

void* Recorder::append_bytes(const void* record, std::size_t bytes) {
  ThreadState* thread = thread_state(this);
  if (thread == nullptr) return nullptr;
  if (static_cast<std::size_t>(thread->room_end - thread->room) < bytes &&
      !take_room(*thread, bytes)) {
    return nullptr;
  }
  std::byte* at = thread->room;
  if (at == nullptr) return nullptr;
  thread->room += bytes;
  const auto* from = static_cast<const std::byte*>(record);
  std::memcpy(at + 4, from + 4, bytes - 4);
  std::uint32_t first = 0;
  std::memcpy(&first, from, sizeof first);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(at), first, __ATOMIC_RELEASE);
  file_->touch(at);
  return at;
}

bool Recorder::take_room(ThreadState& thread, std::size_t bytes) {
  if (thread.room != nullptr) file_->complete(thread.room_end - 1);
  if (num_spare_.load(std::memory_order_relaxed) > 0) {
    const std::lock_guard<std::mutex> lock(slow_);
    const auto fits = std::find_if(spare_.begin(), spare_.end(), [&](const auto& room) {
      return static_cast<std::size_t>(room.second - room.first) >= bytes;
    });
    if (fits != spare_.end()) {
      thread.room = fits->first;
      thread.room_end = fits->second;
      spare_.erase(fits);
      num_spare_.store(static_cast<int>(spare_.size()), std::memory_order_relaxed);
      return true;
    }
  }
  std::byte* block = file_->take_block();
  if (block == nullptr) return false;
  thread.room = block;
  thread.room_end = block + rec::kBlockBytes;
  return true;
}

void Recorder::give_back(std::byte* begin, std::byte* end) {
  constexpr std::ptrdiff_t kWorthIt = 256;
  if (end - begin < kWorthIt) {
    if (begin != nullptr) file_->complete(end - 1);
    return;
  }
  const std::lock_guard<std::mutex> lock(slow_);
  try {
    spare_.emplace_back(begin, end);
  } catch (const std::bad_alloc&) {
    return;  // the room stays empty
  }
  num_spare_.store(static_cast<int>(spare_.size()), std::memory_order_relaxed);
}

}  // namespace assay::recorder
