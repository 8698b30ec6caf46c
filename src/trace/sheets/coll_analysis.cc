// coll_analysis: the collectives of this rank by kind, size and stream.
#include "trace/collectives/sheet.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

std::vector<model::Table> build_coll_analysis(const RankAnalysis& rank) {
  if (hides_operators(rank)) return {};
  const collectives::Study study =
      collectives::study_collectives(collectives::extract(std::span(&rank, 1)));
  model::Table table = collectives::rank_summary(
      study, "coll_analysis", collectives::NodeColumns::kHide,
      study.is_compat() ? collectives::RankLabel::kZero : collectives::RankLabel::kReal);
  if (table.row_count() == 0) return {};
  return {std::move(table)};
}

const SheetSpec kCollAnalysis{"coll_analysis", 900, build_coll_analysis};
ASSAY_REGISTER(SheetSpec, kCollAnalysis);

}  // namespace
}  // namespace assay::trace
