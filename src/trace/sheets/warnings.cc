#include "trace/sheet.h"

namespace assay::trace {
namespace {

std::vector<model::Table> build(const RankAnalysis& rank) {
  if (rank.options.compat != Compat::kNone) return {};
  return {warnings_table(rank.warnings)};
}

const SheetSpec kSheet{.name = "warnings", .position = 1000, .build = build};
ASSAY_REGISTER(SheetSpec, kSheet);

}  // namespace
}  // namespace assay::trace
