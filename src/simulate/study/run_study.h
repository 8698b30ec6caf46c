// Runs the tasks of a study, each in a process of its own, and keeps what comes of them:
//
//   FOLDER/tasks/<key>.json          the result of a task, under the digest of all that decides it
//   FOLDER/tasks/.assay-<key>.lock   while a process works on it
//
// A result appears when it is whole. Whoever works on a task holds its lock, which goes away with
// its process however that ends; so a study that was killed goes on where it stopped, and several
// processes on one folder share the tasks without talking to each other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/launched_rank.h"
#include "core/result.h"
#include "simulate/study/study.h"
#include "simulate/study/task_result.h"

namespace assay::simulate {

// Which tasks a process works on: those with this remainder.
struct StudyShare {
  std::size_t index = 0;
  std::size_t count = 1;

  [[nodiscard]] bool holds(std::size_t task) const { return task % count == index; }
};

// Reads the variables of a Slurm array; all tasks where there is none. Error: a variable is not
// what Slurm sets.
core::Result<StudyShare> share_of_array(const core::Variables& variables);

struct StudyWork {
  const std::vector<StudyTask>& tasks;
  std::filesystem::path folder;
  StudyShare share = {};
  std::size_t first = 0;      // among those of the share, so that processes begin apart
  unsigned at_once = 0;       // 0: one a processor
  bool retry_failed = false;  // those that had failed before
  // Runs in a process of its own.
  std::function<TaskResult(const StudyTask& task)> simulate;
  std::function<void(std::size_t task, const TaskResult& result)> on_end;
  std::function<void(std::size_t running, std::size_t left)> on_tick;
};

// Returns why tasks of the share have no result yet, which is that other processes work on them;
// "" if all have one. Error: the folder cannot be written, or the program was interrupted.
core::Result<std::string> run_study(const StudyWork& work);

// The results that are there, by task. What is there but cannot be read counts as not there.
std::vector<std::optional<TaskResult>> results_of(const std::vector<StudyTask>& tasks,
                                                  const std::filesystem::path& folder);

}  // namespace assay::simulate
