// clock_offsets: how far the clocks of the ranks seem to be apart, and which offset and drift were
// removed.
#include <string>

#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

std::vector<model::Table> build_clock_offsets(const Study& study) {
  // The public tool does not correct times.
  if (study.is_compat() || study.offsets.empty()) return {};
  const Fields<RankOffset> fields = {
      {{"rank"}, [](const RankOffset& row) { return std::int64_t{row.rank}; }},
      {{"node"}, [](const RankOffset& row) { return std::int64_t{row.node}; }},
      {{"offset_us", "us", model::Better::kNeither,
        "median over synchronising collectives of this rank's end less the median rank's end"},
       [](const RankOffset& row) { return row.offset_us; }},
      {{"spread_us", "us", model::Better::kNeither, "median absolute deviation"},
       [](const RankOffset& row) { return row.spread_us; }},
      {{"samples"}, [](const RankOffset& row) { return row.samples; }},
      {{"removed_us", "us", model::Better::kNeither,
        "offset of the clock, taken off before skew and waits were computed; where it drifts, that "
        "in "
        "the middle of the collectives"},
       [](const RankOffset& row) { return row.removed_us; }},
      {{"drift_ppm", "", model::Better::kNeither,
        "microseconds that the clock gains in a second, taken off as well; 0 where none is "
        "certain"},
       [](const RankOffset& row) { return row.drift_ppm; }},
      {{"applied"}, [](const RankOffset& row) { return std::string(row.applied ? "yes" : "no"); }},
  };
  return {make_table("clock_offsets",
                     "Clocks of the ranks, seen from the collectives they leave together", fields,
                     study.offsets)};
}

const CollectiveSheet kClockOffsets{"clock_offsets", 950, build_clock_offsets};
ASSAY_REGISTER(CollectiveSheet, kClockOffsets);

}  // namespace
}  // namespace assay::trace::collectives
