// The work of a worker: it opens its device, reports what the device is, and for each request makes
// the kernels of a case, compares them with a reference and times them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "collect/kernels/device.h"
#include "collect/plan/operator.h"
#include "collect/worker/conditions.h"
#include "collect/worker/protocol.h"
#include "core/result.h"

namespace assay::collect {

// The case of an operator as a request has it. Errors: there is no such operator, a column is
// missing or unknown, or a value is of the wrong kind.
core::Result<Case> parse_case(const std::string& operator_name, const std::string& case_json);

struct CaseRun {
  Device& device;
  StateReader* sensors = nullptr;  // nullptr if there are none
  std::function<void(const WorkerMessage&)> say;
};

// Tells the device which cases the worker is likely to get next.
void expect_soon(Device& device, const CaseRequest& request);

// Says what it is doing, then its rows, then how the case ended: CaseDone, CaseSkipped or
// CaseError. A case that was throttled, or whose samples drift, is measured once more after a rest,
// and keeps the flag if that does not help.
void run_case(const CaseRun& run, const CaseRequest& request);

struct WorkerDevice {
  std::unique_ptr<Device> device;
  std::unique_ptr<StateReader> sensors = nullptr;  // nullptr if there are none
};

// Reads requests from standard input until it ends, and writes messages to standard output, both as
// collect/worker/protocol.h describes them. What libraries write to standard output goes to
// standard error. Returns the exit code: 1 when the device cannot be opened or was lost, or when
// nobody reads any more.
int run_worker(const std::function<core::Result<WorkerDevice>()>& open);

}  // namespace assay::collect
