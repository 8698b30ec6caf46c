#include "collect/run/layer_report.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "collect/plan/operator.h"

namespace assay::collect {
namespace {

constexpr std::array<const char*, 7> kLayerColumns = {
    "model", "tp_size", "moe_ep_size", "quantization", "kv_cache_dtype", "batch_size", "step"};

struct LayerTimes {
  std::vector<model::Cell> key;
  double together_ms = std::numeric_limits<double>::quiet_NaN();
  double sum_ms = std::numeric_limits<double>::quiet_NaN();
};

model::Cell layer_cell(const store::Frame& frame, std::string_view column, std::size_t row) {
  const store::FrameColumn* found = frame.find(column);
  if (found == nullptr || found->is_missing(row)) return {};
  return std::visit([](const auto& value) { return model::Cell(value); }, found->value(row));
}

// The layers come in the order of their first rows.
std::vector<LayerTimes> layers_of(const store::Frame& frame) {
  std::vector<LayerTimes> layers;
  std::map<std::vector<model::Cell>, std::size_t> places;
  for (std::size_t row = 0; row < frame.num_rows(); ++row) {
    std::vector<model::Cell> key;
    for (const char* column : kLayerColumns)
      key.push_back(layer_cell(frame, column, row));
    const auto [place, is_new] = places.emplace(key, layers.size());
    if (is_new) layers.push_back({.key = std::move(key)});
    LayerTimes& layer = layers[place->second];
    const bool is_sum = model::text(layer_cell(frame, "op_name", row)).ends_with(kSumEnding);
    (is_sum ? layer.sum_ms : layer.together_ms) = model::number(layer_cell(frame, "latency", row));
  }
  return layers;
}

}  // namespace

model::Table layer_report(const store::Frame& frame) {
  model::Table table{
      .name = "layers",
      .title = "Decoding layers in one graph, beside the sum of their kernels",
      .columns = {{.name = "model"},
                  {.name = "tp"},
                  {.name = "ep"},
                  {.name = "quantization"},
                  {.name = "kv cache"},
                  {.name = "requests"},
                  {.name = "cached tokens"},
                  {.name = "one graph", .unit = "ms", .better = model::Better::kLower},
                  {.name = "sum", .unit = "ms", .better = model::Better::kLower},
                  {.name = "one graph / sum"}}};
  for (LayerTimes& layer : layers_of(frame)) {
    if (!(layer.together_ms > 0) || !(layer.sum_ms > 0)) continue;
    layer.key.insert(layer.key.end(),
                     {layer.together_ms, layer.sum_ms, layer.together_ms / layer.sum_ms});
    table.add_row(std::move(layer.key));
  }
  return table;
}

}  // namespace assay::collect
