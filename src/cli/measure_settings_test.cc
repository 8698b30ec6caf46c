#include "cli/measure_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(MeasureSettings, ComeBackAsTheyWereGiven) {
  collect::CaseRequest request;
  request.measure_power = true;
  request.power_seconds = 2.5;
  request.options.certainty = 0.07;
  request.options.num_warmups = 5;
  request.options.num_runs = 6;
  request.options.repeat_n = 7;
  request.options.launch = model::Launch::kEager;
  request.options.l2 = model::L2State::kCold;
  const collect::Settings settings = settings_of(request);
  EXPECT_EQ(settings.at("--certainty"), "7");
  const collect::CaseRequest again = request_of(settings).value();
  EXPECT_EQ(settings_of(again), settings);
  EXPECT_DOUBLE_EQ(again.options.certainty, 0.07);
  EXPECT_EQ(again.options.launch, model::Launch::kEager);
  EXPECT_EQ(again.options.l2, model::L2State::kCold);
  EXPECT_TRUE(again.measure_power);
}

TEST(MeasureSettings, AreAsUsualWhereARecordSaysNothing) {
  const collect::CaseRequest usual;
  EXPECT_EQ(settings_of(request_of({{"--grid", "coarse"}}).value()), settings_of(usual));
}

TEST(MeasureSettings, NameWhatARecordHasWrong) {
  EXPECT_THAT(request_of({{"--l2", "warm"}}).error().message,
              testing::HasSubstr("--l2 = 'warm', which is neither hot nor cold"));
  EXPECT_THAT(request_of({{"--num-runs", "6x"}}).error().message,
              testing::HasSubstr("--num-runs = '6x', which is no number"));
}

}  // namespace
}  // namespace assay::cli
