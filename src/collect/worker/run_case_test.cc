#include "collect/worker/run_case.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "collect/worker/fake_device_test_util.h"

namespace assay::collect {
namespace {

constexpr const char* kGemm = R"({"gemm_dtype":"bfloat16","m":64,"n":256,"k":512})";

constexpr double kWatts = 400;  // that the fake device draws

class Sensors final : public StateReader {
 public:
  explicit Sensors(std::vector<DeviceState> states) : states_(std::move(states)) {}

  core::Result<DeviceState> read() override {
    const DeviceState state = states_[std::min(next_, states_.size() - 1)];
    ++next_;
    return state;
  }

  core::Result<std::optional<double>> energy_joules() override {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
    return std::optional<double>(kWatts * since.count());
  }

 private:
  std::vector<DeviceState> states_;
  std::size_t next_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Ran {
  std::vector<WorkerMessage> messages;
  std::vector<KernelSpec> specs;

  template <class Kind>
  [[nodiscard]] std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const WorkerMessage& message : messages) {
      if (const auto* kind = std::get_if<Kind>(&message)) found.push_back(*kind);
    }
    return found;
  }
};

Ran run(FakeDeviceScript script, const CaseRequest& request, StateReader* sensors = nullptr) {
  FakeDevice device(std::move(script));
  Ran ran;
  run_case({.device = device,
            .sensors = sensors,
            .say = [&](const WorkerMessage& message) { ran.messages.push_back(message); }},
           request);
  ran.specs = device.specs;
  return ran;
}

CaseRequest gemm() {
  CaseRequest request;
  request.id = 7;
  request.operator_name = "gemm";
  request.case_json = kGemm;
  return request;
}

TEST(RunCase, ARowHoldsTheCaseAndWhatItWasMeasuredWith) {
  const Ran ran = run({.time_ms = [](std::int64_t) { return 0.5; }}, gemm());
  ASSERT_EQ(ran.all<CaseRow>().size(), 1U);
  const model::PerfMeasurement row = ran.all<CaseRow>()[0].measurement;
  EXPECT_EQ(row.row.table, "gemm_perf");
  EXPECT_EQ(row.row.kernel_source, "fake");
  EXPECT_EQ(row.row.device, "Fake 1");
  EXPECT_DOUBLE_EQ(row.row.latency_ms, 0.5);
  EXPECT_EQ(row.row.key[1], (model::PerfField{"m", std::int64_t{64}}));
  ASSERT_EQ(ran.specs.size(), 1U);
  EXPECT_EQ(std::get<GemmSpec>(ran.specs[0]).k, 512);
  EXPECT_EQ(ran.all<CaseDone>().size(), 1U);
  EXPECT_EQ(std::get<CaseDone>(ran.messages.back()).id, 7);
}

TEST(RunCase, SlowerKernelsHaveATableOfTheirOwn) {
  const FakeDeviceScript script{.time_ms = [](std::int64_t) { return 0.5; },
                                .others = {{"slow", {3.0, 1.0, 2.0}}}};
  const Ran ran = run(script, gemm());
  ASSERT_EQ(ran.all<CaseRow>().size(), 2U);
  const model::PerfMeasurement other = ran.all<CaseRow>()[0].measurement;
  const model::PerfMeasurement row = ran.all<CaseRow>()[1].measurement;
  EXPECT_EQ(row.row.table, "gemm_perf");
  EXPECT_EQ(row.row.kernel_source, "fake");
  EXPECT_EQ(other.row.table, "gemm_perf_others");
  EXPECT_EQ(other.row.kernel_source, "slow");
  EXPECT_EQ(other.row.key, row.row.key);
  EXPECT_DOUBLE_EQ(other.row.latency_ms, 2);
  EXPECT_EQ(other.timing.samples_ms.size(), 3U);
}

TEST(RunCase, AKernelThatTheDeviceHasNotIsASkip) {
  const Ran ran = run({.unsupported = "no plan for it"}, gemm());
  ASSERT_EQ(ran.messages.size(), 1U);
  EXPECT_EQ(std::get<CaseSkipped>(ran.messages[0]).reason, "no plan for it");
}

TEST(RunCase, AWrongOutputIsAnErrorAndNoRow) {
  CaseRequest request = gemm();
  request.check = true;
  const FakeDeviceScript script{.accuracy = {.worst = 3, .compared = 10, .where = "output[1]"}};
  const Ran ran = run(script, request);
  EXPECT_TRUE(ran.all<CaseRow>().empty());
  ASSERT_EQ(ran.all<CaseError>().size(), 1U);
  EXPECT_EQ(ran.all<CaseError>()[0].error_class, "WrongResult");
  EXPECT_NE(ran.all<CaseError>()[0].message.find("output[1]"), std::string::npos);
  EXPECT_EQ(run(script, gemm()).all<CaseRow>().size(), 1U);  // not asked for
}

TEST(RunCase, ADeviceThatIsLostSaysSo) {
  const Ran ran = run({.fails = "an illegal memory access", .is_lost = true}, gemm());
  ASSERT_EQ(ran.all<CaseError>().size(), 1U);
  EXPECT_EQ(ran.all<CaseError>()[0].error_class, "DeviceError");
  EXPECT_TRUE(ran.all<CaseError>()[0].lost);
  const Ran memory = run({.fails = "out of memory: a weight"}, gemm());
  EXPECT_EQ(memory.all<CaseError>()[0].error_class, "OutOfMemory");
  EXPECT_FALSE(memory.all<CaseError>()[0].lost);
}

TEST(RunCase, AThrottledCaseIsMeasuredAgainAndFlaggedIfItStaysSo) {
  const DeviceState cool{.sm_mhz = 1980};
  const DeviceState hot{.sm_mhz = 1400, .slowdowns = {"thermal"}};
  // Readings before and after; three readings during the rest; one after it.
  Sensors once({cool, hot, hot, hot, cool, cool});
  Ran ran = run({}, gemm(), &once);
  EXPECT_FALSE(ran.all<CaseRow>()[0].measurement.conditions.throttled);
  Sensors always({cool, hot});
  ran = run({}, gemm(), &always);
  ASSERT_EQ(ran.all<CaseRow>().size(), 1U);
  EXPECT_TRUE(ran.all<CaseRow>()[0].measurement.conditions.throttled);
  EXPECT_EQ(ran.all<CaseRow>()[0].measurement.conditions.sm_mhz_after, 1400);
}

TEST(RunCase, AReasonAtTheHighestClockIsNoThrottling) {
  const DeviceState full{.sm_mhz = 1965, .most_sm_mhz = 1980, .slowdowns = {"power cap"}};
  EXPECT_FALSE(conditions(full, full, {}).throttled);
  const DeviceState slow{.sm_mhz = 1900, .most_sm_mhz = 1980, .slowdowns = {"power cap"}};
  EXPECT_TRUE(conditions(full, slow, {}).throttled);
  EXPECT_FALSE(conditions(full, {.sm_mhz = 1900, .most_sm_mhz = 1980}, {}).throttled);
  const DeviceState counted{.sm_mhz = 1900, .most_sm_mhz = 1980, .is_counted = true};
  EXPECT_TRUE(conditions(full, counted, {}).throttled);
}

TEST(RunCase, TheTimeOfKernelsIsTold) {
  CaseRequest request = gemm();
  request.options.num_runs = 20;
  request.options.repeat_n = 2;
  const Ran ran = run({.time_ms = [](std::int64_t) { return 0.5; }}, request);
  ASSERT_EQ(ran.all<CaseDone>().size(), 1U);
  const std::optional<CaseTimes> times = ran.all<CaseDone>()[0].times;
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->kernels_ms, (20 * 2 + 3) * 0.5);
}

