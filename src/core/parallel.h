// Runs a body for each index on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace assay::core {

// Calls body(0) … body(count-1), at most `threads` of them at a time (0: one for each processor),
// and returns when all are done. The body must not throw, and must not touch what the body of
// another index writes.
template <class Body>
void parallel_for(std::size_t count, unsigned threads, const Body& body) {
  const unsigned wanted =
      threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : threads;
  const std::size_t workers = std::min<std::size_t>(wanted, count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++)
      body(i);
  };
  if (workers <= 1) return work();
  std::vector<std::jthread> pool;
  for (std::size_t worker = 0; worker < workers; ++worker)
    pool.emplace_back(work);
}

}  // namespace assay::core
