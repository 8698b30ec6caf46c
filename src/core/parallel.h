// Runs a body for each index on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/locale.h"
#include "core/task.h"

namespace assay::core {

// Calls body(0) … body(count-1), at most `threads` of them at a time (0: one for each processor),
// and returns when all are done. The body must not touch what the body of another index writes. If
// one throws (memory ran out), no further ones begin, and the first exception is thrown to the
// caller. The threads work for the caller's task, in the caller's locale.
template <class Body>
void parallel_for(std::size_t count, unsigned threads, const Body& body) {
  const unsigned wanted =
      threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : threads;
  const std::size_t workers = std::min<std::size_t>(wanted, count);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::once_flag failed;
  Task* task = Task::current();
  const locale_t locale = ::uselocale(nullptr);
  const auto work = [&] {
    const InLocale same(locale);
    const WorkingFor working(task);
    try {
      for (std::size_t i = next++; i < count; i = next++)
        body(i);
    } catch (...) {
      next = count;
      std::call_once(failed, [&] { failure = std::current_exception(); });
    }
  };
  {
    std::vector<std::jthread> pool;
    try {
      for (std::size_t worker = 1; worker < workers; ++worker)
        pool.emplace_back(work);
    } catch (const std::system_error&) {
      // The threads that could be started do the work.
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace assay::core
