#include "sweep/overview.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::sweep {
namespace {

using model::Cell;
using model::cell_of;

constexpr double kPercent = 100;

// Settings without a time come last.
bool faster(const SettingResult& a, const SettingResult& b) {
  if (std::isnan(a.step_ms) || std::isnan(b.step_ms)) return !std::isnan(a.step_ms);
  return a.step_ms < b.step_ms;
}

std::vector<Cell> row_of(const SettingResult& result) {
  return {result.setting,
          static_cast<std::int64_t>(result.runs),
          static_cast<std::int64_t>(result.steps),
          cell_of(result.step_ms),
          cell_of(result.change_percent),
          cell_of(result.change_percent_low),
          cell_of(result.change_percent_high),
          result.verdict};
}

}  // namespace

double confidence_of_each(double together, std::size_t comparisons) {
  return 1 - (1 - together) / static_cast<double>(std::max<std::size_t>(comparisons, 1));
}

model::Table overview(std::span<const SettingResult> results,
                      double together,
                      const std::string& repetition) {
  model::Table table{
      .name = "overview",
      .title = "Settings beside the baseline, the fastest first",
      .columns = {{.name = "setting"},
                  {.name = "runs", .description = "that went well"},
                  {.name = "steps", .description = "profiled, over all runs"},
                  {.name = "step (ms)",
                   .unit = "ms",
                   .better = model::Better::kLower,
                   .description = "mean duration of a profiled step on the GPU"},
                  {.name = "faster by (%)",
                   .unit = "%",
                   .better = model::Better::kHigher,
                   .description = "than the baseline"},
                  {.name = "low (%)", .unit = "%", .description = "end of its interval"},
                  {.name = "high (%)", .unit = "%", .description = "end of its interval"},
                  {.name = "verdict", .description = "Similar when the interval holds 0"}}};
  std::vector<SettingResult> others(results.begin() + 1, results.end());
  std::stable_sort(others.begin(), others.end(), faster);
  table.notes = {fmt::format(
      "{} comparisons: each interval has {:.4g} % confidence, so that all hold together with "
      "{:g} %; it counts {}s",
      others.size(), kPercent * confidence_of_each(together, others.size()), kPercent * together,
      repetition)};
  table.add_row(row_of(results.front()));
  for (const SettingResult& other : others)
    table.add_row(row_of(other));
  return table;
}

}  // namespace assay::sweep
