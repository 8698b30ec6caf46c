#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace assay::core {

void parallel_for(std::size_t count,
                  unsigned threads,
                  const std::function<void(std::size_t)>& body) {
  const unsigned wanted =
      threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : threads;
  const std::size_t workers = std::min<std::size_t>(wanted, count);
  if (workers <= 1) {
    for (std::size_t i = 0; i < count; ++i)
      body(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> pool;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    pool.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++)
        body(i);
    });
  }
}

}  // namespace assay::core
