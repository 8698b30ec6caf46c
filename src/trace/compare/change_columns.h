// How a change is spread over columns, the same in every comparison sheet.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {

// kMeans: {B}_x, {T}_x, diff_x, percent_change_x, ratio_x.
// kInterval: also ci_low_percent_x and ci_high_percent_x after the percentage.
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

// A figure of each side without judgement: {B}_x, {T}_x.
void append_pair_columns(model::Table& table, const Sides& sides, const Metric& metric);

// What repeated runs differ by, for kRun; nothing else: {B}_run_min_x, {B}_run_max_x, and {T}'s.
void append_range_columns(model::Table& table,
                          const Sides& sides,
                          const Metric& metric,
                          Repetition repetition);

void append_ranges(std::vector<model::Cell>& row, const Change& change, Repetition repetition);

// The column of verdicts, and what the columns of percentages begin with.
inline constexpr const char* kStatus = "status";
inline constexpr const char* kPercentChange = "percent_change";

// A visible comparison sheet is an Excel table in which kStatus and the column `judged`, where one
// is named, take the colour of the row's verdict. For kTraceLens: as the public tool has it, a
// scale of colours in every column of percentages.
void style_as_comparison(model::Table& table, const Sides& sides, const std::string& judged = {});

}  // namespace assay::trace
