// The columns that describe a change, the same in every comparison sheet.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {

// kMeans: {B}_x, {T}_x, diff_x, percent_change_x, ratio_x.
// kInterval: also ci_low_percent_x and ci_high_percent_x, right after the percentage.
enum class ChangeDetail { kMeans, kInterval };

struct Metric {
  std::string name;  // "comm_latency_mean"
  std::string unit = {};
  model::Better better = model::Better::kLower;
};

void append_change_columns(model::Table& table,
                           const Sides& sides,
                           const Metric& metric,
                           ChangeDetail detail);

void append_change(std::vector<model::Cell>& row, const Change& change, ChangeDetail detail);

// Appends the figure of each side without judging it: {B}_x, {T}_x.
void append_pair_columns(model::Table& table, const Sides& sides, const Metric& metric);

// For kRun, appends the range of the runs on each side: {B}_run_min_x, {B}_run_max_x, and the same
// for {T}. Otherwise appends nothing.
void append_range_columns(model::Table& table,
                          const Sides& sides,
                          const Metric& metric,
                          Repetition repetition);

void append_ranges(std::vector<model::Cell>& row, const Change& change, Repetition repetition);

// The name of the column of verdicts, and the prefix of the columns of percentages.
inline constexpr const char* kStatus = "status";
inline constexpr const char* kPercentChange = "percent_change";

// The column of Change::p_corrected.
model::Column p_corrected_column();

// Makes a visible comparison sheet an Excel table in which kStatus and the column `judged`, if one
// is named, take the colour of the row's verdict. For kTraceLens, every column of percentages has a
// colour scale, as in the public tool.
void style_as_comparison(model::Table& table, const Sides& sides, const std::string& judged = {});

}  // namespace assay::trace
