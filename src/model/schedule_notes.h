// A JSON file beside a GOAL schedule, with what the schedule itself cannot hold: the GPU of each
// rank, the NCCL operation of each part of the graph, the meaning of the tags, and the measured
// times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/collective.h"

namespace assay::model {

struct ScheduleRank {
  std::string node;
  std::int64_t process_id = 0;
  std::int32_t device = -1;
  std::uint32_t clock = 0;  // ranks with the same number have comparable times
};

// An operation of the whole communicator: one AllReduce of all its ranks, or one Send with its
// Recv.
struct ScheduleOperation {
  NcclFunction function = NcclFunction::kAllReduce;  // kSendRecv for a send with its receive
  NcclAlgorithm algorithm = NcclAlgorithm::kNone;
  NcclProtocol protocol = NcclProtocol::kNone;
  std::string parallelism;   // "DP", "PP", "Other"
  std::string communicator;  // its name in the recording
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;  // Operation::bytes
  std::uint32_t num_ranks = 0;
  std::uint32_t num_channels = 0;
  std::uint32_t label = 0;  // the label in the tags of its messages
};

// The part of one rank's graph that represents one operation. Its operations are consecutive.
struct OperationSpan {
  std::uint32_t operation = 0;  // index into ScheduleNotes::operations
  std::uint32_t first_op = 0;   // index into the rank's graph
  std::uint32_t num_ops = 0;
  std::int64_t measured_start_ns = 0;  // start of the kernel; comparable where ranks share a clock
  std::int64_t measured_end_ns = 0;
};

// tag = (label << id_width) | id for "bits", or label * 10^id_width + id for "decimal".
struct TagLayout {
  std::string name = "none";  // "bits", "decimal", "none"
  unsigned id_width = 31;     // bits, or decimal digits
  unsigned label_width = 0;
  std::vector<std::string> label_fields = {};  // "parallelism", "communicator", …
};

struct ScheduleNotes {
  std::string generator;           // "assay 0.3.0"
  std::string source;              // the name of the recording that was the input
  std::string nccl_version;        // empty if unknown
  std::string made_for = "assay";  // the simulator: "assay", "loggopsim" or "htsim"
  double time_unit_ns = 1;         // calculations are counted in this
  // NCCL's algorithms were chosen for network cards of so many 1e9 bytes per second, one for each
  // GPU; 0: they are as recorded, or there are none.
  double nic_gbps = 0;
  std::vector<ScheduleRank> ranks = {};
  TagLayout tags = {};
  std::vector<ScheduleOperation> operations = {};
  std::vector<std::vector<OperationSpan>> spans = {};  // [rank], in the order of the graph
};

// Returns "out/job.notes.json" for "out/job.bin".
std::filesystem::path notes_path(const std::filesystem::path& schedule);

core::Status write_notes(const std::filesystem::path& path, const ScheduleNotes& notes);

// Fails with the file and the field in the message.
core::Result<ScheduleNotes> read_notes(const std::filesystem::path& path);

// Reads the notes that lie beside a schedule, if there are any.
core::Result<std::optional<ScheduleNotes>> read_notes_beside(const std::filesystem::path& schedule);

// Reads the content of a file, which errors call `name`.
core::Result<ScheduleNotes> parse_notes(std::string content, const std::string& name);

}  // namespace assay::model
