#include "trace/page/cards.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace assay::trace {
namespace {

std::string with_prefix(const std::string& prefix, const std::string& name) {
  return report::card_id(prefix.empty() ? name : prefix + "." + name);
}

class Cards {
 public:
  explicit Cards(std::string prefix) : prefix_(std::move(prefix)) {}

  template <class Chart>
  void add(const char* name, std::string title, std::optional<Chart> chart, std::string note = {}) {
    if (!chart) return;
    report::PageCard card{
        .id = with_prefix(prefix_, name), .title = std::move(title), .content = std::move(*chart)};
    if (!note.empty()) card.notes = {std::move(note)};
    cards_.push_back(std::move(card));
  }

  std::vector<report::PageCard> take() { return std::move(cards_); }

 private:
  std::string prefix_;
  std::vector<report::PageCard> cards_;
};

// The part that changed most from one side's bars to the other's.
std::string composition_title(const report::CompositionChart& chart) {
  const std::size_t half = chart.bars.size() / 2;
  std::size_t most = 0;
  double most_change = 0;
  for (std::size_t part = 0; part < chart.parts.size(); ++part) {
    double change = 0;
    for (std::size_t i = 0; i < half; ++i)
      change += chart.bars[half + i].values[part] - chart.bars[i].values[part];
    change /= static_cast<double>(std::max<std::size_t>(half, 1));
    if (std::isnan(change) || std::fabs(change) <= std::fabs(most_change)) continue;
    most = part;
    most_change = change;
  }
  return fmt::format("Of a step's parts, {} changes most: {:+.3g} ms per step",
                     chart.parts[most].name, most_change);
}

std::string map_title(const report::MapChart& chart) {
  const report::MapPanel* panel = nullptr;
  std::size_t place = 0;
  for (const report::MapPanel& one : chart.panels) {
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      if (std::isnan(one.values[i]) || (panel != nullptr && one.values[i] <= panel->values[place]))
        continue;
      panel = &one;
      place = i;
    }
  }
  if (panel == nullptr) return "Length of each step on each rank (ms)";
  return fmt::format(
      "The longest step: {:.3g} ms, {}, rank {}, step {} (ms for each rank and step)",
      panel->values[place], panel->title, chart.rows[place / chart.columns.size()],
      chart.columns[place % chart.columns.size()]);
}

std::string bandwidth_title(const report::CurveFigure& figure) {
  const report::Curve* best = nullptr;
  double most = 0;
  for (const report::Curve& curve : figure.curves) {
    if (curve.look == report::Curve::Look::kLimit) continue;
    for (const report::CurvePoint& point : curve.points) {
      if (point.y <= most) continue;
      most = point.y;
      best = &curve;
    }
  }
  return best == nullptr ? std::string("Bus bandwidth by size")
                         : fmt::format("Collectives reach up to {:.3g} GB/s of bus bandwidth ({})",
                                       most, best->name);
}

std::string attribution_title(const ComparisonEvidence& evidence) {
  const model::Table* table = evidence.report.find("Attribution");
  if (table != nullptr && !table->notes.empty()) return table->notes.front();
  return "What the change of a step is made of";
}

void add_timeline(Cards& cards, const SideEvidence& side, const char* name) {
  if (!side.glimpse.step || side.glimpse.step->lanes.empty()) return;
  cards.add(name,
            fmt::format("{}: step {} on all ranks takes {:.3g} ms", side.label,
                        side.glimpse.step_number, side.glimpse.step->length_us / 1000),
            side.glimpse.step,
            "The step of median length. Above: computation and copies; below: communication. Times "
            "are each rank's own.");
}

}  // namespace

std::string table_card_id(const std::string& prefix, const std::string& table) {
  return with_prefix(prefix, table);
}

std::vector<report::PageCard> chart_cards(const ComparisonEvidence& evidence,
                                          const std::string& prefix) {
  Cards cards(prefix);
  cards.add("attribution", attribution_title(evidence), attribution_chart(evidence, prefix));
  if (auto chart = composition_chart(evidence)) {
    std::string title = composition_title(*chart);
    cards.add("composition", std::move(title), std::move(chart));
  }
  if (auto chart = step_map(evidence)) {
    std::string title = map_title(*chart);
    cards.add("steps", std::move(title), std::move(chart));
  }
  if (auto chart = bandwidth_curves(evidence)) {
    std::string title = bandwidth_title(*chart);
    cards.add("bandwidth", std::move(title), std::move(chart),
              "Dots are means over instances, bars the range of runs or instances.");
  }
  add_timeline(cards, evidence.baseline, "timeline-baseline");
  add_timeline(cards, evidence.test, "timeline-test");
  return cards.take();
}

std::vector<report::PageCard> table_cards(const ComparisonEvidence& evidence,
                                          const std::string& prefix) {
  using Shown = report::TableCard::Shown;
  std::vector<report::PageCard> cards;
  for (const model::Table& table : evidence.report.tables) {
    Shown shown = Shown::kClosed;
    if (table.style.visibility == model::Visibility::kHidden) shown = Shown::kBehind;
    if (cards.empty()) shown = Shown::kOpen;
    report::PageCard card{.id = table_card_id(prefix, table.name),
                          .title = table.name + ": " + table.title,
                          .content = report::TableCard{.table = table, .shown = shown}};
    // The answer above already says what opens this table.
    if (!table.style.opens_with_text) card.notes = table.notes;
    cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace assay::trace
