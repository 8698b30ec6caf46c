#include "trace/compare/bandwidth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::trace {
namespace {

using ::testing::HasSubstr;

SettingFigures setting(const std::string& label, double gbps, const std::string& channels) {
  SettingFigures figures{.label = label, .gpu_name = "NVIDIA H200"};
  model::Table table{.name = "nccl_summary_implicit_sync",
                     .title = "",
                     .columns = {{.name = "Collective name"},
                                 {.name = "dtype"},
                                 {.name = "Group size"},
                                 {.name = "Full msg size (MB)"},
                                 {.name = "bus bw (GB/s)_mean"},
                                 {.name = "bus bw (GB/s)_min"},
                                 {.name = "bus bw (GB/s)_max"},
                                 {.name = "count"},
                                 {.name = "channels"}}};
  const std::int64_t group = 4;
  // Two runs, of which the second has three times as many instances.
  table.add_row(
      {"allreduce", "Float", group, 16.0, gbps - 4, gbps - 10, gbps, std::int64_t{1}, channels});
  table.add_row(
      {"allreduce", "Float", group, 16.0, gbps, gbps - 5, gbps + 5, std::int64_t{3}, channels});
  table.add_row({"allreduce", "Float", group, 0.001, 1.0, 1.0, 1.0, std::int64_t{9}, "1"});
  figures.collectives.tables.push_back(std::move(table));
  return figures;
}

const std::vector<NcclCurve> kCurves = {
    {model::NcclFunction::kAllReduce, 2, {{1 << 20, 100}, {1 << 24, 200}}, "NCCL 1"},
    {model::NcclFunction::kAllReduce, 4, {{1 << 23, 240}, {1 << 25, 260}}, "NCCL 1"},
    {model::NcclFunction::kAllGather, 4, {{1 << 24, 1}}, "NCCL 1"}};

TEST(Bandwidth, RunsOfAMessageAreOnePoint) {
  const std::vector<SettingFigures> settings = {setting("a", 200, "24"), setting("b", 100, "8")};
  const std::vector<BandwidthPoint> points = bandwidth_points(settings);
  ASSERT_EQ(points.size(), 2U);  // the time of the small message is latency
  EXPECT_DOUBLE_EQ(points[0].bus_gbps, 199);
  EXPECT_DOUBLE_EQ(points[0].low_gbps, 190);
  EXPECT_DOUBLE_EQ(points[0].high_gbps, 205);
  EXPECT_EQ(points[0].instances, 4);
  EXPECT_EQ(points[1].channels, "8");
}

TEST(Bandwidth, TheCurveOfAsManyRanksIsTaken) {
  const BandwidthPoint point{.collective = "allreduce", .ranks = 8, .bytes = 1 << 24};
  const NcclCurve* curve = curve_for(kCurves, point);
  ASSERT_NE(curve, nullptr);
  EXPECT_EQ(curve->ranks, 4);
  EXPECT_DOUBLE_EQ(bus_gbps_at(*curve, 1 << 24), 250);
  EXPECT_DOUBLE_EQ(bus_gbps_at(*curve, 1 << 30), 260);
  EXPECT_TRUE(std::isnan(bus_gbps_at(*curve, 1 << 20)));
  EXPECT_EQ(curve_for(kCurves, {.collective = "broadcast", .ranks = 4}), nullptr);
}

TEST(Bandwidth, StandsBesideNcclAndTheLinks) {
  const std::vector<SettingFigures> settings = {setting("a", 200, "24"),
                                                setting("b", 100, "8, 24")};
  const model::Table table = bandwidth_table(settings, kCurves);
  ASSERT_EQ(table.row_count(), 1U);
  const auto at = [&](const char* column) {
    return model::number(table.at(0, *table.column(column)));
  };
  EXPECT_DOUBLE_EQ(at("message (MiB)"), 16);
  EXPECT_DOUBLE_EQ(at("b (GB/s)"), 99);
  EXPECT_DOUBLE_EQ(at("NCCL alone (GB/s)"), 250);
  EXPECT_DOUBLE_EQ(at("links (GB/s)"), 450);
  EXPECT_DOUBLE_EQ(at("a of NCCL alone (%)"), 100 * 199.0 / 250);
  const model::Table by_channels = channels_table(settings, kCurves);
  ASSERT_EQ(by_channels.row_count(), 2U);
  EXPECT_EQ(by_channels.at(0, 5), model::Cell(std::int64_t{24}));
  EXPECT_EQ(by_channels.at(1, 5), model::Cell("8, 24"));
}

// A GPU that no shipped system and no data sheet describes has neither.
TEST(Bandwidth, SaysWhatIsNotKnown) {
  std::vector<SettingFigures> settings = {setting("a", 200, "24")};
  settings[0].gpu_name = "Some GPU";
  const model::Table table = bandwidth_table(settings, {});
  EXPECT_TRUE(std::isnan(model::number(table.at(0, *table.column("links (GB/s)")))));
  ASSERT_EQ(table.notes.size(), 3U);
  EXPECT_THAT(table.notes[1], HasSubstr("not known"));
  EXPECT_THAT(table.notes[2], HasSubstr("No shipped system"));
}

}  // namespace
}  // namespace assay::trace
