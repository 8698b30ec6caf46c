// What the GPUs of a recorded process did, ready to be joined with other processes.
#pragma once

#include <vector>

#include "goal/inputs/process_recording.h"
#include "goal/inputs/recorded_process.h"

namespace assay::goal {

// One for each GPU that the process used.
std::vector<ProcessRecording> recordings_of(const RecordedProcess& process);

}  // namespace assay::goal
