// final_analysis_report_for_all: any number of settings side by side.
#pragma once

#include <span>

#include "model/table.h"
#include "trace/compare/bandwidth.h"
#include "trace/compare/configuration.h"
#include "trace/compare/setting_figures.h"

namespace assay::trace {

inline constexpr const char* kAllRunsReport = "final_analysis_report_for_all";

// The first setting is the one that the others are compared with. Sheets:
//   Pairs             see pairs.h
//   Bandwidth, Bandwidth_Channels  see bandwidth.h
//   Stragglers        see stragglers.h
//   Summary           one row for each type of the timeline, with its mean over ranks in each
//   setting Per_Rank_Time_ms  one row for each type and rank NCCL_Summary      one row for each
//   kind and size of message that any setting has
// Times are those of a steady step, or of whole traces where a setting names no steps. The public
// tool has the last three sheets. Its percentage_change is positive for a longer time; only for
// kTraceLens, which has whole traces and these three alone, it is here, too. Otherwise
// percent_change is positive when a setting is better than the first, as in all other reports.
model::Book all_runs_report(std::span<const SettingFigures> settings,
                            const CompareOptions& options,
                            std::span<const NcclCurve> curves = {});

// Returns whether a sheet says what only a comparison of all settings can: those that the public
// tool does not have.
bool is_of_all_settings(const model::Table& table);

}  // namespace assay::trace
