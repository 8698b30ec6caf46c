// The process that stands between us and a program; see kept_process.h.
#pragma once

#include "core/kept_process.h"

namespace assay::core {

// What the keeper writes to its report pipe, in this order.
struct KeeperStarted {
  int error = 0;  // errno of exec, or 0
};

using KeeperEnded = ProcessEnd;

// The keeper's ends of the pipes, and what the program gets as its standard streams (-1: none).
struct KeeperEnds {
  int control = -1;
  int report = -1;
  int program_input = -1;
  int program_output = -1;
};

// Runs in the forked child and does not return.
[[noreturn]] void keep(const Launch& launch, const KeeperEnds& ends);

}  // namespace assay::core
