#include "trace/sheet.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Table;

std::vector<model::Column> share_columns() {
  return {{"type"},
          {"time ms", "ms", Better::kLower, "union over all streams"},
          {"percent", "%", Better::kNeither, "of total_time"}};
}

double percent_of(std::int64_t part, std::int64_t total) {
  return total == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(total);
}

Table timeline_table(const RankAnalysis& rank, const BusyIntervals& busy) {
  Table table{"gpu_timeline", "How the GPU spent the profiled steps", share_columns()};
  const Timeline times = timeline(busy, rank.window);
  const auto rows = times.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.add_row({std::string(kTimelineRows[i]), rank.time.milliseconds(rows[i]),
                   percent_of(rows[i], times.total)});
  }
  return table;
}

Table steps_table(const RankAnalysis& rank, const BusyIntervals& busy) {
  std::vector<model::Column> columns = share_columns();
  columns.insert(columns.begin(), {"step", "", Better::kNeither, "N of ProfilerStep#N"});
  Table table{"gpu_timeline_steps",
              "gpu_timeline of each profiled step, from its first GPU work to that of the next",
              std::move(columns)};
  for (const Step& step : rank.steps) {
    const Timeline times = timeline(busy, step.window);
    const auto rows = times.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      table.add_row({step.number, std::string(kTimelineRows[i]), rank.time.milliseconds(rows[i]),
                     percent_of(rows[i], times.total)});
    }
  }
  return table;
}

std::vector<Table> build(const RankAnalysis& rank) {
  const BusyIntervals busy = busy_intervals(rank);
  if (busy.all.empty()) return {};
  std::vector<Table> tables;
  tables.push_back(timeline_table(rank, busy));
  if (!rank.steps.empty()) tables.push_back(steps_table(rank, busy));
  return tables;
}

const SheetSpec kSheet{.name = "gpu_timeline", .position = 100, .build = build};
ASSAY_REGISTER(SheetSpec, kSheet);

}  // namespace
}  // namespace assay::trace
