#include "allreduce/plot/page.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "allreduce/plot/drawings.h"
#include "allreduce/plot/page/page_text.h"

namespace assay::allreduce {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// Returns [time, low, high, samples], or [null, low, high, samples, outcome, reason] for an outcome
// other than ok; null if there is no measurement.
Json cell_json(const Measurement* one) {
  if (one == nullptr) return nullptr;
  Json cell = {number_or_null(one->time_us), number_or_null(one->low_us),
               number_or_null(one->high_us), one->samples};
  if (one->outcome == Outcome::kOk) return cell;
  cell[0] = nullptr;
  cell.push_back(kOutcomeNames.at(static_cast<std::size_t>(one->outcome)));
  cell.push_back(one->reason);
  return cell;
}

template <class Function>
Json each_place(const Grid& grid, const Function& function) {
  Json list = Json::array();
  for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column)
      list.push_back(function(row, column));
  }
  return list;
}

Json choice_json(const Grid& grid, const Chooser& choice) {
  return {{"name", choice.name},
          {"strategies", each_place(grid, [&](std::size_t row, std::size_t column) -> Json {
             const auto chosen = choice.strategy(cell_of(grid, row, column), grid.launch);
             if (!chosen) return nullptr;
             return name_of(*chosen);
           })}};
}

Json grid_json(const Source& source, const Grid& grid, const std::vector<Chooser>& choices) {
  Json json = {{"name", source.name},
               {"tp", grid.world_size},
               {"sm", grid.sm_version},
               {"dtype", name_of(grid.data_type)},
               {"element_bytes", bytes_of(grid.data_type)},
               {"launch", name_of(grid.launch)},
               {"fusion", name_of(grid.fusion)},
               {"hidden", grid.hidden_sizes},
               {"tokens", grid.token_counts},
               {"strategies", Json::array()},
               {"cells", Json::object()},
               {"choices", Json::array({choice_json(grid, always(Strategy::kNccl))})}};
  for (const Strategy strategy : grid.strategies) {
    const std::string name(name_of(strategy));
    json["strategies"].push_back(name);
    json["cells"][name] = each_place(grid, [&](std::size_t row, std::size_t column) {
      return cell_json(grid.tried(strategy, row, column));
    });
  }
  for (const Chooser& choice : choices)
    json["choices"].push_back(choice_json(grid, choice));
  return json;
}

Json colors_json(std::span<const report::Color> colors) {
  Json list = Json::array();
  for (const report::Color& color : colors)
    list.push_back(color.text());
  return list;
}

// Returns JSON that is safe inside an HTML script element.
std::string page_data(const std::vector<Source>& sources, const std::vector<Chooser>& choices) {
  Json json = {{"time_colors", colors_json(report::viridis())},
               {"difference_colors", colors_json(report::white_to_red())},
               {"strategy_colors", Json::object()},
               {"limit", {{"sm", kLimitSm}, {"gbps", {kLinkGbps, kUsableLinkGbps}}}},
               {"grids", Json::array()}};
  for (const StrategySpec& spec : kStrategies)
    json["strategy_colors"][std::string(spec.name)] = color_of(spec.strategy).text();
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids)
      json["grids"].push_back(grid_json(source, grid, choices));
  }
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  for (const char c : text)
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

void replace(std::string& text, std::string_view mark, std::string_view by) {
  text.replace(text.find(mark), mark.size(), by);
}

}  // namespace

std::string page_html(const std::vector<Source>& sources, const std::vector<Chooser>& choices) {
  std::string page(kPageHtml);
  // The data is inserted last because it may contain any text, even "@STYLE@".
  replace(page, "@STYLE@", kPageStyle);
  replace(page, "@PROGRAM@", kPageProgram);
  replace(page, "@DATA@", page_data(sources, choices));
  return page;
}

}  // namespace assay::allreduce
