// Joins the recordings of processes into a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/job.h"

namespace assay::goal {

// A communicator as one of its ranks saw it.
struct CommunicatorView {
  std::string name;             // the same name in all processes
  std::int32_t rank = -1;       // -1: the recording does not say
  std::uint32_t num_ranks = 0;  // 0: the recording does not say
  // The links of this rank, by channel; may be empty.
  std::vector<model::ChannelLinks> channels = {};
};

struct ProcessRecording {
  std::string file;  // for messages
  model::JobGpu gpu;
  // Operation::communicator is an index into these until join_processes() makes it one into the
  // job's.
  std::vector<CommunicatorView> communicators = {};
  model::KernelMatches matches = {};
  model::Warnings warnings = {};
};

// Sorts the processes by node, then by their rank in the largest communicator (on a node with
// processes outside of it, by device and process id), and joins what they say about their
// communicators. A process that was recorded twice counts once; ranks that nobody claims are
// model::kNoGpu. Both are counted in the warnings.
model::Job join_processes(std::vector<ProcessRecording> processes);

// Compares names by the numbers in them: "nid9" comes before "nid10".
bool less_by_number(const std::string& a, const std::string& b);

}  // namespace assay::goal
