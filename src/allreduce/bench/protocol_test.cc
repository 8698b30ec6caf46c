#include "allreduce/bench/protocol.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::allreduce {
namespace {

CellRequest some_request() {
  CellRequest request;
  request.id = 7;
  request.cell = {4, DataType::kFloat16, Fusion::kResidualRmsNormQuantFp8, 2880, 100};
  request.launch = Launch::kEager;
  request.strategies = {Strategy::kTwoshotPush, Strategy::kNccl};
  request.tie = 0.05;
  request.min_samples = 6;
  request.max_samples = 60;
  request.memory_limit_bytes = 1LL << 33;
  request.seed = 0xFFFF'FFFF'FFFF'FFFFULL;
  return request;
}

std::string message_error(std::string_view line) {
  const auto message = parse_message(line);
  return message.ok() ? "" : message.error().message;
}

std::string request_error(std::string line, const std::string& from, const std::string& to) {
  line.replace(line.find(from), from.size(), to);
  const auto request = parse_request(line);
  return request.ok() ? "" : request.error().message;
}

TEST(AllreduceProtocol, RequestsComeBack) {
  const CellRequest sent = some_request();
  const auto got = parse_request(request_line(sent));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value().id, sent.id);
  EXPECT_EQ(got.value().cell, sent.cell);
  EXPECT_EQ(got.value().launch, sent.launch);
  EXPECT_EQ(got.value().strategies, sent.strategies);
  EXPECT_EQ(got.value().tie, sent.tie);
  EXPECT_EQ(got.value().min_samples, sent.min_samples);
  EXPECT_EQ(got.value().max_samples, sent.max_samples);
  EXPECT_EQ(got.value().memory_limit_bytes, sent.memory_limit_bytes);
  EXPECT_EQ(got.value().seed, sent.seed);
}

TEST(AllreduceProtocol, MessagesComeBack) {
  const auto hello = parse_message(message_line(WorkerHello{90, {{"GPU", "NVIDIA \"H200\"\n"}}}));
  ASSERT_TRUE(hello.ok()) << hello.error().message;
  EXPECT_EQ(std::get<WorkerHello>(hello.value()).sm_version, 90);
  EXPECT_EQ(std::get<WorkerHello>(hello.value()).facts.at("GPU"), "NVIDIA \"H200\"\n");

  const auto fatal = parse_message(message_line(WorkerFatal{"no driver"}));
  EXPECT_EQ(std::get<WorkerFatal>(fatal.value()).message, "no driver");

  const auto doing = parse_message(message_line(WorkerDoing{3, "check", Strategy::kOneshot}));
  EXPECT_EQ(std::get<WorkerDoing>(doing.value()).id, 3);
  EXPECT_EQ(std::get<WorkerDoing>(doing.value()).doing, "check");
  EXPECT_EQ(std::get<WorkerDoing>(doing.value()).strategy, Strategy::kOneshot);

  const auto done = parse_message(message_line(WorkerDone{9}));
  EXPECT_EQ(std::get<WorkerDone>(done.value()).id, 9);
}

TEST(AllreduceProtocol, ResultsComeBack) {
  Measurement measured;
  measured.strategy = Strategy::kNcclSymmetric;
  measured.time_us = 2.61;
  measured.low_us = 2.6;
  measured.high_us = 2.63;
  measured.min_us = 2.5;
  measured.samples = 20;
  measured.memory_bytes = 1234;
  const auto got = parse_message(message_line(WorkerResult{7, measured}));
  ASSERT_TRUE(got.ok()) << got.error().message;
  const auto& result = std::get<WorkerResult>(got.value());
  EXPECT_EQ(result.id, 7);
  EXPECT_EQ(result.measurement.strategy, Strategy::kNcclSymmetric);
  EXPECT_EQ(result.measurement.outcome, Outcome::kOk);
  EXPECT_EQ(result.measurement.time_us, 2.61);
  EXPECT_EQ(result.measurement.low_us, 2.6);
  EXPECT_EQ(result.measurement.high_us, 2.63);
  EXPECT_EQ(result.measurement.min_us, 2.5);
  EXPECT_EQ(result.measurement.samples, 20);
  EXPECT_EQ(result.measurement.memory_bytes, 1234);
}

TEST(AllreduceProtocol, ATimeThatWasNotMeasuredIsAbsent) {
  Measurement measured;
  measured.outcome = Outcome::kUnsupported;
  measured.reason = "fewer tokens than GPUs";
  const std::string line = message_line(WorkerResult{7, measured});
  EXPECT_EQ(line.find("time_us"), std::string::npos);
  const auto got = parse_message(line);
  ASSERT_TRUE(got.ok()) << got.error().message;
  const Measurement& result = std::get<WorkerResult>(got.value()).measurement;
  EXPECT_TRUE(std::isnan(result.time_us));
  EXPECT_TRUE(std::isnan(result.low_us));
  EXPECT_EQ(result.reason, "fewer tokens than GPUs");
  EXPECT_NE(message_error(R"({"id":7,"result":{"strategy":"NCCL","outcome":"ok","time_us":null,)"
                          R"("samples":1,"memory_bytes":0,"reason":""}})")
                .find("outcome 'ok' without a field 'time_us'"),
            std::string::npos);
}

TEST(AllreduceProtocol, NamesWhatIsWrongWithAMessage) {
  const auto expect = [](std::string_view line, const std::string& problem) {
    EXPECT_EQ(message_error(line), problem + " in '" + std::string(line) + "'");
  };
  expect("Segmentation fault", "no JSON");
  expect("[1]", "no JSON object");
  expect("", "no JSON");
  expect(R"({"id":7,"progress":3})", "unknown kind of message with the fields 'id', 'progress'");
  expect(R"({"hello":2})", "speaks version 2 of the protocol, not 1");
  expect(R"({"hello":1,"facts":{}})", "no field 'sm_version'");
  expect(R"({"id":7,"doing":"time"})", "no field 'strategy'");
  expect(R"({"id":7,"doing":"time","strategy":"RING"})", "unknown strategy 'RING'");
  expect(R"({"id":"7","done":true})", "field 'id': not a whole number");
  expect(R"({"id":7,"result":{"strategy":"NCCL"}})", "field 'result': no field 'outcome'");
  expect(R"({"id":7,"result":{"strategy":"NCCL","outcome":"slow"}})",
         "field 'result': unknown outcome 'slow'");
}

TEST(AllreduceProtocol, NamesWhatIsWrongWithARequest) {
  const std::string line = request_line(some_request());
  const auto expect = [&](const std::string& from, const std::string& to,
                          const std::string& problem) {
    EXPECT_EQ(request_error(line, from, to).rfind(problem, 0), 0U) << request_error(line, from, to);
  };
  expect("num_tokens", "tokens", "no field 'num_tokens'");
  expect("float16", "int8", "unknown data type 'int8'");
  expect("\"eager\"", "\"lazy\"", "unknown launch 'lazy'");
  expect("TWOSHOT_PUSH", "THREESHOT", "unknown strategy 'THREESHOT'");
  expect("\"max_samples\":60", "\"max_samples\":5", "field 'max_samples': less than 'min_samples'");
  expect("\"hidden_size\":2880", "\"hidden_size\":0", "field 'hidden_size': 0 is less than 1");
}

TEST(AllreduceProtocol, ALongLineIsQuotedInPart) {
  const std::string error = message_error(std::string(100'000, 'x'));
  EXPECT_LT(error.size(), 200U);
  EXPECT_NE(error.find("...'"), std::string::npos);
}

}  // namespace
}  // namespace assay::allreduce
