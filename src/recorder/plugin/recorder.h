// The recording of this process: one file that many threads fill.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/recording.h"
#include "recorder/plugin/block_file.h"
#include "recorder/plugin/nccl_abi.h"
#include "recorder/plugin/settings.h"

namespace assay::recorder {

class Recorder;

struct ThreadState {
  Recorder* recorder;  // owner of the room
  std::byte* room = nullptr;
  std::byte* room_end = nullptr;
  // The last kernel launch that was not followed by a plan.
  std::uint32_t launch = 0;
  std::uint32_t launch_communicator = 0;
};

// Returns the state of the calling thread; clears it when the room belongs to another recorder.
// Returns null when there is no memory for it.
ThreadState* thread_state(Recorder* recorder);

// Gives each string a number.
class Texts {
 public:
  // `write` adds a new string to the recording.
  explicit Texts(std::function<void(std::uint16_t id, std::string_view text)> write)
      : write_(std::move(write)) {}

  // Returns the number of a string that keeps its address as long as the process runs. Takes a lock
  // only for the first call. Returns 0 for null, and when there are too many strings.
  std::uint16_t number_of_constant(const char* text);

  // Returns the number of any string.
  std::uint16_t number_of(std::string_view text);

 private:
  struct Slot {
    std::atomic<const char*> text{nullptr};
    std::atomic<std::uint16_t> number{0};
  };

  std::function<void(std::uint16_t, std::string_view)> write_;
  std::array<Slot, 256> slots_;  // by address
  std::mutex adding_;
  std::vector<std::string> texts_;
};

class KernelTimes;
class Recorder;

// The object behind NCCL's context pointer.
struct CommunicatorContext {
  Recorder* recorder = nullptr;
  std::uint32_t number = 0;  // number of the communicator's record
};

class Recorder {
 public:
  // Returns null before start(), after it failed, and in a forked child of the process that
  // started.
  static Recorder* current() { return active_recorder.load(std::memory_order_acquire); }

  // Returns the recorder and starts it if necessary. Returns null when that failed, which is
  // printed once.
  static Recorder* start(nccl::Logger logger, std::uint32_t plugin_interface);

  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // Copies the record into the file. Returns null when there is no more room.
  template <class Record>
  Record* append(Record record, model::recording::Kind kind) {
    static_assert(std::is_trivially_copyable_v<Record>);
    auto& head = reinterpret_cast<model::recording::Head&>(record);
    head.kind = kind;
    head.size_bytes = sizeof(Record);
    return static_cast<Record*>(append_bytes(&record, sizeof(Record)));
  }

  // Tells the reader of the recording something, and prints it to standard error, too.
  void note(std::string_view words);

  const CommunicatorContext* add_communicator(const model::recording::Communicator& record,
                                              const char* name);

  [[nodiscard]] std::uint32_t number_of(const void* record) const {
    return file_->number_of(record);
  }

  [[nodiscard]] bool owns(const void* place) const { return file_->owns(place); }

  std::uint16_t text(const char* constant) { return texts_.number_of_constant(constant); }

  std::uint16_t copied_text(std::string_view text) { return texts_.number_of(text); }

  model::recording::Header& header() { return file_->header(); }

  [[nodiscard]] const Settings& settings() const { return settings_; }

  // Returns null when CUPTI gives no kernel times, and when the process tears down: CUPTI must not
  // be called any more.
  [[nodiscard]] KernelTimes* kernel_times() const {
    return ending_.load(std::memory_order_relaxed) ? nullptr : records_of_cupti();
  }

  // Returns null when CUPTI gives no kernel times.
  [[nodiscard]] KernelTimes* records_of_cupti() const {
    return kernel_times_.load(std::memory_order_acquire);
  }

  [[nodiscard]] std::uint64_t launches() const { return launches_.load(std::memory_order_relaxed); }

  void count_launch() { launches_.fetch_add(1, std::memory_order_relaxed); }

  // A call is being captured into a CUDA graph.
  void see_captured();

  // Says that the bytes at this place in a record have changed.
  void touch(const void* place) { file_->touch(place); }

  // Writes into the file what changed.
  void save() { file_->save(); }

  // Takes back the room that an ending thread leaves.
  void give_back(std::byte* begin, std::byte* end);

 private:
  explicit Recorder(Settings settings);
  static bool make_key();
  static Recorder* create(nccl::Logger logger, std::uint32_t plugin_interface);
  static void forked_child();
  static void at_exit();
  static void* run(void* recorder);
  void fill_header(nccl::Logger logger, std::uint32_t plugin_interface);
  void start_kernel_times();
  void start_thread();
  void tend();
  void tend_kernel_times(int round);
  void note_end();
  void* append_bytes(const void* record, std::size_t bytes);
  void append_with_text(void* record, std::size_t bytes, std::string_view text);
  bool take_room(ThreadState& thread, std::size_t bytes);

  static std::atomic<Recorder*> active_recorder;

  Settings settings_;
  std::unique_ptr<BlockFile> file_;
  Texts texts_;
  // Other threads call while it is made. It lives as long as the recorder, which is never
  // destroyed.
  std::atomic<KernelTimes*> kernel_times_{nullptr};
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<bool> ending_{false};
  std::atomic<int> num_spare_{0};
  std::atomic<bool> end_noted_{false};
  std::atomic<bool> captured_noted_{false};
  std::timed_mutex tending_;  // held while our thread calls CUPTI
  std::mutex slow_;           // protects the members below
  std::vector<std::pair<std::byte*, std::byte*>> spare_;
  std::vector<std::unique_ptr<CommunicatorContext>> communicators_;
};

// CLOCK_REALTIME
std::int64_t now_ns();

}  // namespace assay::recorder
