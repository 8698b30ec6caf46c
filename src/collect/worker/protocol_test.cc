#include "collect/worker/protocol.h"

#include <gtest/gtest.h>

namespace assay::collect {
namespace {

model::PerfMeasurement some_measurement() {
  model::PerfMeasurement measurement;
  measurement.row = {
      .table = "gemm_perf",
      .framework = "assay",
      .version = "0.1.0",
      .device = "NVIDIA \"H200\"\n",
      .op_name = "gemm",
      .kernel_source = "cublaslt",
      .key = {{"gemm_dtype", std::string("bfloat16")}, {"m", std::int64_t{64}}, {"alpha", 2.0}},
      .latency_ms = 0.0021,
      .power_watts = 431.5};
  measurement.timing.median_ms = 0.0021;
  measurement.timing.launch = model::Launch::kEager;
  measurement.timing.l2 = model::L2State::kCold;
  measurement.timing.samples_ms = {0.002, 0.0021, 0.003};
  measurement.timing.skew_ms = 0.25;
  measurement.conditions.sm_mhz_before = 1980;
  measurement.conditions.slowdowns = {"power cap"};
  measurement.conditions.throttled = true;
  return measurement;
}

std::string message_error(std::string_view line) {
  const auto message = parse_message(line);
  return message.ok() ? "" : message.error().message;
}

TEST(CollectProtocol, RequestsComeBack) {
  CaseRequest sent;
  sent.id = 7;
  sent.operator_name = "gemm";
  sent.case_json = R"({"k":3,"m":1})";
  sent.check = true;
  sent.measure_power = true;
  sent.power_seconds = 0.5;
  sent.options.certainty = 0.02;
  sent.options.num_runs = 6;
  sent.options.launch = model::Launch::kEager;
  sent.options.l2 = model::L2State::kCold;
  const auto got = parse_request(request_line(sent));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(request_line(got.value()), request_line(sent));
  EXPECT_EQ(got.value().case_json, sent.case_json);
  EXPECT_TRUE(got.value().measure_power);
  EXPECT_EQ(got.value().options.num_runs, 6);
  EXPECT_EQ(got.value().options.l2, model::L2State::kCold);
}

TEST(CollectProtocol, SoonCasesComeBackAndMayBeOfAnyKind) {
  CaseRequest sent;
  sent.operator_name = "gemm";
  sent.case_json = R"({"m":1})";
  sent.soon = {{"gemm", R"({"m":2})"}, {"my_module", R"([1,"a"])"}};
  const auto got = parse_request(request_line(sent));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(request_line(got.value()), request_line(sent));
  ASSERT_EQ(got.value().soon.size(), 2U);
  EXPECT_EQ(got.value().soon[1].case_json, R"([1,"a"])");
  const auto odd = parse_request(R"({"id":1,"operator":"x","case":[],"soon":[7,{"case":[]}]})");
  ASSERT_TRUE(odd.ok()) << odd.error().message;
  EXPECT_TRUE(odd.value().soon.empty());
}

TEST(CollectProtocol, CasesOfModulesAreLists) {
  const auto got = parse_request(R"({"id":1,"operator":"x","case":[1,"a",true]})");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value().case_json, R"([1,"a",true])");
  EXPECT_FALSE(got.value().check);
}

TEST(CollectProtocol, RowsComeBackWithTheirColumnsInOrder) {
  const auto sent = some_measurement();
  const auto got = parse_message(message_line(CaseRow{3, sent}));
  ASSERT_TRUE(got.ok()) << got.error().message;
  const auto& row = std::get<CaseRow>(got.value());
  EXPECT_EQ(row.id, 3);
  EXPECT_EQ(row.measurement.row.key, sent.row.key);
  EXPECT_EQ(row.measurement.row.device, sent.row.device);
  EXPECT_EQ(row.measurement.row.power_watts, 431.5);
  EXPECT_EQ(row.measurement.row.power_limit_watts, std::nullopt);
  EXPECT_EQ(row.measurement.timing.samples_ms, sent.timing.samples_ms);
  EXPECT_EQ(row.measurement.timing.launch, model::Launch::kEager);
  EXPECT_EQ(row.measurement.timing.skew_ms, 0.25);
  EXPECT_EQ(row.measurement.conditions.slowdowns, sent.conditions.slowdowns);
  EXPECT_TRUE(row.measurement.conditions.throttled);
}

TEST(CollectProtocol, MessagesComeBack) {
  DeviceFacts device;
  device.kind = "cuda";
  device.name = "NVIDIA H200";
  device.version = "0.1.0";
  device.sm_version = 90;
  device.count = 8;
  device.memory_bytes = 1LL << 37;
  device.more = {{"driver", "580.159"}};
  const auto hello = parse_message(message_line(WorkerHello{device}));
  ASSERT_TRUE(hello.ok()) << hello.error().message;
  const DeviceFacts& got = std::get<WorkerHello>(hello.value()).device;
  EXPECT_EQ(got.name, device.name);
  EXPECT_EQ(got.count, 8);
  EXPECT_EQ(got.memory_bytes, device.memory_bytes);
  EXPECT_EQ(got.more, device.more);

  const auto error =
      parse_message(message_line(CaseError{4, "OutOfMemory", "no 12 GB", "line 1\nline 2", true}));
  ASSERT_TRUE(error.ok()) << error.error().message;
  EXPECT_EQ(std::get<CaseError>(error.value()).traceback, "line 1\nline 2");
  EXPECT_TRUE(std::get<CaseError>(error.value()).lost);

  const auto skip = parse_message(message_line(CaseSkipped{5, "no plan"}));
  EXPECT_EQ(std::get<CaseSkipped>(skip.value()).reason, "no plan");
  EXPECT_EQ(std::get<CaseDone>(parse_message(message_line(CaseDone{6})).value()).id, 6);
  EXPECT_EQ(std::get<CaseDoing>(parse_message(message_line(CaseDoing{6, "time"})).value()).doing,
            "time");
  EXPECT_EQ(std::get<WorkerFatal>(parse_message(message_line(WorkerFatal{"no"})).value()).message,
            "no");
}

TEST(CollectProtocol, SaysWhatIsWrongWithALine) {
  EXPECT_EQ(message_error("Segmentation fault"), "no JSON in 'Segmentation fault'");
  EXPECT_EQ(message_error("[1]"), "no JSON object in '[1]'");
  EXPECT_EQ(message_error(R"({"hello":2})"),
            R"(speaks version 2 of the protocol, not 1 in '{"hello":2}')");
  EXPECT_EQ(message_error(R"({"id":1})"),
            R"(unknown kind of message with the fields 'id' in '{"id":1}')");
  EXPECT_EQ(message_error(R"({"id":"1","done":true})"),
            R"(field 'id': not a whole number in '{"id":"1","done":true}')");
  std::string line = message_line(CaseRow{3, some_measurement()});
  const std::string from = R"("latency_ms":0.0021)";
  line.replace(line.find(from), from.size(), R"("latency_ms":-1)");
  EXPECT_EQ(message_error(line).find("field 'row': field 'latency_ms': less than 0"), 0);
}

}  // namespace
}  // namespace assay::collect
