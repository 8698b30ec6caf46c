#include "core/task.h"

#include <utility>

namespace assay::core {
namespace {

constexpr std::chrono::milliseconds kAskEvery{100};

thread_local Task* current_task = nullptr;  // NOLINT: what a thread works for

}  // namespace

Task::Task(Progress progress, const std::int32_t* stop)
    : progress_(std::move(progress)), stop_(stop) {}

void Task::tell(std::string_view doing, std::uint64_t done, std::uint64_t total) {
  if (!progress_) return;
  const std::scoped_lock lock(mutex_);
  state_ = {std::string(doing), done, total};
  ask();
}

bool Task::stopped() {
  if (stop_ != nullptr && __atomic_load_n(stop_, __ATOMIC_RELAXED) != 0) return true;
  if (progress_) {
    // While another thread asks, this one need not.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) ask();
  }
  return stopped_.load(std::memory_order_relaxed);
}

void Task::ask() {
  const Clock::time_point now = Clock::now();
  if (now - asked_ < kAskEvery) return;
  asked_ = now;
  if (!progress_(state_.doing, state_.done, state_.total)) stopped_ = true;
}

Task* Task::current() {
  return current_task;
}

WorkingFor::WorkingFor(Task* task) : before_(std::exchange(current_task, task)) {}

WorkingFor::~WorkingFor() {
  current_task = before_;
}

}  // namespace assay::core
