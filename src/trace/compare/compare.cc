#include "trace/compare/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <utility>

#include "trace/compare/collective_comparison.h"
#include "trace/compare/combine.h"
#include "trace/compare/final_report.h"
#include "trace/compare/timeline_comparison.h"

namespace assay::trace {
namespace {

// Columns are called "<label>_<metric>", so a label must not be one of these prefixes.
constexpr std::array<const char*, 5> kColumnPrefixes = {"diff", "percent_change", "ratio",
                                                        "ci_low_percent", "ci_high_percent"};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

core::Status check_label(const std::string& label) {
  if (label.empty()) return core::Error{"a configuration's label is empty; give --labels a,b"};
  const std::string lower = lower_case(label);
  if (std::find(kColumnPrefixes.begin(), kColumnPrefixes.end(), lower) != kColumnPrefixes.end())
    return core::Error{fmt::format(
        "the label '{}' is also the name of a comparison column; give another to --labels", label)};
  return {};
}

core::Status check_side(const Configuration& side) {
  ASSAY_TRY(check_label(side.label));
  std::set<std::pair<int, int>> ranks;
  for (const RankReport& report : side.ranks)
    if (!ranks.emplace(report.run, report.rank).second)
      return core::Error{
          fmt::format("configuration '{}' has two reports of rank {}{}", side.label, report.rank,
                      report.run > 0 ? fmt::format(" in repeat {}", report.run) : "")};
  if (side.ranks.empty() && side.collectives.tables.empty())
    return core::Error{fmt::format(
        "configuration '{}' has no timeline of any rank and no collective report", side.label)};
  return {};
}

}  // namespace

core::Status check_sides(const Sides& sides) {
  ASSAY_TRY(check_side(sides.baseline));
  ASSAY_TRY(check_side(sides.test));
  // Excel's tables ignore case in column names.
  if (lower_case(sides.baseline.label) == lower_case(sides.test.label))
    return core::Error{fmt::format(
        "both configurations are called '{}'; give two different --labels", sides.test.label)};
  return {};
}

core::Result<Comparison> compare(const Sides& sides) {
  ASSAY_TRY(check_sides(sides));
  Comparison result;
  result.timeline_combined = combined_timelines(sides);
  result.timeline_comparison = timeline_comparison(sides);
  result.collective_combined = combined_collectives(sides);
  result.collective_comparison = collective_comparison(sides);
  result.answer = answer(sides);
  result.final_report =
      final_report(sides, result.timeline_comparison, result.collective_comparison, result.answer);
  return result;
}

}  // namespace assay::trace
