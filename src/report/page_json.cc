#include "report/page_json.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

#include "core/text.h"

namespace assay::report {
namespace {

using Json = nlohmann::ordered_json;

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json finite(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values)
    list.push_back(finite(value));
  return list;
}

Json colors_json(const std::vector<NamedColor>& colors) {
  Json list = Json::array();
  for (const auto& [name, color] : colors)
    list.push_back({{"name", name}, {"color", color.text()}});
  return list;
}

Json json_of(const RankingFigure& figure) {
  Json items = Json::array();
  for (const RankedItem& item : figure.items) {
    items.push_back({{"name", item.name},
                     {"value", finite(item.value)},
                     {"low", finite(item.low)},
                     {"high", finite(item.high)},
                     {"verdict", item.texts.empty() ? "" : item.texts.back()},
                     {"texts", item.texts}});
  }
  return {{"kind", "ranking"},
          {"axis", figure.axis},
          {"tolerance", figure.tolerance},
          {"headings", figure.headings},
          {"items", items}};
}

Json json_of(const CompositionChart& chart) {
  Json bars = Json::array();
  for (const CompositionBar& bar : chart.bars)
    bars.push_back({{"name", bar.name}, {"values", finite(bar.values)}});
  return {{"kind", "composition"},
          {"axis", chart.axis},
          {"unit", chart.unit},
          {"parts", colors_json(chart.parts)},
          {"bars", bars}};
}

Json json_of(const WaterfallChart& chart) {
  const auto end_json = [](const WaterfallEnd& end) {
    return Json{{"name", end.name}, {"value", finite(end.value)}};
  };
  Json parts = Json::array();
  for (const WaterfallPart& part : chart.parts) {
    parts.push_back(
        {{"name", part.name}, {"value", part.value}, {"note", part.note}, {"link", part.card}});
  }
  return {{"kind", "waterfall"},          {"axis", chart.axis},       {"unit", chart.unit},
          {"from", end_json(chart.from)}, {"to", end_json(chart.to)}, {"parts", parts}};
}

Json json_of(const CurveFigure& figure) {
  const auto axis_json = [](const Axis& axis) {
    return Json{{"title", axis.title}, {"bytes", axis.values == Axis::Values::kBytes}};
  };
  constexpr const char* kLooks[] = {"measured", "reference", "limit", "marks"};
  Json curves = Json::array();
  for (const Curve& curve : figure.curves) {
    Json points = Json::array();
    for (const CurvePoint& point : curve.points) {
      points.push_back({{"x", finite(point.x)},
                        {"y", finite(point.y)},
                        {"low", finite(point.low)},
                        {"high", finite(point.high)},
                        {"note", point.note}});
    }
    curves.push_back({{"name", curve.name},
                      {"color", curve.color.text()},
                      {"look", kLooks[static_cast<std::size_t>(curve.look)]},
                      {"points", points}});
  }
  return {{"kind", "curves"},
          {"x", axis_json(figure.x)},
          {"y", axis_json(figure.y)},
          {"curves", curves}};
}

Json json_of(const MapChart& chart) {
  constexpr const char* kScales[] = {"magnitude", "difference", "gain", "categories"};
  Json panels = Json::array();
  for (const MapPanel& panel : chart.panels) {
    Json json = {{"title", panel.title}, {"values", finite(panel.values)}};
    if (!panel.names.empty()) json["names"] = panel.names;
    if (!panel.texts.empty()) json["texts"] = panel.texts;
    if (!panel.notes.empty()) json["notes"] = panel.notes;
    panels.push_back(std::move(json));
  }
  return {{"kind", "map"},
          {"scale", kScales[static_cast<std::size_t>(chart.scale)]},
          {"x_title", chart.x_title},
          {"y_title", chart.y_title},
          {"unit", chart.unit},
          {"columns", chart.columns},
          {"rows", chart.rows},
          {"panels", panels},
          {"categories", colors_json(chart.categories)}};
}

double rounded_us(double microseconds) {
  return std::round(microseconds * 1000) / 1000;
}

// Starts are differences, which have fewer digits. They are differences of rounded values, so that
// the sum stays exact.
Json spans_json(const std::vector<TimelineSpan>& spans) {
  Json start = Json::array();
  Json length = Json::array();
  Json name = Json::array();
  Json critical = Json::array();
  double before = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const double at = rounded_us(spans[i].start_us);
    start.push_back(rounded_us(at - before));
    before = at;
    length.push_back(rounded_us(spans[i].duration_us));
    name.push_back(spans[i].name);
    if (spans[i].is_critical) critical.push_back(i);
  }
  return {{"start", start}, {"length", length}, {"name", name}, {"critical", critical}};
}

