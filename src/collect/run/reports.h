// What a collection leaves to read: the public collector's JSON files of failures, and tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collect/run/case_time.h"
#include "collect/run/tally.h"
#include "collect/run/worker_slot.h"
#include "core/result.h"
#include "model/table.h"

namespace assay::collect {

struct ReportHeading {
  std::string backend;  // "assay": the framework column
  std::string version;
};

// "DIR/reports/gemm+moe_20260821_120000": of local time. Made; the workers' logs go there too.
core::Result<std::filesystem::path> make_report_folder(const std::filesystem::path& folder,
                                                       const std::vector<std::string>& operators);

// DIR/reports/latest becomes a link to this folder beside it. Readers see the old link or the new
// one.
void link_latest(const std::filesystem::path& folder);

// The record of a case as the store keeps it. Its detail, of a failure, is the public collector's
// {module, device_id, task_id, task_params, error_type, error_message, traceback, timestamp}.
store::CaseRecord record_of(FinishedCase finished, const std::string& backend);

// errors_<backend>.<operator>.json of each operator with failures, and
// collection_summary_<backend>.json.
core::Status write_reports(const std::filesystem::path& folder,
                           const ReportHeading& heading,
                           const Tally& tally,
                           const std::vector<TimeUse>& times);

// Counts by operator, failures by class, skips by reason.
model::Book tally_book(const Tally& tally);

}  // namespace assay::collect
