#include "collect/run/earlier_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/database/store_test_util.h"

namespace assay::collect {
namespace {

using testing::HasSubstr;

TEST(MeasureSettings, ComeBackAsTheyWereGiven) {
  CaseRequest request;
  request.measure_power = true;
  request.power_seconds = 2.5;
  request.options.certainty = 0.07;
  request.options.num_warmups = 5;
  request.options.num_runs = 6;
  request.options.repeat_n = 7;
  request.options.launch = model::Launch::kEager;
  request.options.l2 = model::L2State::kCold;
  request.power_every = 4;
  const Settings settings = settings_of(request);
  EXPECT_EQ(settings.at("--certainty"), "7");
  const CaseRequest again = request_of(settings).value();
  EXPECT_EQ(settings_of(again), settings);
  EXPECT_DOUBLE_EQ(again.options.certainty, 0.07);
  EXPECT_EQ(again.options.launch, model::Launch::kEager);
  EXPECT_EQ(again.options.l2, model::L2State::kCold);
  EXPECT_EQ(again.power_every, 4);
  EXPECT_TRUE(again.measure_power);
}

TEST(MeasureSettings, AreAsUsualWhereARecordSaysNothing) {
  const CaseRequest usual;
  EXPECT_EQ(settings_of(request_of({{"--grid", "coarse"}}).value()), settings_of(usual));
}

TEST(MeasureSettings, NameWhatARecordHasWrong) {
  EXPECT_THAT(request_of({{"--l2", "warm"}}).error().message,
              HasSubstr("--l2 = 'warm', which is none of hot, cold, engine"));
  EXPECT_THAT(request_of({{"--num-runs", "6x"}}).error().message,
              HasSubstr("--num-runs = '6x', which is no number"));
  EXPECT_THAT(request_of({{"--power-every", "0"}}).error().message,
              HasSubstr("--power-every = '0', which is less than 1"));
}

TEST(MeasureSettings, ADeadlineIsSixtySecondsUnlessTheRecordHasAnother) {
  store::Run run = store::test_run();
  EXPECT_EQ(recorded_deadline(run).value(), std::chrono::seconds(60));
  run.facts.merge(record_of_deadline(2.5));
  EXPECT_EQ(recorded_deadline(run).value(), std::chrono::milliseconds(2500));
}

class MeasuredCases : public store::StoreTest {
 protected:
  void add(const std::string& l2, std::int64_t m, store::CaseOutcome outcome) {
    store::Store store = open(store::Store::Mode::kCreate);
    store::Run run = store::test_run();
    run.facts.merge(Settings{{"setting --l2", l2}, {"setting --launch", "graph"}});
    store::CaseRecord record = store::gemm_case(m, 0.5);
    record.outcome = outcome;
    EXPECT_TRUE(store.append(store.begin_run(run).value(), record).ok());
  }
};

TEST_F(MeasuredCases, AreThoseOfTheSameState) {
  add("engine", 1, store::CaseOutcome::kMeasured);
  add("hot", 2, store::CaseOutcome::kMeasured);
  add("engine", 3, store::CaseOutcome::kSkipped);
  const auto measured = measured_cases(file_, {.l2 = model::L2State::kEngine}).value();
  EXPECT_EQ(measured.ids.size(), 1U);
  EXPECT_TRUE(measured.ids.contains(store::gemm_case(1, 0.5).id));
  EXPECT_FALSE(measured_cases(folder_ / "none.db", {}).ok());
}

TEST(EarlierRun, TellsWhichDeviceItMeasuredOn) {
  store::Run run = store::test_run();
  EXPECT_FALSE(was_on_cpu(run));
  run.facts["device kind"] = "cuda";
  EXPECT_FALSE(was_on_cpu(run));
  run.facts["device kind"] = "cpu";
  EXPECT_TRUE(was_on_cpu(run));
}

TEST(EarlierRun, LockedClocksAreComparedWithThoseOfTheNewRun) {
  store::Run run = store::test_run();
  EXPECT_EQ(clock_difference(run, {}), "");
  run.facts["--lock-clocks"] = "1980,3201";
  EXPECT_EQ(clock_difference(run, {{"--lock-clocks", "1980,3201"}}), "");
  EXPECT_EQ(clock_difference(run, {}), "--lock-clocks was 1980,3201 and is not given");
}

class RefinedRunTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    file_ = folder_ / kStoreFile;
  }

