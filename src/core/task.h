// Work that is done for a caller inside another program: libassay's, whose calls run at the same
// time and can each be stopped. The program `assay` has none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace assay::core {

class Task {
 public:
  // Returns false to stop the work. `done` and `total` are bytes, or 0 where nobody knows.
  using Progress =
      std::function<bool(const std::string& doing, std::uint64_t done, std::uint64_t total)>;

  // `progress` is called about ten times a second, by one thread of the work at a time. `stop` is
  // the caller's: any number but 0 stops the work. Both may be null.
  explicit Task(Progress progress = nullptr, const std::int32_t* stop = nullptr);
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  // Any thread may call it.
  void tell(std::string_view doing, std::uint64_t done, std::uint64_t total);

  // Returns whether the caller wants the work to stop. Any thread may call it. It asks `progress`
  // as well, so that work which cannot tell how far it is can be stopped.
  [[nodiscard]] bool stopped();

  // Returns that of this thread, or nullptr.
  static Task* current();

 private:
  using Clock = std::chrono::steady_clock;

  struct State {
    std::string doing;
    std::uint64_t done = 0;
    std::uint64_t total = 0;
  };

  void ask();

  Progress progress_;
  const std::int32_t* stop_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;  // guards what follows
  State state_;
  Clock::time_point asked_ = Clock::now();
};

// While one exists, this thread works for the task, which may be null.
class WorkingFor {
 public:
  explicit WorkingFor(Task* task);
  WorkingFor(const WorkingFor&) = delete;
  WorkingFor& operator=(const WorkingFor&) = delete;
  ~WorkingFor();

 private:
  Task* before_;
};

}  // namespace assay::core
