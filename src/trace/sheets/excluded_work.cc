#include "trace/sheet.h"

namespace assay::trace {
namespace {

std::vector<model::Table> build_excluded_work(const RankAnalysis& rank) {
  if (rank.options.compat != Compat::kNone) return {};
  model::Table table{"excluded_work",
                     "GPU work that the figures leave out",
                     {{"kind"}, {"kernels"}, {"time ms", "ms"}, {"meaning"}}};
  const auto add = [&](const char* kind, const KernelTally& tally, const char* meaning) {
    table.add_row({std::string(kind), tally.kernels, rank.time.milliseconds(tally.ticks),
                   std::string(meaning)});
  };
  add("leaked", rank.excluded.leaked, "launched before the profile began: no recorded call");
  add("outside", rank.excluded.outside, "launched by a recorded call outside the profiled steps");
  return {std::move(table)};
}

const SheetSpec kExcludedWork{
    .name = "excluded_work", .position = 990, .build = build_excluded_work};
ASSAY_REGISTER(SheetSpec, kExcludedWork);

}  // namespace
}  // namespace assay::trace
