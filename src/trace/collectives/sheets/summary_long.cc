// nccl_summary_long: each rank's collectives by kind, size and stream.
#include "trace/collectives/rank_summary.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

std::vector<model::Table> build(const Study& study) {
  model::Table table =
      rank_summary(study, "nccl_summary_long", NodeColumns::kShow, RankLabel::kReal);
  if (table.row_count() == 0) return {};
  return {std::move(table)};
}

const CollectiveSheet kSheet{"summary_long", 200, build};
ASSAY_REGISTER(CollectiveSheet, kSheet);

}  // namespace
}  // namespace assay::trace::collectives
