// The files and tables that a collection leaves: the public collector's tables and JSON files of
// failures, and tables for people.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collect/run/tally.h"
#include "collect/run/worker_slot.h"
#include "core/result.h"
#include "model/table.h"
#include "store/database/store.h"

namespace assay::collect {

struct ReportHeading {
  std::string backend;  // the framework column: "assay"
  std::string version;
};

// Makes "DIR/reports/gemm+moe_20260821_120000", named by the local time. The workers' logs go
// there, too.
core::Result<std::filesystem::path> make_report_folder(const std::filesystem::path& folder,
                                                       const std::vector<std::string>& operators);

// Makes DIR/reports/latest a link to this folder beside it. Readers see the old link or the new
// one.
void link_latest(const std::filesystem::path& folder);

// The record of a case as the store keeps it. The detail of a failure is the public collector's
// {module, device_id, task_id, task_params, error_type, error_message, traceback, timestamp}.
store::CaseRecord record_of(FinishedCase finished, const std::string& backend);

// Writes errors_<backend>.<operator>.json for each operator with failures, and
// collection_summary_<backend>.json.
core::Status write_reports(const std::filesystem::path& folder,
                           const ReportHeading& heading,
                           const Tally& tally,
                           const std::vector<TimeUse>& times);

// Tables of the counts by operator, the failures by class and the skips by reason.
model::Book tally_book(const Tally& tally);

// Writes every table of the store as the public collector does: DIR/gemm_perf.txt, ... The tables
// of NCCL and of the custom all-reduce are written a second time under the names that the public
// collector's guide gives them: comm_perf.txt, custom_all_reduce.txt. Returns the files written.
core::Result<std::vector<std::filesystem::path>> write_public_tables(
    const store::Store& store, const std::filesystem::path& folder);

}  // namespace assay::collect
