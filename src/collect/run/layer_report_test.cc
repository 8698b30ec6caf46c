#include "collect/run/layer_report.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::collect {
namespace {

class Rows {
 public:
  void add(const char* model, std::int64_t batch, const char* op_name, double latency_ms) {
    model_.add(std::string_view(model));
    batch_.add(batch);
    op_name_.add(std::string_view(op_name));
    latency_.add(latency_ms);
  }

  store::Frame frame() && {
    store::Frame made;
    for (store::ColumnBuilder* column : {&model_, &batch_, &op_name_, &latency_})
      made.columns.push_back(std::move(*column).finish());
    return made;
  }

 private:
  store::ColumnBuilder model_{"model"};
  store::ColumnBuilder batch_{"batch_size"};
  store::ColumnBuilder op_name_{"op_name"};
  store::ColumnBuilder latency_{"latency"};
};

TEST(LayerReport, HasBothTimesOfALayerAndTheirRatio) {
  Rows rows;
  rows.add("qwen3-8b", 1, "decode_layer", 0.06);
  rows.add("qwen3-8b", 16, "decode_layer_sum", 0.2);
  rows.add("qwen3-8b", 1, "decode_layer_sum", 0.08);
  rows.add("qwen3-8b", 16, "decode_layer", 0.19);
  rows.add("qwen3-8b", 128, "decode_layer", 0.5);  // has no sum
  const model::Table table = layer_report(std::move(rows).frame());
  ASSERT_EQ(table.row_count(), 2U);
  const auto cell = [&](std::size_t row, const char* column) {
    return model::number(table.at(row, *table.column(column)));
  };
  EXPECT_EQ(cell(0, "requests"), 1);
  EXPECT_DOUBLE_EQ(cell(0, "one graph"), 0.06);
  EXPECT_DOUBLE_EQ(cell(0, "sum"), 0.08);
  EXPECT_DOUBLE_EQ(cell(0, "one graph / sum"), 0.75);
  EXPECT_EQ(cell(1, "requests"), 16);
  EXPECT_DOUBLE_EQ(cell(1, "one graph / sum"), 0.95);
}

TEST(LayerReport, IsEmptyWithoutLayers) {
  EXPECT_EQ(layer_report({}).row_count(), 0U);
}

}  // namespace
}  // namespace assay::collect
