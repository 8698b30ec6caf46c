// Calls functions in child processes, several at a time. What a call takes is known, and what ends
// it (memory that ran out, a defect) ends nothing else. Children are killed with this process,
// however that ends.
//
// A child has one thread, whatever this process has. It inherits locks of files that are held.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::core {

struct CallEnd {
  std::size_t id = 0;
  std::string answer;  // what the call returned, if `problem` is empty
  std::string problem;
  double seconds = 0;
  double cpu_seconds = 0;
  double peak_mb = 0;  // 1e6 bytes
};

class ForkedCalls {
 public:
  ForkedCalls() = default;
  ForkedCalls(const ForkedCalls&) = delete;
  ForkedCalls& operator=(const ForkedCalls&) = delete;

  // Kills what still runs.
  ~ForkedCalls();

  Status start(std::size_t id, const std::function<std::string()>& call);

  [[nodiscard]] std::size_t running() const { return children_.size(); }

  // Waits at most `patience`, and less when a signal arrives, for the end of a call.
  std::optional<CallEnd> wait(std::chrono::milliseconds patience);

 private:
  struct Child {
    std::size_t id = 0;
    pid_t process = 0;
    int pipe = -1;
    std::chrono::steady_clock::time_point start = {};
    std::string answer = {};
  };

  static CallEnd end_of(Child& child);

  std::vector<Child> children_;
};

}  // namespace assay::core
