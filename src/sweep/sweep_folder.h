// The folder of a sweep:
//
//   sweep.json                    the plan
//   sweep_summary.txt .csv .json  the outcome so far
//   <setting>/                    a successful run, or its repeats repeat1, repeat2, …; each holds
//     torch_profiler/rank<N>/       the files that the command wrote
//     run_output.log                the command's output
//     sweep_run.json                the record of the run
//   <run>.failed                  a failed run with the same files; .failed2 if it failed again
//   <run>.unfinished              a run that was cut off together with the sweep
//   <run>.log                     the output of a run that goes on; becomes its run_output.log
//   <run>.file                    what a command put in the place of its folder
//
// The command may do anything to its folder, so the output stands beside the folder until the
// command has ended. A file that the command itself called run_output.log or sweep_run.json gets
// the ending ".own".
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/result.h"
#include "model/facts.h"
#include "sweep/plan.h"
#include "sweep/run_record.h"

namespace assay::sweep {

inline constexpr const char* kPlanFile = model::kSweepPlanFile;
inline constexpr const char* kSummaryName = "sweep_summary";
inline constexpr const char* kOutputLog = "run_output.log";

bool holds_sweep(const std::filesystem::path& folder);

// Fails if the folder is not empty, and says what to do about it.
core::Status check_new_folder(const std::filesystem::path& folder);

// Only reads, so a sweep may be running in the folder.
core::Result<Plan> read_plan(const std::filesystem::path& folder);

// Returns the newest record of each run that has one, in the order of the sweep.
std::vector<RunRecord> read_records(const std::filesystem::path& folder, const Plan& plan);

// The place of a run that goes on.
struct RunFiles {
  std::filesystem::path folder;  // for the command
  std::filesystem::path log;     // for the command's output
};

class SweepFolder {
 public:
  // Makes the folder and writes the plan. Fails if the folder is not empty.
  static core::Result<SweepFolder> create(const std::filesystem::path& path, const Plan& plan);

  // Opens the folder of an existing sweep, after waiting for the sweep's last run to end. If it has
  // to wait, it first calls `on_wait` with the holder's words: "process 812 on node7".
  static core::Result<SweepFolder> reopen(
      const std::filesystem::path& path,
      const std::function<void(const std::string&)>& on_wait = [](const std::string&) {});

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Replaces the plan with one that has more repeats.
  [[nodiscard]] core::Status extend(const Plan& plan) const;

  // Returns an empty folder for a run that begins now. Files that an unfinished run left there are
  // moved to "<run>.unfinished".
  [[nodiscard]] core::Result<RunFiles> begin_run(const std::filesystem::path& run) const;

  // Makes the folder one that can be read and written again, whatever the command did to it.
  // Returns what that was: "the command removed its folder", or "".
  [[nodiscard]] core::Result<std::string> mend_run(const std::filesystem::path& run) const;

  // If the disk is full, removes the files of a run that was not successful and cuts its output, so
  // that the next run has room. Returns what it did, or "".
  [[nodiscard]] std::string make_room(const std::filesystem::path& run) const;

  // Writes the record and puts the output beside it, and renames the folder if the run was not
  // successful. Sets record.folder, and adds a warning if the output is gone.
  core::Status end_run(const std::filesystem::path& run, RunRecord& record) const;

  // Moves the files of an unfinished run to "<run>.unfinished".
  [[nodiscard]] core::Status set_aside(const std::filesystem::path& run) const;

 private:
  SweepFolder(std::filesystem::path path, core::FileLock lock);

  [[nodiscard]] RunFiles files_of(const std::filesystem::path& run) const;

  std::filesystem::path path_;
  core::FileLock lock_;
};

}  // namespace assay::sweep
