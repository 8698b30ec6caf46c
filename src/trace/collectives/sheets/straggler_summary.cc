// straggler_summary: how long each rank waits for the others; the first row is the straggler.
#include <cmath>

#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {
namespace {

using model::Better;

// Returns the function that makes a cell of a figure. The public tool rounds to one decimal, halves
// to even, and has 0 where there is nothing to count.
std::function<model::Cell(double)> figure_cell(bool is_compat) {
  if (is_compat)
    return [](double value) -> model::Cell {
      return std::isnan(value) ? 0 : std::nearbyint(value * 10) / 10;
    };
  return real;
}

std::vector<model::Table> build_straggler_summary(const Study& study) {
  if (study.synchronised.empty()) return {};
  const auto cell = figure_cell(study.is_compat());
  const char* alone =
      study.is_compat() ? "" : "collectives where no other rank did at the same nanosecond";
  Fields<Straggler> fields = {
      {{"rank"}, [](const Straggler& row) { return std::int64_t{row.rank->rank}; }},
      {{"total_wait_time_us", "us"},
       [cell](const Straggler& row) { return cell(row.total_wait_us); }},
      {{"mean_wait_time_us", "us"},
       [cell](const Straggler& row) { return cell(row.mean_wait_us()); }},
      {{"times_arrived_last", "", Better::kNeither, alone},
       [](const Straggler& row) { return row.arrived_last; }},
      {{"times_arrived_first", "", Better::kNeither, alone},
       [](const Straggler& row) { return row.arrived_first; }},
      {{"pct_arrived_last", "%", Better::kNeither, "times_arrived_last, of num_collectives"},
       [cell](const Straggler& row) { return cell(row.last_percent()); }},
      {{"num_collectives", "", Better::kNeither,
        study.is_compat() ? "" : "those of which no rank of the group is missing"},
       [](const Straggler& row) { return row.collectives; }},
      {{"total_nccl_dur_us", "us", Better::kLower},
       [cell](const Straggler& row) { return cell(row.total_duration_us); }},
  };
  if (!study.is_compat()) {
    fields.push_back({{"overlap with computation (%)", "%", Better::kHigher,
                       "share of the rank's communication time during which it also computes"},
                      [](const Straggler& row) { return real(row.rank->overlap_percent); }});
  }
  if (study.recording.ranks_per_node > 0) {
    fields.push_back(
        {{"node_id"}, [](const Straggler& row) { return std::int64_t{row.rank->node}; }});
  }
  return {make_table("straggler_summary",
                     "How long each rank waits for the others; the first holds them up", fields,
                     stragglers(study))};
}

const CollectiveSheet kStragglerSummary{"straggler_summary", 800, build_straggler_summary};
ASSAY_REGISTER(CollectiveSheet, kStragglerSummary);

}  // namespace
}  // namespace assay::trace::collectives