TEST(RunCase, PowerComesFromTheEnergyCounter) {
  CaseRequest request = gemm();
  request.measure_power = true;
  request.power_seconds = 0.01;
  Sensors sensors({DeviceState{.power_limit_watts = 700}});
  const Ran ran = run({}, request, &sensors);
  const model::PerfMeasurement row = ran.all<CaseRow>()[0].measurement;
  EXPECT_EQ(row.row.power_limit_watts, 700);
  ASSERT_TRUE(row.row.power_watts.has_value());
  EXPECT_NEAR(*row.row.power_watts, kWatts, kWatts / 10);
  EXPECT_GT(ran.all<CaseRow>()[0].measurement.conditions.energy_joules.value_or(0), 0);
}

TEST(RunCase, ADifferenceOfTwoKernelsIsNotBelowZero) {
  CaseRequest request = gemm();
  request.operator_name = "compute_scale";
  request.case_json = R"({"m":128,"k":2560,"quant_dtype":"fp8"})";
  const Ran ran = run({}, request);
  ASSERT_EQ(ran.all<CaseRow>().size(), 2U);
  bool has_difference = false;
  for (const CaseRow& row : ran.all<CaseRow>()) {
    if (row.measurement.row.op_name == "compute_scale") {
      has_difference = true;
      EXPECT_DOUBLE_EQ(row.measurement.row.latency_ms, 0);
    } else {
      EXPECT_DOUBLE_EQ(row.measurement.row.latency_ms, 1);
    }
  }
  EXPECT_TRUE(has_difference);
}

