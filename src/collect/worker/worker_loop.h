// A worker's life: it opens its device, says what it is, and does the cases that it is asked for.
#pragma once

#include <functional>
#include <memory>

#include "collect/kernels/device.h"
#include "collect/worker/conditions.h"
#include "core/result.h"

namespace assay::collect {

struct WorkerDevice {
  std::unique_ptr<Device> device;
  std::unique_ptr<StateReader> sensors = nullptr;  // null: none
};

// Reads requests from standard input until it ends and writes to standard output, as
// collect/worker/protocol.h has them. Whatever else is written to standard output by libraries goes
// to standard error. Returns the exit code: 1 when the device cannot be opened or was lost, or when
// nobody reads any more.
int run_worker(const std::function<core::Result<WorkerDevice>()>& open);

}  // namespace assay::collect
