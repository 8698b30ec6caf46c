#include "trace/sheet.h"

namespace assay::trace {
namespace {

std::vector<model::Table> build_warnings(const RankAnalysis& rank) {
  if (rank.options.compat != Compat::kNone) return {};
  return {warnings_table(rank.warnings)};
}

const SheetSpec kWarnings{.name = "warnings", .position = 1000, .build = build_warnings};
ASSAY_REGISTER(SheetSpec, kWarnings);

}  // namespace
}  // namespace assay::trace
