#include "store/database/modelled_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "store/database/store_test_util.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

// A device of 100 W when idle, 300 W more at its full bandwidth and 350 W more at its full rate of
// operations.
double watts_of(const RowLoad& load) {
  return 100 + 300 * load.memory + 350 * load.compute;
}

RowLoad load_of(int i, const std::string& type) {
  return {.memory = 0.1 + 0.05 * (i % 16),
          .compute = 0.05 + 0.04 * (i / 8 % 16),
          .milliseconds = 0.01 * (1 + i % 5),
          .type = type};
}

std::vector<PoweredRow> rows_of(int count, const std::string& type) {
  std::vector<PoweredRow> rows;
  for (int i = 0; i < count; ++i)
    rows.push_back({.load = load_of(i, type), .watts = watts_of(load_of(i, type))});
  return rows;
}

TEST(PowerModel, FindsWhatMakesThePower) {
  const PowerModel model(rows_of(128, "fp8"));
  const RowLoad between{.memory = 0.33, .compute = 0.41, .milliseconds = 0.02, .type = "fp8"};
  EXPECT_NEAR(model.watts(between) / watts_of(between), 1, 0.02);
  EXPECT_LT(power_errors(rows_of(128, "fp8"), 0).p90, 0.02);
}

TEST(PowerModel, ErrorsAreOfWhatWasLeftOutAndCountTheLimit) {
  EXPECT_GT(power_errors(rows_of(128, "fp8"), 150).median, 0.4);
  EXPECT_FALSE(power_errors_of_other_types(rows_of(128, "fp8"), 0).has_value());
  std::vector<PoweredRow> two = rows_of(128, "fp8");
  for (PoweredRow row : rows_of(128, "bfloat16")) {
    row.watts *= 2;
    two.push_back(row);
  }
  EXPECT_GT(power_errors_of_other_types(two, 0)->median, 0.4);
  EXPECT_LT(power_errors(two, 0).median, 0.2);
}

TEST(PowerModel, NoRowHasLessThanTheLeastThatWasMeasured) {
  const PowerModel model(rows_of(128, "fp8"));
  EXPECT_GE(model.watts({.memory = 1e-9, .compute = 0, .milliseconds = 1e-6, .type = "fp8"}),
            watts_of(load_of(0, "fp8")));
}

constexpr int kMeasured = 64;

// Rows with their power, one of another type and one of the same without.
Frame measured_rows(int measured) {
  std::string csv = "op_name,gemm_dtype,m,latency,power,power_limit,power_source\n";
  for (int i = 0; i < measured; ++i)
    csv += "gemm,fp8," + std::to_string(i) + ",0.1," + std::to_string(watts_of(load_of(i, "fp8"))) +
           ",500.5,measured\n";
  csv += "gemm,fp8,13,0.1,,,\n";
  csv += "gemm,bfloat16,13,0.1,,,\n";
  return frame_of(csv);
}

std::vector<std::optional<RowLoad>> test_loads(const std::string& /*table*/, const Frame& rows) {
  std::vector<std::optional<RowLoad>> loads;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    loads.emplace_back(load_of(static_cast<int>(number_at(*rows.find("m"), row)),
                               value_text(rows.find("gemm_dtype")->value(row))));
  }
  return loads;
}

TEST(ModelledPower, FillsRowsAndMarksThemWithTheirError) {
  std::vector<PowerFit> fits;
  const Frame filled = with_modelled_power("gemm_perf", test_loads, measured_rows(kMeasured), fits);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits[0].measured, kMeasured);
  EXPECT_EQ(fits[0].modelled, 1);
  EXPECT_EQ(fits[0].why_not, "");
  const FrameColumn& power = *filled.find("power");
  EXPECT_NEAR(number_at(power, kMeasured) / watts_of(load_of(13, "fp8")), 1, 0.03);
  EXPECT_DOUBLE_EQ(number_at(*filled.find("power_limit"), kMeasured), 500.5);
  EXPECT_EQ(value_text(filled.find(kPowerSourceColumn)->value(kMeasured)), "modelled");
  EXPECT_EQ(value_text(filled.find(kPowerSourceColumn)->value(0)), "measured");
  EXPECT_DOUBLE_EQ(number_at(*filled.find(kPowerErrorColumn), kMeasured),
                   fits[0].errors.median * 100);
  EXPECT_TRUE(filled.find(kPowerErrorColumn)->is_missing(0));
}

