// The cards of one comparison: charts of its evidence, and a card for every table of its report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"
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

}  // namespace assay::trace
