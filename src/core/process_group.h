// Processes that share a piece of work, one of them in each: number 0 gives the others their shares
// and takes their answers.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::core {

class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  virtual ~ProcessGroup() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Returns when the other process has begun to take the message, which may be of any length.
  // Whoever waits, sleeps. Error: interrupted, or the other process does not take it but has
  // something to say itself, as when it failed.
  virtual Status send(int to, std::string_view message) = 0;
  virtual Result<std::string> receive(int from) = 0;

  // Returns whether the other process has a message for this one.
  virtual bool has_message(int from) = 0;
};

}  // namespace assay::core
