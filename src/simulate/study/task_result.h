// What came of a task of a study, and the file that keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::simulate {

struct TaskResult {
  std::string error;  // why there is no result; then only the times below are there
  std::int64_t ranks = 0;
  std::int64_t end_ns = 0;  // of the slowest rank
  // With a network: contention on the critical path as a share of the end, and what messages lost
  // to each other as a share of their time.
  std::optional<double> contention_percent = {};
  std::optional<double> lost_percent = {};
  // With costs: the share of the time of ranks that was replaced.
  std::optional<double> replaced_percent = {};
  std::vector<std::string> warnings = {};
  double cpu_seconds = 0;
  double peak_mb = 0;
};

std::string json_of(const TaskResult& result);

// Reads what json_of() made.
core::Result<TaskResult> parse_task_result(std::string_view text);

}  // namespace assay::simulate
