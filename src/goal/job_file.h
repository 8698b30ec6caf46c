// A job as a file: what `assay goal generate --write job` keeps of a recording, for `assay
// simulate` and for later schedules of other sizes. It holds the operations of the recorded GPUs
// and, as a rule, the replicas that are to be made of them; so it is as large as the recording,
// whatever the size of the job.
//
//   {"assay_job": 1, "nccl_version": "2.28.9", "replicas": 256, "replica_communicator": "",
//    "keep_algorithms": false, "nic_gbps": 50, "merged": false, "stream_order": "observed",
//    "costs": {…}, "communicators": [{"name": "0xabc", "parallelism": "DP", "gpus": [0, 1],
//    "channels": [[[1, 1, -1, 1, -1, -1], …]]}], "gpus": [{"node": "a", "process": 17, "device": 0,
//    "clock": 0, "window": [0, 9],
//              "streams": ["0x10"], "operations": {"bytes": [1, 1], …}, "parts": {…}}]}
//
// Labels guess a communicator's parallelism (Other, PP, DP, EP or TP) where it is absent.
//
// A channel lists for each rank its neighbours: ring previous and next, tree up and three down.
// Operations and parts are columns of equal length; a column that is absent has the default in all
// rows.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"
#include "goal/choose_algorithms.h"
#include "goal/costs.h"
#include "goal/reshape_job.h"
#include "goal/timeline.h"
#include "model/job.h"

namespace assay::goal {

struct JobFile {
  model::Job job;  // without replicas, and without warnings
  ScaleOptions scale;
  ChoiceOptions choices;
  StreamOptions streams;
  Costs costs;  // with a choice of kMean
};

// Returns whether a file with these first bytes is meant to be a job file.
bool is_job_file(std::string_view first_bytes);

// Fails when costs are drawn at random, which a job's file does not hold.
core::Status write_job_file(const std::filesystem::path& path, const JobFile& file);

// Errors name the file and the field.
core::Result<JobFile> read_job_file(const std::filesystem::path& path);

// The same for the text of a file, which errors call `name`.
core::Result<JobFile> parse_job_file(std::string_view text, const std::string& name);

}  // namespace assay::goal
