// Simulates a task of a study as `assay simulate` would with its options.
#pragma once

#include "simulate/study/study.h"
#include "simulate/study/task_result.h"

namespace assay::cli {

// On one processor. What goes wrong is in the result.
simulate::TaskResult run_study_task(const simulate::StudyTask& task);

}  // namespace assay::cli
