// What the recording of one process says, before the processes are joined into a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/job.h"

namespace assay::goal {

// A communicator as one of its ranks saw it.
struct CommunicatorView {
  std::string name;                                // the same in all processes
  std::int32_t rank = -1;                          // -1: the recording does not say
  std::uint32_t num_ranks = 0;                     // 0: the recording does not say
  std::vector<model::ChannelLinks> channels = {};  // of this rank, by channel; may be empty
};

struct ProcessRecording {
  std::string file;  // for messages
  model::JobGpu gpu;
  // Operation::communicator indexes these until join_processes() makes it an index into the job's.
  std::vector<CommunicatorView> communicators = {};
  model::KernelMatches matches = {};
  model::Warnings warnings = {};
};

// Sorts the processes by node, then by their rank in the largest communicator (on a node that has
// processes outside it: by device and process id), and joins what they say about their
// communicators. A process that was recorded
// twice counts once; ranks that nobody claims are model::kNoGpu. Each is counted in the warnings.
model::Job join_processes(std::vector<ProcessRecording> processes);

// Orders names with numbers by these: "nid9" before "nid10".
bool less_by_number(const std::string& a, const std::string& b);

}  // namespace assay::goal
