// The process that stands between us and a program; see kept_process.h.
#pragma once

#include "core/kept_process.h"

namespace assay::core {

// What the keeper writes to its report pipe, in this order.
struct KeeperStarted {
  int error = 0;  // errno of exec, or 0
};

using KeeperEnded = ProcessEnd;

// Runs in the forked child and does not return. `control` and `report` are its ends of the pipes.
[[noreturn]] void keep(const Launch& launch, int control, int report);

}  // namespace assay::core