  // A collection whose cases were measured with a cold cache and 7 samples.
  std::int64_t add_run(const Settings& more = {}) {
    store::Run run = store::test_run(kCollectRun);
    run.facts.merge(Settings{{"setting --l2", "cold"},
                             {"setting --num-runs", "7"},
                             {"setting --backend", "TRTLLM"},
                             {"device name", "Fake"}});
    run.facts.merge(Settings(more));
    return open(store::Store::Mode::kCreate).begin_run(run).value();
  }

  std::string refusal(const std::set<std::string>& given, const Settings& wanted) {
    const RefinedRun refined = find_refined(folder_, "").value();
    CollectOptions options;
    options.settings = wanted;
    const core::Status status = measure_like(refined, given, options);
    return status.ok() ? "" : status.error().message;
  }
};

TEST_F(RefinedRunTest, ACollectionMeasuresAsTheRunThatItRefines) {
  add_run();
  const std::int64_t last = add_run();
  const RefinedRun refined = find_refined(folder_, "").value();
  EXPECT_EQ(refined.id, last);
  CollectOptions options;
  options.settings = {{"--l2", "hot"}, {"--limit", "9"}};
  ASSERT_TRUE(measure_like(refined, {"--limit"}, options).ok());
  EXPECT_EQ(options.request.options.l2, model::L2State::kCold);
  EXPECT_EQ(options.request.options.num_runs, 7);
  EXPECT_EQ(options.backend, "TRTLLM");
  EXPECT_EQ(options.settings.at("--l2"), "cold");
  EXPECT_EQ(options.settings.at("--limit"), "9");
  EXPECT_EQ(options.record.at(store::kRefinesFact), std::to_string(last));
  EXPECT_EQ(options.earlier_device, (Settings{{"name", "Fake"}}));
}

TEST_F(RefinedRunTest, OnlyOptionsThatAreGivenAndDifferAreRefused) {
  add_run();
  EXPECT_EQ(refusal({}, {{"--l2", "hot"}, {"--num-runs", "0"}}), "");
  EXPECT_EQ(refusal({"--num-runs"}, {{"--l2", "hot"}, {"--num-runs", "7"}}), "");
  EXPECT_THAT(refusal({"--l2", "--num-runs"}, {{"--l2", "hot"}, {"--num-runs", "7"}}),
              HasSubstr("measured otherwise: --l2 was cold and is hot;"));
  EXPECT_THAT(refusal({"--backend"}, {{"--backend", "vllm"}}),
              HasSubstr("--backend was TRTLLM and is vllm"));
}

TEST_F(RefinedRunTest, ARefinementIsFoundAgainByTheRunThatItRefined) {
  EXPECT_THAT(find_refined(folder_, "").error().message, HasSubstr("nothing to refine: there is"));
  const std::int64_t first = add_run();
  EXPECT_THAT(find_refined_before(folder_, "").error().message, HasSubstr("it refines no other"));
  add_run({{store::kRefinesFact, std::to_string(first)}});
  const RefinedRun before = find_refined_before(folder_, "").value();
  EXPECT_EQ(before.id, first);
  EXPECT_EQ(refined_by(before.run), std::nullopt);
  EXPECT_EQ(refined_by(find_refined(folder_, "").value().run), first);
}

TEST_F(RefinedRunTest, ImportedTablesCannotBeRefined) {
  open(store::Store::Mode::kCreate);
  EXPECT_THAT(find_refined(folder_, "").error().message, HasSubstr("holds no collection"));
}

}  // namespace
}  // namespace assay::collect