TEST(ModelledPower, OfManyRowsSomeMakeTheModel) {
  std::vector<PowerFit> fits;
  const int measured = 40 * kMeasured;
  const Frame filled = with_modelled_power("gemm_perf", test_loads, measured_rows(measured), fits);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits[0].measured, measured);
  EXPECT_NEAR(number_at(*filled.find("power"), measured) / watts_of(load_of(13, "fp8")), 1, 0.03);
}

TEST(ModelledPower, LeavesTypesEmptyOfWhichNothingIsKnown) {
  std::vector<PowerFit> fits;
  const Frame filled = with_modelled_power("gemm_perf", test_loads, measured_rows(kMeasured), fits);
  EXPECT_TRUE(filled.find("power")->is_missing(kMeasured + 1));
  EXPECT_TRUE(filled.find(kPowerSourceColumn)->is_missing(kMeasured + 1));
}

TEST(ModelledPower, IsNeverAboveTheLimitOfTheBoard) {
  Frame rows = measured_rows(kMeasured);
  auto& limits = std::get<std::vector<double>>(rows.columns[5].values);
  std::fill(limits.begin(), limits.end(), 340.5);
  std::vector<PowerFit> fits;
  const Frame filled = with_modelled_power("gemm_perf", test_loads, rows, fits);
  EXPECT_DOUBLE_EQ(number_at(*filled.find("power"), kMeasured), 340.5);
}

TEST(ModelledPower, TellsWhyAModelOfFewRowsOrALargeErrorFillsNothing) {
  std::vector<PowerFit> fits;
  const Frame few = measured_rows(8);
  EXPECT_TRUE(same_values(with_modelled_power("gemm_perf", test_loads, few, fits), few));
  EXPECT_EQ(fits.back().why_not, "8 rows have their power, and a model takes 50");
  Frame wild = measured_rows(kMeasured);
  auto& watts = std::get<std::vector<double>>(wild.columns[4].values);
  for (std::size_t i = 0; i < watts.size(); ++i)
    watts[i] = i * 7919 % 64 < 32 ? 100 : 700;
  EXPECT_TRUE(same_values(with_modelled_power("gemm_perf", test_loads, wild, fits), wild));
  EXPECT_THAT(fits.back().why_not, testing::StartsWith("a model is "));
}

TEST(MeasuredPower, IsJudgedByOpName) {
  const TablePower power = measured_power("gemm_perf", test_loads, measured_rows(kMeasured));
  ASSERT_EQ(power.samples.size(), 1U);
  EXPECT_EQ(power.find("other"), nullptr);
  const PowerSample& sample = *power.find("gemm");
  EXPECT_EQ(sample.rows.size(), static_cast<std::size_t>(kMeasured));
  EXPECT_DOUBLE_EQ(sample.limit_watts, 500.5);
  const JudgedPower model(sample);
  const auto watts = model.at(load_of(13, "fp8"));
  ASSERT_TRUE(watts.has_value());
  EXPECT_NEAR(watts->watts / watts_of(load_of(13, "fp8")), 1, 0.03);
  EXPECT_DOUBLE_EQ(watts->error, sample.errors.median);
  EXPECT_FALSE(model.at(load_of(13, "bfloat16")).has_value());
}

TEST(MeasuredPower, OfTooFewRowsIsNone) {
  EXPECT_TRUE(measured_power("gemm_perf", test_loads, measured_rows(49)).samples.empty());
  EXPECT_TRUE(measured_power("gemm_perf", nullptr, measured_rows(kMeasured)).samples.empty());
}

TEST(ModelledPower, WithoutLoadsNothingChanges) {
  std::vector<PowerFit> fits;
  const Frame rows = measured_rows(kMeasured);
  EXPECT_TRUE(same_values(with_modelled_power("gemm_perf", nullptr, rows, fits), rows));
  EXPECT_TRUE(fits.empty());
}

}  // namespace
}  // namespace assay::store
