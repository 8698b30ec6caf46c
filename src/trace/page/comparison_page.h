// Pages of comparisons.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/page.h"
#include "report/ranking.h"
#include "trace/compare/bandwidth.h"
#include "trace/compare/setting_figures.h"
#include "trace/page/evidence.h"
#include "trace/pipelines.h"

namespace assay::trace {

// The page of one comparison. The evidence must outlive it.
report::Page comparison_page(const ComparisonEvidence& evidence,
                             const std::optional<Headline>& headline);

// What opens a page of several comparisons.
struct PageOpening {
  std::string title;
  report::PageAnswer answer;
  std::optional<report::RankingFigure> ranking = std::nullopt;
  std::string first = {};  // the setting whose comparison shows at first
  bool differs = true;     // its change is certain, so that its parts say why
  std::vector<std::pair<std::string, std::string>> provenance = {};
  const model::Book* tables = nullptr;  // shown before those of the comparisons; may be null
  std::span<const SettingFigures> settings = {};  // the baseline first; may be empty
  std::span<const NcclCurve> curves = {};         // of NCCL alone on their GPU
  Criterion criterion = {};
};

// The page of several comparisons with one baseline: the reader chooses a test, whose cards show.
// Opening and evidence must outlive it.
report::Page comparisons_page(const PageOpening& opening,
                              std::span<const ComparisonEvidence> comparisons);

}  // namespace assay::trace
