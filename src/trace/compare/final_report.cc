#include "trace/compare/final_report.h"

#include <array>
#include <string>

#include "trace/compare/combine.h"
#include "trace/compare/dashboard.h"

namespace assay::trace {
namespace {

constexpr std::size_t kSheetNameLimit = 31;  // Excel's

struct SheetOrigin {
  const char* name;    // in the final report
  const char* source;  // in the comparison's book
  model::Visibility shown;
};

constexpr auto kHidden = model::Visibility::kHidden;
constexpr auto kVisible = model::Visibility::kVisible;

constexpr std::array<SheetOrigin, 7> kTimelineSheets = {{
    {"GPU_Summary_Raw", "Summary", kHidden},
    {"GPU_AllRanks_Raw", "All_Ranks_Combined", kHidden},
    {"GPU_Time_Raw", "Per_Rank_Time_ms", kHidden},
    {"GPU_Pct_Raw", "Per_Rank_Percent", kHidden},
    {"GPU_Steps_Raw", "Per_Step", kHidden},
    {"GPU_ByRank_Cmp", "Comparison_By_Rank", kVisible},
    {"GPU_Summary_Cmp", "Summary_Comparison", kVisible},
}};

constexpr std::array<SheetOrigin, 2> kCollectiveRaw = {{
    {"NCCL_ImplSync_Raw", "nccl_summary_implicit_sync", kHidden},
    {"NCCL_Long_Raw", "nccl_summary_long", kHidden},
}};

constexpr std::array<SheetOrigin, 3> kCollectiveComparisons = {{
    {"NCCL_ImplSync_Cmp", "nccl_implicit_sync_cmp", kVisible},
    {"NCCL_All2Allv_Cmp", "nccl_all2allv_cmp", kVisible},
    {"NCCL_Long_Cmp", "nccl_long_cmp", kVisible},
}};

template <std::size_t N>
void add_sheets(model::Book& report,
                const model::Book& from,
                const std::array<SheetOrigin, N>& sheets) {
  for (const SheetOrigin& sheet : sheets)
    if (const model::Table* table = from.find(sheet.source))
      report.tables.push_back(renamed(*table, sheet.name, sheet.shown));
}

bool has_own_name(const std::string& source) {
  for (const SheetOrigin& sheet : kCollectiveRaw)
    if (source == sheet.source) return true;
  return false;
}

void add_other_summaries(model::Book& report, const model::Book& collective) {
  for (const model::Table& table : collective.tables) {
    if (table.name.find("summary") == std::string::npos || has_own_name(table.name)) continue;
    report.tables.push_back(
        renamed(table, ("NCCL_" + table.name + "_Raw").substr(0, kSheetNameLimit), kHidden));
  }
}

}  // namespace

model::Book final_report(const Sides& sides,
                         const model::Book& timeline,
                         const model::Book& collective,
                         const Answer& answer) {
  model::Book report{.title = sides.test.label + " against " + sides.baseline.label};
  if (sides.options.compat == Compat::kTraceLens) {
    report.tables.push_back(tracelens_dashboard(sides, timeline.find("Summary_Comparison")));
  } else {
    report.tables.push_back(dashboard(sides, answer));
    report.tables.push_back(answer_table(answer));
  }
  add_sheets(report, timeline, kTimelineSheets);
  add_sheets(report, collective, kCollectiveRaw);
  add_other_summaries(report, collective);
  add_sheets(report, collective, kCollectiveComparisons);
  // An Excel table needs a row.
  for (model::Table& table : report.tables)
    table.style.excel_table = table.row_count() > 0;
  if (sides.options.compat == Compat::kTraceLens) pass_through_workbook(report);
  return report;
}

}  // namespace assay::trace
