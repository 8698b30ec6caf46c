// How cases are measured, as a run's record keeps it: each setting by the name of its option.
#pragma once

#include <chrono>

#include "collect/run/run_state.h"
#include "collect/worker/protocol.h"
#include "core/result.h"

namespace assay::cli {

collect::Settings settings_of(const collect::CaseRequest& request);

// What settings_of() was given; what they do not say is as usual. Others among them do not matter.
// Error: a value that is none.
core::Result<collect::CaseRequest> request_of(const collect::Settings& settings);

// How long a case may take, for the record of a run.
collect::Settings record_of_deadline(double seconds);

// 60 s where the record says nothing. Error: it says what is no number.
core::Result<std::chrono::milliseconds> recorded_deadline(const store::Run& run);

}  // namespace assay::cli
