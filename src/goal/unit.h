// The operations of a job that ran at the same time because they had to: one collective, or the
// launches that a chain of sends and receives connects. Each is a small job of its own, to be
// simulated alone and set beside the time that was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "goal/resolve.h"
#include "model/job.h"

namespace assay::goal {

// One time that a unit ran.
struct Occurrence {
  std::int64_t measured_ns = 0;               // from the last GPU's start to the last one's end
  std::vector<std::int64_t> start_offset_ns;  // by GPU: after the first one's start
};

struct Unit {
  std::string function;  // "AllReduce", "SendRecv"; "AllGather + …" for a group of several
  model::NcclAlgorithm algorithm = model::NcclAlgorithm::kNone;
  model::NcclProtocol protocol = model::NcclProtocol::kNone;
  std::uint64_t bytes = 0;  // Operation::bytes, summed over a group's operations of one GPU
  std::uint32_t num_gpus = 0;
  std::uint32_t num_nodes = 0;
  std::uint32_t num_channels = 0;  // most of an operation
  std::vector<Occurrence> occurrences;
  model::Job job;  // its operations alone, with start_ns 0
};

// What was seen several times is one unit with several occurrences. Where its GPUs do not share a
// clock, the time is that of the shortest kernel and the offsets are 0.
std::vector<Unit> find_units(const Resolved& resolved);

// The occurrence whose time is the (lower) median.
const Occurrence& median_occurrence(const Unit& unit);

}  // namespace assay::goal