TEST(RunCase, CasesThatAreNoneAreErrors) {
  const auto message = [](const char* name, const char* json) {
    const auto parsed = parse_case(name, json);
    return parsed.ok() ? std::string() : parsed.error().message;
  };
  EXPECT_NE(message("gem", kGemm).find("no operator"), std::string::npos);
  EXPECT_NE(message("gemm", "[1]").find("object"), std::string::npos);
  EXPECT_NE(message("gemm", R"({"gemm_dtype":"bfloat16","m":1,"n":2})").find("'k'"),
            std::string::npos);
  EXPECT_FALSE(message("gemm", R"({"gemm_dtype":"bfloat17","m":1,"n":2,"k":3})").empty());
  EXPECT_FALSE(message("gemm", R"({"gemm_dtype":"bfloat16","m":"x","n":2,"k":3})").empty());
  EXPECT_FALSE(message("gemm", R"({"gemm_dtype":"bfloat16","m":1,"n":2,"k":3,"x":1})").empty());
  EXPECT_TRUE(message("gemm", kGemm).empty());
}

TEST(RunCase, TheDeviceIsToldOfSoonCasesThatItKnows) {
  FakeDevice device({});
  CaseRequest request = gemm();
  request.soon = {{"gemm", kGemm}, {"no_operator", kGemm}, {"gemm", R"({"m":1})"}};
  expect_soon(device, request);
  ASSERT_EQ(device.expected.size(), 1U);
  EXPECT_EQ(std::get<GemmSpec>(device.expected.front()).m, 64);
}

CaseRequest layer() {
  CaseRequest request;
  request.id = 8;
  request.operator_name = "decode_layer";
  request.case_json =
      R"({"model":"llama-3.1-8b","tp_size":1,"moe_ep_size":1,"quantization":"bfloat16",)"
      R"("kv_cache_dtype":"bfloat16","batch_size":16,"step":4095})";
  return request;
}

TEST(RunCase, ALayerHasTheTimeOfOneGraphAndTheSumOfItsKernels) {
  const Ran ran =
      run({.time_ms = [](std::int64_t) { return 0.25; }, .sequence_part = 0.75}, layer());
  const std::vector<CaseRow> rows = ran.all<CaseRow>();
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_EQ(ran.specs.size(), 8U);
  const model::PerfMeasurement& together = rows[0].measurement;
  const model::PerfMeasurement& sum = rows[1].measurement;
  EXPECT_EQ(together.row.op_name, "decode_layer");
  EXPECT_EQ(sum.row.op_name, "decode_layer_sum");
  EXPECT_EQ(together.row.key, sum.row.key);
  EXPECT_EQ(sum.row.table, "decode_layer_perf");
  EXPECT_EQ(sum.row.kernel_source, together.row.kernel_source);
  EXPECT_DOUBLE_EQ(together.row.latency_ms, 8 * 0.25 * 0.75);
  EXPECT_DOUBLE_EQ(sum.row.latency_ms, 8 * 0.25);
  EXPECT_DOUBLE_EQ(sum.timing.high_ms, 8 * 0.25);
  ASSERT_FALSE(sum.timing.samples_ms.empty());
  EXPECT_DOUBLE_EQ(sum.timing.samples_ms.front(), 8 * 0.25);
  EXPECT_EQ(ran.all<CaseDone>().size(), 1U);
}

TEST(RunCase, ALayerIsSkippedOrFailsAsAWhole) {
  const Ran refused = run({.unsupported = "no such kernel"}, layer());
  EXPECT_TRUE(refused.all<CaseRow>().empty());
  ASSERT_EQ(refused.all<CaseSkipped>().size(), 1U);
  CaseRequest checked = layer();
  checked.check = true;
  const Ran wrong = run({.accuracy = {.worst = 2, .compared = 1, .where = "there"}}, checked);
  EXPECT_TRUE(wrong.all<CaseRow>().empty());
  ASSERT_EQ(wrong.all<CaseError>().size(), 1U);
  EXPECT_EQ(wrong.all<CaseError>()[0].error_class, "WrongResult");
}

}  // namespace
}  // namespace assay::collect
