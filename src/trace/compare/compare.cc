#include "trace/compare/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "core/text.h"
#include "trace/attribution/table.h"
#include "trace/compare/attribution_sheet.h"
#include "trace/compare/collective_comparison.h"
#include "trace/compare/combine.h"
#include "trace/compare/final_report.h"
#include "trace/compare/timeline_comparison.h"

namespace assay::trace {
namespace {

// Columns are called "<label>_<metric>", so a label must not be one of these prefixes.
constexpr std::array<const char*, 5> kColumnPrefixes = {"diff", "percent_change", "ratio",
                                                        "ci_low_percent", "ci_high_percent"};

core::Status check_label(const std::string& label) {
  if (label.empty()) return core::Error{"a configuration's label is empty; give --labels a,b"};
  const std::string lower = core::lower_case(label);
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

namespace {

void add_cause(Answer& answer, const core::Result<attribution::Attribution>& attribution) {
  std::string text = attribution.ok() ? attribution::attribution_in_words(attribution.value())
                                      : "Unknown: the runs cannot be set side by side, " +
                                            attribution.error().message + ".";
  if (attribution.ok()) {
    for (const std::string& note : attribution.value().notes)
      text += " " + note;
  }
  const auto why =
      std::find_if(answer.lines.begin(), answer.lines.end(),
                   [](const AnswerLine& line) { return line.question == kWhyQuestion; });
  if (why != answer.lines.end()) answer.lines.insert(why + 1, {kCauseQuestion, text});
}

// The sheet follows the answer.
void insert_attribution(model::Book& report,
                        const core::Result<attribution::Attribution>& attribution,
                        const Sides& sides) {
  const auto answer =
      std::find_if(report.tables.begin(), report.tables.end(),
                   [](const model::Table& table) { return table.name == "Answer"; });
  if (answer == report.tables.end()) return;
  report.tables.insert(answer + 1,
                       attribution::attribution_table(attribution.value(),
                                                      {sides.baseline.label, sides.test.label}));
}

}  // namespace

core::Status check_sides(const Sides& sides) {
  ASSAY_TRY(check_side(sides.baseline));
  ASSAY_TRY(check_side(sides.test));
  // Excel's tables ignore case in column names.
  if (core::lower_case(sides.baseline.label) == core::lower_case(sides.test.label))
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
  const auto attribution = attribution_of(sides);
  if (attribution) add_cause(result.answer, *attribution);
  result.final_report =
      final_report(sides, result.timeline_comparison, result.collective_comparison, result.answer);
  if (attribution && attribution->ok())
    insert_attribution(result.final_report, *attribution, sides);
  return result;
}

}  // namespace assay::trace
