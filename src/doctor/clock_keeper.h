// The process that locks clocks, and unlocks them when nobody holds its pipe any more; see
// clock_lock.h.
#pragma once

#include <string>
#include <vector>

#include "doctor/clock_lock.h"

namespace assay::doctor {

struct ClockOrder {
  std::vector<int> gpus;
  gpu::Clocks clocks;
  ClockLockOptions options;
};

// The keeper's ends of the pipes.
struct ClockKeeperEnds {
  int control = -1;
  int report = -1;
};

// Runs in the forked child and does not return. Writes a report of the locking and, if that
// succeeded, one of the unlocking: a text that ends with a zero byte and is empty for success.
[[noreturn]] void keep_clocks(const ClockOrder& order, const ClockKeeperEnds& ends);

// Tries all GPUs, even if some fail.
core::Status unlock_all(const ClockOrder& order);

}  // namespace assay::doctor
