// Simulates a task of a study as `assay simulate` would with its options.
#pragma once

#include <string>
#include <vector>

#include "simulate/study/study.h"
#include "simulate/study/task_result.h"

namespace assay::cli {

// On one processor. What goes wrong is in the result.
simulate::TaskResult run_study_task(const simulate::StudyTask& task);

// Returns a sentence for each job and size whose graph is more than its tasks can hold.
std::vector<std::string> graph_problems(const std::vector<simulate::StudyTask>& tasks);

}  // namespace assay::cli
