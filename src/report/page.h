// One HTML page: the answer first, then charts, then tables. The file contains its data, its
// program and its styles; it opens without a network and never asks for one.
//
// A chart is data: what it shows, not how it is drawn. To add a kind of chart, add a struct with
// its JSON (page_json.cc) and a module of its name in page/charts, and list the module in
// page/chart.js.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "report/colors.h"
#include "report/curves.h"
#include "report/ranking.h"

namespace assay::report {

// A sentence with a link to the card that shows its evidence; no link without an id.
struct PageLine {
  std::string text;
  std::string card = {};
};

struct PageAnswer {
  std::string sentence;      // with its number, unit and certainty
  std::string verdict = {};  // its word, as in tables; chooses a mark in the bar
  std::string compared = {};
  std::vector<PageLine> why = {};             // largest part first
  std::vector<PageLine> next = {};            // what to use, run or measure
  std::vector<PageLine> warnings = {};        // those that touch the answer
  std::vector<PageLine> other_warnings = {};  // shown behind one line
};

// Something that the reader chooses in the bar, such as which setting's cards show.
struct PageChoice {
  std::string name;
  std::vector<std::string> values;
  std::size_t first = 0;  // the value that shows at first
};

// Part of a bar or a category, with the colour that it has on every surface.
struct NamedColor {
  std::string name;
  Color color;
};

struct CompositionBar {
  std::string name;
  std::vector<double> values;  // one for each part; NaN for none
};

// Stacked bars that begin at zero.
struct CompositionChart {
  std::string axis;  // with the unit
  std::string unit;
  std::vector<NamedColor> parts;
  std::vector<CompositionBar> bars;
};

struct WaterfallEnd {
  std::string name;
  double value = 0;
};

struct WaterfallPart {
  std::string name;
  double value = 0;
  std::string note = {};
  std::string card = {};  // the id of the card with the rows behind it
};

// Parts that add up to the difference of two values.
struct WaterfallChart {
  std::string axis;
  std::string unit;
  WaterfallEnd from;
  WaterfallEnd to;
  std::vector<WaterfallPart> parts;
};

// One panel of a map: a value or a name for each place, row by row from the top.
struct MapPanel {
  std::string title;
  std::vector<double> values = {};      // NaN for none
  std::vector<std::string> names = {};  // with kCategories; "" for none
  std::vector<std::string> texts = {};  // shown instead of the values; may be empty
  std::vector<std::string> notes = {};  // more lines on each place; may be empty
};

struct MapChart {
  // kMagnitude: from few to many, logarithmic past two decades. kDifference: about zero,
  // more being worse. kGain: about zero, more being better.
  enum class Scale : std::uint8_t { kMagnitude, kDifference, kGain, kCategories };

  Scale scale = Scale::kMagnitude;
  std::string x_title;
  std::string y_title;
  std::string unit;
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::vector<MapPanel> panels;
  std::vector<NamedColor> categories = {};
};

// What one row of a lane did, in microseconds from the start of the timeline; sorted by start.
struct TimelineSpan {
  double start_us = 0;
  double duration_us = 0;
  std::uint32_t name = 0;  // into TimelineChart::names
  bool is_critical = false;
};

struct TimelineLane {
  std::string name;
  std::vector<std::vector<TimelineSpan>> rows;  // one for each of TimelineChart::rows
};

struct TimelineChart {
  std::string axis;
  double length_us = 0;
  std::vector<NamedColor> rows;  // "computation", "communication"
  std::vector<std::string> names;
  std::vector<TimelineLane> lanes;
};

// Rows of any number, sorted and filtered by the reader. The table must outlive the page.
struct TableCard {
  std::reference_wrapper<const model::Table> table;
  enum class Shown : std::uint8_t { kOpen, kClosed, kBehind } shown = Shown::kClosed;
};

using PageContent = std::variant<RankingFigure,
                                 CompositionChart,
                                 WaterfallChart,
                                 CurveFigure,
                                 MapChart,
                                 TimelineChart,
                                 TableCard>;

struct PageCard {
  std::string id;     // for links; letters, digits, "_", "-" and "."; unique
  std::string title;  // what is seen, not what it is
  PageContent content;
  std::vector<std::string> notes = {};
  // Shows only while these choices have these values.
  std::vector<std::pair<std::string, std::string>> when = {};
};

struct Page {
  std::string title;
  PageAnswer answer;
  std::vector<PageChoice> choices = {};
  std::vector<PageCard> cards = {};
  std::vector<std::pair<std::string, std::string>> provenance = {};  // "inputs", "runs/a"
};

// Returns a text as the id of a card: other characters become "_".
std::string card_id(std::string_view text);

// Returns whether this program was built with pages.
bool has_pages();

// Returns the page, or an error in a program that was built without pages.
core::Result<std::string> page_html(const Page& page);

core::Status write_page(const Page& page, const std::filesystem::path& path);

}  // namespace assay::report
