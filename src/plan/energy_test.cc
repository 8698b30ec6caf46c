#include "plan/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace assay::plan {
namespace {

using ::testing::HasSubstr;

OperatorCost cost_of(double ms, std::optional<OperatorPower> power) {
  return {.price = nullptr, .cost = {.ms = ms}, .amounts = {}, .power = power};
}

TEST(Energy, IsOfTheKnownPartAlone) {
  const std::vector<OperatorCost> costs = {
      cost_of(2, OperatorPower{.watts = 600, .source = PowerSource::kMeasured}),
      cost_of(1, OperatorPower{.watts = 300, .source = PowerSource::kBetween}),
      cost_of(1, std::nullopt),
  };
  const StepEnergy energy = energy_of(costs);
  EXPECT_DOUBLE_EQ(energy.ms, 4);
  EXPECT_DOUBLE_EQ(energy.measured_ms, 2);
  EXPECT_DOUBLE_EQ(energy.between_ms, 1);
  EXPECT_DOUBLE_EQ(energy.joules, 1.5);
  EXPECT_DOUBLE_EQ(energy.known_share(), 0.75);
  EXPECT_DOUBLE_EQ(energy.watts(), 500);
  StepEnergy twice;
  twice.add(energy, 2);
  EXPECT_DOUBLE_EQ(twice.joules, 3);
  EXPECT_DOUBLE_EQ(twice.watts(), 500);
}

TEST(Energy, AModelsPartIsToldApartWithTheErrorThatFollows) {
  const std::vector<OperatorCost> costs = {
      cost_of(5, OperatorPower{.watts = 600, .source = PowerSource::kMeasured}),
      cost_of(4, OperatorPower{.watts = 250, .source = PowerSource::kModelled, .error = 0.08}),
      cost_of(1, std::nullopt),
  };
  LoadEnergy energy{.mean = energy_of(costs)};
  EXPECT_DOUBLE_EQ(energy.mean.joules, 4);
  const PowerShares shares = energy.mean.shares();
  EXPECT_DOUBLE_EQ(shares.measured, 0.5);
  EXPECT_DOUBLE_EQ(shares.modelled, 0.4);
  // 8 % of one joule of the four.
  EXPECT_DOUBLE_EQ(shares.error, 0.02);
  const auto table = energy_table(energy);
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->notes, ::testing::Contains(HasSubstr("were not measured")));
  energy.mean = energy_of(std::span(costs).first(1));
  EXPECT_EQ(modelled_power_note(energy.mean.shares()), "");
}

TEST(Energy, NothingIsSaidWhereNothingIsKnown) {
  const std::vector<OperatorCost> costs = {cost_of(3, std::nullopt)};
  const LoadEnergy energy{.decoding = energy_of(costs), .mean = energy_of(costs)};
  EXPECT_FALSE(energy_table(energy).has_value());
  EXPECT_EQ(StepEnergy{}.known_share(), 0);
  EXPECT_THAT(little_energy_note(0.899), HasSubstr("90 %"));
  EXPECT_THAT(little_energy_note(0.899), HasSubstr("89 % at most"));
}

LoadEnergy known_for(double measured_ms) {
  LoadEnergy energy;
  energy.mean.add({.ms = 10, .measured_ms = measured_ms, .between_ms = 2, .joules = 3}, 1);
  energy.decoding = energy.mean;
  energy.joules_per_request = 30;
  energy.tokens_of_request = 10;
  return energy;
}

TEST(Energy, TheTableTellsItsSharesFirst) {
  const LoadEnergy energy = known_for(7.5);
  const auto table = energy_table(energy);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->row_count(), 9U);
  EXPECT_DOUBLE_EQ(energy.joules_per_token(), 3);
  EXPECT_NEAR(energy.mean.watts(), 315.8, 0.1);
}

TEST(Energy, JoulesOfAPartAreNotThoseOfTheWhole) {
  const auto table = energy_table(known_for(4));
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->row_count(), 6U);
  EXPECT_THAT(table->notes, ::testing::Contains(HasSubstr("joules of a step")));
}

TEST(Energy, ASmallPartSaysNothingOfTheRest) {
  EXPECT_TRUE(energy_table(known_for(3)).has_value());
  EXPECT_FALSE(energy_table(known_for(2.9)).has_value());
  EXPECT_THAT(no_energy_note(0.0098), HasSubstr("0.98 % of the time"));
}

// Two prompts at once on 2 GPUs, then 10 steps of a group of 4 requests on 1 GPU.
TEST(Energy, OfPoolsIsShareByShare) {
  const StepEnergy prompts{.ms = 100, .measured_ms = 100, .joules = 60};
  const StepEnergy decoding{.ms = 10, .measured_ms = 10, .joules = 4};
  const LoadEnergy energy =
      energy_of_pools({.step = prompts, .gpus = 2, .requests = 2},
                      {.step = decoding, .steps = 10, .gpus = 1, .requests = 4}, 11);
  EXPECT_DOUBLE_EQ(energy.joules_per_request, 60.0 * 2 / 2 + 4.0 * 10 / 4);
  EXPECT_DOUBLE_EQ(energy.joules_per_token(), 70.0 / 11);
  EXPECT_DOUBLE_EQ(energy.mean.watts(), 1000 * 70.0 / 125);
  EXPECT_DOUBLE_EQ(energy.prompt_pool.watts(), 600);
  EXPECT_DOUBLE_EQ(energy.decode_pool.watts(), 400);
  const auto table = energy_table(energy);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->row_count(), 11U);
}

TEST(Energy, ABookSaysThatNothingIsKnown) {
  model::Book book;
  book.tables.emplace_back();
  add_energy({}, book);
  EXPECT_EQ(book.tables.size(), 1U);
  EXPECT_THAT(book.tables.front().notes, ::testing::ElementsAre(no_energy_note(0)));
  add_energy(known_for(7.5), book);
  EXPECT_EQ(book.tables.size(), 2U);
}

}  // namespace
}  // namespace assay::plan