Json json_of(const TimelineChart& chart) {
  Json rows = Json::array();
  for (const auto& [name, color] : chart.rows)
    rows.push_back({{"name", name}, {"color", color.text()}, {"ink", readable_on(color).text()}});
  Json lanes = Json::array();
  for (const TimelineLane& lane : chart.lanes) {
    Json of_lane = Json::array();
    for (const auto& spans : lane.rows)
      of_lane.push_back(spans_json(spans));
    lanes.push_back({{"name", lane.name}, {"rows", of_lane}});
  }
  return {{"kind", "timeline"}, {"axis", chart.axis},   {"length_us", chart.length_us},
          {"rows", rows},       {"names", chart.names}, {"lanes", lanes}};
}

Json conditions_json(const PageCard& card) {
  Json list = Json::array();
  for (const auto& [choice, value] : card.when)
    list.push_back({{"choice", choice}, {"value", value}});
  return list;
}

class CardJson {
 public:
  Json operator()(const PageCard& card) {
    Json json = {{"id", card.id}, {"title", card.title}};
    if (!card.notes.empty()) json["notes"] = card.notes;
    if (!card.when.empty()) json["when"] = conditions_json(card);
    std::visit([&](const auto& content) { add(json, content); }, card.content);
    return json;
  }

 private:
  template <class Chart>
  static void add(Json& json, const Chart& chart) {
    json["kind"] = "chart";
    json["chart"] = json_of(chart);
  }

  void add(Json& json, const TableCard& card) {
    json["kind"] = "table";
    json["table"] = fmt::format("t{}", tables_++);
    json["rows"] = card.table.get().row_count();
    if (card.shown == TableCard::Shown::kOpen) json["open"] = true;
    if (card.shown == TableCard::Shown::kBehind) json["hidden"] = true;
  }

  std::size_t tables_ = 0;
};

class CellText {
 public:
  explicit CellText(std::string& out) : out_(out) {}

  void operator()(std::monostate) { out_ += "null"; }

  void operator()(bool value) { out_ += value ? "true" : "false"; }

  void operator()(std::int64_t value) { fmt::format_to(std::back_inserter(out_), "{}", value); }

  void operator()(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }

  void operator()(const std::string& value) {
    out_ += '"';
    out_ += core::json_escaped(core::valid_utf8(value));
    out_ += '"';
  }

 private:
  std::string& out_;
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string page_json(const Page& page) {
  Json choices = Json::array();
  for (const PageChoice& choice : page.choices) {
    choices.push_back({{"name", choice.name}, {"values", choice.values}, {"first", choice.first}});
  }
  Json cards = Json::array();
  CardJson card_json;
  for (const PageCard& card : page.cards)
    cards.push_back(card_json(card));
  return dumped({{"choices", choices}, {"cards", cards}});
}

std::string table_json(const model::Table& table) {
  Json columns = Json::array();
  for (const model::Column& column : table.columns) {
    columns.push_back(
        {{"name", column.name}, {"unit", column.unit}, {"description", column.description}});
  }
  const auto verdict = table.column(table.style.verdict_column);
  std::string text = "{\"columns\":" + dumped(columns) +
                     ",\"verdict\":" + (verdict ? std::to_string(*verdict) : std::string("null")) +
                     ",\"cells\":[";
  CellText cell_text(text);
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    text += column == 0 ? "[" : ",[";
    for (std::size_t row = 0; row < table.row_count(); ++row) {
      if (row > 0) text += ',';
      std::visit(cell_text, table.at(row, column));
    }
    text += ']';
  }
  return text + "]}";
}

}  // namespace assay::report
