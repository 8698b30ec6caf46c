// One case on a device: make its kernels, compare them with a reference, time them.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "collect/kernels/device.h"
#include "collect/plan/operator.h"
#include "collect/worker/conditions.h"
#include "collect/worker/protocol.h"
#include "core/result.h"

namespace assay::collect {

// An operator and a case as they come from `assay collect`. Errors: no such operator, a column that
// it lacks or that is missing, a value of the wrong kind.
core::Result<Case> parse_case(const std::string& operator_name, const std::string& case_json);

struct CaseRun {
  Device& device;
  StateReader* sensors = nullptr;  // null: none
  std::function<void(const WorkerMessage&)> say;
};

// Tells the device of the request's soon cases.
void expect_soon(Device& device, const CaseRequest& request);

// Says what it does, then its rows, then how it ended: CaseDone, CaseSkipped or CaseError. A case
// that the device throttled, or whose samples drift, is measured once more after a rest and keeps
// the flag if it stays so.
void run_case(const CaseRun& run, const CaseRequest& request);

}  // namespace assay::collect
