// The cards of one comparison: charts of its evidence, and a card for every table of its report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"
#include "trace/compare/bandwidth.h"
#include "trace/compare/pairs.h"
#include "trace/page/evidence.h"

namespace assay::trace {

// Ids begin with `prefix` when it is not empty, so that several comparisons can be on one page.
// Cards without their data are left out. The evidence must outlive the cards.
std::vector<report::PageCard> chart_cards(const ComparisonEvidence& evidence,
                                          const std::string& prefix);
std::vector<report::PageCard> table_cards(const ComparisonEvidence& evidence,
                                          const std::string& prefix);

// The id of the card of a table.
std::string table_card_id(const std::string& prefix, const std::string& table);

// The charts, each where its data is.
std::optional<report::WaterfallChart> attribution_chart(const ComparisonEvidence& evidence,
                                                        const std::string& prefix);
std::optional<report::CompositionChart> composition_chart(const ComparisonEvidence& evidence);
// The baseline and every test, with means over ranks.
std::optional<report::CompositionChart> settings_chart(
    std::span<const ComparisonEvidence> comparisons);
std::optional<report::MapChart> step_map(const SideEvidence& side);
std::optional<report::CurveFigure> bandwidth_curves(const ComparisonEvidence& evidence);
// By how much each setting is faster than each other one; "=" for the same, "?" for unclear.
std::optional<report::MapChart> pairs_map(const SettingPairs& pairs);

// Bus bandwidth of every setting by size, with NCCL's own curves and the links behind it, and by
// channels. std::nullopt where no setting has any.
std::optional<report::CurveFigure> bandwidth_of_all(std::span<const SettingFigures> settings,
                                                    std::span<const NcclCurve> curves);
std::optional<report::CurveFigure> bandwidth_by_channels(std::span<const SettingFigures> settings);

// How often each rank comes last to the collectives of each setting. std::nullopt for none.
std::optional<report::MapChart> straggler_map(std::span<const SettingFigures> settings);

// The cards of all settings together.
std::vector<report::PageCard> all_runs_cards(std::span<const SettingFigures> settings,
                                             std::span<const NcclCurve> curves,
                                             const Criterion& criterion);

}  // namespace assay::trace
