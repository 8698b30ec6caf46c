// The folder of a sweep:
//
//   sweep.json                    the plan
//   sweep_summary.txt .csv .json  what came of it so far
//   <setting>/                    a run that went well, or repeat1, repeat2, … of it; each with
//     torch_profiler/rank<N>/     what the command wrote,
//     run_output.log              its output,
//     sweep_run.json              and its record
//   <run>.failed                  a run that did not, likewise; .failed2 when it failed again
//   <run>.unfinished              a run that was cut off with the sweep
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/result.h"
#include "sweep/plan.h"
#include "sweep/run_record.h"

namespace assay::sweep {

inline constexpr const char* kPlanFile = "sweep.json";
inline constexpr const char* kSummaryName = "sweep_summary";
inline constexpr const char* kOutputLog = "run_output.log";

bool holds_sweep(const std::filesystem::path& folder);

// Fails when the folder holds anything yet, and says what to do about it.
core::Status check_new_folder(const std::filesystem::path& folder);

// Only reads; a sweep may be going on.
core::Result<Plan> read_plan(const std::filesystem::path& folder);

// The newest record of each run that has one, in the order of the sweep.
std::vector<RunRecord> read_records(const std::filesystem::path& folder, const Plan& plan);

class SweepFolder {
 public:
  // Makes the folder and writes the plan. Fails when the folder holds anything yet.
  static core::Result<SweepFolder> create(const std::filesystem::path& path, const Plan& plan);

  // Goes on with the sweep there, as soon as what it last ran has ended.
  static core::Result<SweepFolder> reopen(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Replaces the plan by one with more repeats.
  [[nodiscard]] core::Status extend(const Plan& plan) const;

  // The folder for a run that begins now, empty. What a run that was cut off left there is moved
  // to "<run>.unfinished".
  [[nodiscard]] core::Result<std::filesystem::path> begin_run(
      const std::filesystem::path& run) const;

  // Keeps the record, and gives the folder of a run that is not good another name. Sets
  // record.folder.
  core::Status end_run(const std::filesystem::path& run, RunRecord& record) const;

  // Moves what a run left that was cut off.
  [[nodiscard]] core::Status set_aside(const std::filesystem::path& run) const;

 private:
  SweepFolder(std::filesystem::path path, core::FileLock lock);

  std::filesystem::path path_;
  core::FileLock lock_;
};

}  // namespace assay::sweep
