#include "trace/page/cards.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
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
  void add(const char* name,
           const std::string& title,
           std::optional<Chart> chart,
           std::string note = {}) {
    if (!chart) return;
    report::PageCard card{
        .id = with_prefix(prefix_, name), .title = title, .content = std::move(*chart)};
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
  constexpr double kLeastMs = 0.0005;
  if (std::fabs(most_change) < kLeastMs) return "No part of a step changes by a microsecond";
  return fmt::format("Of a step's parts, {} changes most: {:+.3g} ms per step",
                     chart.parts[most].name, most_change);
}

// Returns as many digits as tell two times apart, three to six.
int digits_between(double low, double high) {
  constexpr int kMostDigits = 6;
  int digits = 3;
  while (low < high && digits < kMostDigits &&
         fmt::format("{:.{}g}", low, digits) == fmt::format("{:.{}g}", high, digits))
    ++digits;
  return digits;
}

std::string map_title(const report::MapChart& chart, const std::string& label) {
  const std::vector<double>& values = chart.panels.front().values;
  std::optional<std::size_t> longest;
  std::optional<std::size_t> shortest;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (!longest || values[i] > values[*longest]) longest = i;
    if (!shortest || values[i] < values[*shortest]) shortest = i;
  }
  if (!longest) return label + ": length of each step on each rank (ms)";
  const std::size_t width = chart.columns.size();
  const int digits = digits_between(values[*shortest], values[*longest]);
  return fmt::format("{}: steps take {:.{}g} to {:.{}g} ms; the longest is {} on rank {}", label,
                     values[*shortest], digits, values[*longest], digits,
                     chart.columns[*longest % width], chart.rows[*longest / width]);
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

// Each side has a scale of its own: a difference between the sides would hide those between steps.
void add_step_map(Cards& cards, const SideEvidence& side, const char* name) {
  auto chart = step_map(side);
  if (!chart) return;
  const std::string title = map_title(*chart, side.label);
  cards.add(name, title, std::move(chart));
}

void add_timeline(Cards& cards, const SideEvidence& side, const char* name) {
  if (!side.glimpse.step || side.glimpse.step->lanes.empty()) return;
  cards.add(name,
            fmt::format("{}: step {} on all ranks takes {:.3g} ms", side.label,
                        side.glimpse.step_number, side.glimpse.step_ms),
            side.glimpse.step,
            "The step of median length (the ranks' mean period), on one clock. Above: computation "
            "and copies; below: "
            "communication; outlined: the critical path.");
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
    const std::string title = composition_title(*chart);
    cards.add("composition", title, std::move(chart),
              "The means of the steady steps, as in the answer.");
  }
  add_step_map(cards, evidence.baseline, "steps-baseline");
  add_step_map(cards, evidence.test, "steps-test");
  if (auto chart = bandwidth_curves(evidence)) {
    const std::string title = bandwidth_title(*chart);
    cards.add("bandwidth", title, std::move(chart),
              "Dots are means, bars the range of all instances; rings: the baseline. Messages "
              "below 4 KiB, whose "
              "time is latency, are in the tables.");
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
