#include "trace/reader/reader.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/byte_source.h"
#include "core/files.h"
#include "core/output_file.h"
#include "trace/analysis.h"

namespace assay::trace {
namespace {

core::Result<model::Trace> read_text(std::string_view text, std::size_t piece_bytes = 1 << 16) {
  core::MemorySource source(text, piece_bytes);
  return read_trace(source, "test.json");
}

std::string document(std::string_view events) {
  return fmt::format(R"({{"schemaVersion": 1, "distributedInfo": {{"rank": 3, "world_size": 8}},
    "deviceProperties": [{{"name": "NVIDIA H200"}}, {{"name": "NVIDIA H200"}}],
    "traceEvents": [{}], "traceName": "x"}})",
                     events);
}

constexpr std::string_view kKernel =
    R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4339292520389.508,
        "dur": 26.144, "args": {"stream": 7, "device": 0, "correlation": 11645,
        "grid": [24, 1, 1], "block": [640, 2, 1]}})";

std::int64_t count_of(const model::Trace& trace, std::string_view reason) {
  for (const model::Warning& w : trace.warnings.all()) {
    if (w.reason.find(reason) != std::string::npos) return w.count;
  }
  return 0;
}

TEST(Reader, ReadsTimesToTheNanosecondAndTheArgsThatAreNeeded) {
  const auto trace = read_text(document(kKernel));
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().rank, 3);
  EXPECT_EQ(trace.value().world_size, 8);
  EXPECT_EQ(trace.value().device_count, 2);
  EXPECT_EQ(trace.value().gpu_name, "NVIDIA H200");
  ASSERT_EQ(trace.value().gpu_events.size(), 1U);
  const model::GpuEvent& kernel = trace.value().gpu_events[0];
  EXPECT_EQ(kernel.start_ns, 4339292520389508);
  EXPECT_EQ(kernel.duration_ns, 26144);
  EXPECT_EQ(kernel.correlation, 11645);
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(kernel.grid[0], 24U);
  EXPECT_EQ(kernel.block[1], 2U);
  EXPECT_TRUE(trace.value().warnings.empty());
}

// Some recordings name both ends.
TEST(Reader, AMessageNamesTheRankAtItsOtherEnd) {
  constexpr std::string_view kMessage =
      R"({{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "pid": 0, "tid": 7,
          "ts": 1, "dur": 2, "args": {{"stream": 7, "Collective name": "{}", "Src Rank": 4,
          "Dst Rank": 5}}}})";
  for (const auto& [name, peer] :
       {std::pair("send", 5), std::pair("recv", 4), std::pair("broadcast", -1)}) {
    const auto trace = read_text(document(fmt::format(kMessage, name)));
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_EQ(trace.value().collectives.size(), 1U);
    EXPECT_EQ(trace.value().collectives[0].peer_rank, peer) << name;
  }
}

// The result does not depend on where a read ends, be it inside a string, an escape or a number.
TEST(Reader, PieceSizeDoesNotMatter) {
  const std::string text = document(fmt::format(
      R"({0}, {{"ph":"X","cat":"cpu_op","name":"a \"quoted\" [name] \\","pid":"p","tid":1,
         "ts":4339292520000,"dur":2.5,"args":{{"Input Dims":[[2,3],[]],"Sequence number":9}}}}, {0})",
      kKernel));
  for (const std::size_t piece : {1, 2, 3, 7, 63, 64, 65, 100000}) {
    const auto trace = read_text(text, piece);
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(trace.value().gpu_events.size(), 2U);
    ASSERT_EQ(trace.value().cpu_ops.size(), 1U);
    const model::CpuOp& op = trace.value().cpu_ops[0];
    EXPECT_EQ(trace.value().text(op.name), R"(a "quoted" [name] \)");
    EXPECT_EQ(trace.value().text(op.input_dims), "[[2,3],[]]");
    EXPECT_EQ(op.duration_ns, 2500);
    EXPECT_EQ(op.sequence, 9);
    EXPECT_EQ(op.uid, 1U);
  }
}

TEST(Reader, AcceptsABareArrayOfEvents) {
  const auto trace = read_text(fmt::format("[{}]", kKernel));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().gpu_events.size(), 1U);
  EXPECT_EQ(trace.value().rank, std::nullopt);
}

TEST(Reader, ArgsMayStandBeforeTheCategory) {
  const auto trace = read_text(document(
      R"({"args": {"correlation": 5}, "name": "k", "ts": 1, "dur": 1, "pid": 0, "tid": 0,
          "cat": "kernel", "ph": "X"})"));
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace.value().gpu_events.size(), 1U);
  EXPECT_EQ(trace.value().gpu_events[0].correlation, 5);
}

struct BadNumber {
  const char* ts;
  const char* dur;
  const char* reason;
  std::size_t events_kept;
};

class ReaderBadNumbers : public ::testing::TestWithParam<BadNumber> {};

TEST_P(ReaderBadNumbers, AreCountedAndNeverEnterATotal) {
  const BadNumber& bad = GetParam();
  const auto trace = read_text(document(fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"bad","pid":0,"tid":7,"ts":{},"dur":{},"args":{{}}}},{})",
      bad.ts, bad.dur, kKernel)));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().gpu_events.size(), bad.events_kept);
  EXPECT_EQ(count_of(trace.value(), bad.reason), 1);
  std::int64_t total = 0;
  for (const model::GpuEvent& event : trace.value().gpu_events)
    total += event.duration_ns;
  EXPECT_LE(total, 26144 + 2000);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    ReaderBadNumbers,
    ::testing::Values(BadNumber{"4339292520000", "NaN", "duration that is not a number", 2},
                      BadNumber{"4339292520000", "-5.5", "negative duration", 2},
                      BadNumber{"4339292520000", "1e15", "more than a day", 2},
                      BadNumber{"4339292520000", "1e300", "duration that is not a number", 2},
                      BadNumber{"4339292520000", "Infinity", "duration that is not a number", 2},
                      BadNumber{"4339292520000", "null", "without a duration", 2},
                      BadNumber{"4339292520000", "\"2\"", "number written as text", 2},
                      BadNumber{"4339292520000", "\"two\"", "duration that is not a number", 2},
                      BadNumber{"4339292520000", "[2]", "duration that is not a number", 2},
                      BadNumber{"NaN", "2", "start time (ts) that is not a number", 1},
                      BadNumber{"null", "2", "without a start time", 1},
                      BadNumber{"1e30", "2", "start time (ts) that is not a number", 1}));

TEST(Reader, TruncatedTextGivesTheCompleteEvents) {
  const std::string whole = document(fmt::format("{0},{0},{0}", kKernel));
  const std::size_t third = whole.rfind(R"({"ph")");
  const auto trace = read_text(std::string_view(whole).substr(0, third + 40));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().gpu_events.size(), 2U);
  EXPECT_EQ(trace.value().rank, 3);
  EXPECT_TRUE(trace.value().truncated);
  EXPECT_EQ(count_of(trace.value(), "truncated"), 1);
}

TEST(Reader, RepairsTextsAndCountsThem) {
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"X","pid":0,"tid":7,"ts":4339292520000,"dur":2,"args":{}})";
  std::string bad_utf8 = event;
  bad_utf8.replace(bad_utf8.find("\"X\",\"pid"), 3, "\"\xFF\xC3\"");
  std::string control = event;
  control.replace(control.find("\"X\",\"pid"), 3, "\"a\nb\"");
  const auto trace = read_text(document(fmt::format("{},{},{}", bad_utf8, control, kKernel)));
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace.value().gpu_events.size(), 3U);
  EXPECT_EQ(trace.value().text(trace.value().gpu_events[0].name), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(trace.value().text(trace.value().gpu_events[1].name), "a b");
  EXPECT_EQ(trace.value().gpu_events[2].uid, 2U);
  EXPECT_EQ(count_of(trace.value(), "UTF-8"), 1);
  EXPECT_EQ(count_of(trace.value(), "control characters"), 1);
}

TEST(Reader, LeavesOutOnlyTheUnreadableEvent) {
  const auto trace =
      read_text(document(fmt::format(R"({0}, {{"ph" "X", , "name"}}, 17, null, {0})", kKernel)));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().gpu_events.size(), 2U);
  EXPECT_EQ(count_of(trace.value(), "unreadable event"), 1);
}

TEST(Reader, TextPidsMakeTracks) {
  const auto trace = read_text(document(
      R"({"ph":"M","name":"process_name","pid":"Spans","tid":0,"args":{"name":"spans"}},
         {"ph":"X","cat":"cpu_op","name":"a","pid":"Spans","tid":"t","ts":1,"dur":1}})"));
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace.value().cpu_ops.size(), 1U);
  const model::Track& track = trace.value().tracks[trace.value().cpu_ops[0].track];
  EXPECT_EQ(trace.value().text(track.process), "Spans");
  EXPECT_EQ(trace.value().text(trace.value().process_names.at(track.process)), "spans");
}

TEST(Reader, EmptyTraceIsAnEmptyTrace) {
  const auto trace = read_text(document(""));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().event_count, 0U);
}

TEST(Reader, NamesWhatIsNotATrace) {
  EXPECT_THAT(read_text("").error().message, ::testing::HasSubstr("is empty"));
  EXPECT_THAT(read_text("hello").error().message, ::testing::HasSubstr("traceEvents"));
  EXPECT_THAT(read_text(R"({"nodes": [1, 2]})").error().message,
              ::testing::HasSubstr("not a PyTorch profiler trace"));
  EXPECT_THAT(read_trace("/nonexistent/trace.json").error().message,
              ::testing::HasSubstr("No such file"));
}

// Reads a bundled trace, then the same with the gzip stream cut in the middle or damaged.
TEST(Reader, ReadsGzipAndTheSoundPartOfACutOne) {
  const std::filesystem::path path = std::filesystem::path(ASSAY_SOURCE_DIR) /
                                     "samples/traces-2gpu/ctas_default/torch_profiler/rank1/"
                                     "trace.json.gz";
  const auto whole = read_trace(path);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole.value().rank, 1);
  EXPECT_TRUE(whole.value().warnings.empty());
  EXPECT_EQ(whole.value().recorded_ranks.size(), 1U);

  const std::string bytes = core::read_file(path).value();
  const auto cut_path = std::filesystem::temp_directory_path() /
                        fmt::format("assay_reader_test_{}.json.gz", ::getpid());
  ASSERT_TRUE(core::write_file(cut_path, bytes.substr(0, bytes.size() / 2)).ok());
  const auto cut = read_trace(cut_path);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_TRUE(cut.value().truncated);
  EXPECT_GT(cut.value().event_count, whole.value().event_count / 4);
  EXPECT_LT(cut.value().event_count, whole.value().event_count);
  EXPECT_EQ(count_of(cut.value(), "gzip data end early"), 1);

  std::string damaged = bytes;
  for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 64; ++i)
    damaged[i] = '\xAA';
  ASSERT_TRUE(core::write_file(cut_path, damaged).ok());
  const auto broken = read_trace(cut_path);
  ASSERT_TRUE(broken.ok());
  EXPECT_FALSE(broken.value().warnings.empty());
  std::filesystem::remove(cut_path);
}

std::string kernel(std::string_view name, std::string_view ts = "100") {
  return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{},"dur":2,)"
                     R"("args":{{"stream":7}}}})",
                     name, ts);
}

struct Damage {
  const char* name;
  std::string events;
  const char* reason;
  std::size_t events_kept;
};

class DamagedTrace : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedTrace, KeepsTheOtherEventsAndCountsTheLoss) {
  const Damage& damage = GetParam();
  const auto trace = read_text(document(damage.events));
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().gpu_events.size(), damage.events_kept);
  EXPECT_EQ(count_of(trace.value(), damage.reason), 1);
}

// Replaces the first `from` in an event.
std::string broken(std::string event, std::string_view from, std::string_view to) {
  return event.replace(event.find(from), from.size(), to);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    DamagedTrace,
    ::testing::Values(
        Damage{"SurplusBracket", kernel("a") + "}," + kernel("b"), "brackets", 2},
        Damage{"MissingBracket",
               kernel("a") + "," + broken(kernel("b"), "}}", "}") + "," + kernel("c"), "brackets",
               2},
        Damage{"ClosedTooEarly", kernel("a") + "]," + kernel("b"), "brackets", 2},
        Damage{"OtherBracket",
               kernel("a") + "," + broken(kernel("b"), "}}", "}]") + "," + kernel("c"), "brackets",
               2},
        Damage{"NoPhase", kernel("a") + "," + broken(kernel("b"), R"("ph":"X",)", ""),
               "without a phase", 1},
        Damage{"PhaseThatIsNoText", kernel("a") + "," + broken(kernel("b"), R"("X")", "5"),
               "without a phase", 1},
        Damage{"NoCategory", kernel("a") + "," + broken(kernel("b"), R"("cat":"kernel",)", ""),
               "without a category", 1},
        Damage{"NameThatIsNoText", kernel("a") + "," + broken(kernel("b"), R"("b")", "null"),
               "name that is not a text", 2},
        Damage{"NoThread", kernel("a") + "," + broken(kernel("b"), R"("tid":7,)", ""),
               "without a process or thread", 2},
        Damage{"TimeOfAnotherDay", kernel("a") + "," + kernel("b", "9e10") + "," + kernel("c"),
               "more than a day from the others", 2},
        Damage{"EarliestTime", kernel("a") + "," + kernel("b", "-4e15") + "," + kernel("c"),
               "start time (ts) that is not a number", 2}),
    [](const auto& damage) { return std::string(damage.param.name); });

TEST(DamagedTrace, ByteOrderMarkIsNoDamage) {
  for (const std::string& text : {document(kernel("a")), "[" + kernel("a") + "]"}) {
    const auto trace = read_text("\xEF\xBB\xBF" + text);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_EQ(trace.value().gpu_events.size(), 1U);
    EXPECT_TRUE(trace.value().warnings.empty());
  }
}

TEST(DamagedTrace, SaysWhenTheRankIsNone) {
  for (const char* rank : {"-1", "1.5", "\"0\"", "2147483647"}) {
    const auto trace =
        read_text(fmt::format(R"({{"distributedInfo": {{"rank": {}}}, "traceEvents": []}})", rank));
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(trace.value().rank, std::nullopt);
    EXPECT_EQ(count_of(trace.value(), "that is no rank"), 1);
  }
}

TEST(DamagedTrace, BracketsInOtherFilesMakeNoTrace) {
  for (const char* text : {"\x89PNG\r\n[\x01\x02{\x03}]", "log [info] {a}", "\x1f\x9d[{}]"}) {
    const auto trace = read_text(text);
    ASSERT_FALSE(trace.ok());
    EXPECT_THAT(trace.error().message, ::testing::HasSubstr("not a PyTorch profiler trace"));
  }
}

// Warnings are printed on terminals, so they must hold no line breaks, no escape sequences and no
// megabytes.
TEST(DamagedTrace, ExamplesInWarningsAreOneShortLine) {
  const std::string name = R"(\u001b[31m\n)" + std::string(1'000'000, 'x');
  const auto trace = read_text(document(broken(kernel(name), R"("dur":2)", R"("dur":-2)")));
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace.value().warnings.all().size(), 1U);
  const std::string& example = trace.value().warnings.all()[0].example;
  EXPECT_THAT(example, ::testing::StartsWith(" [31m xxx"));
  EXPECT_LT(example.size(), 300U);
}

TEST(DamagedTrace, RecordedRanksBeyondAnyRunAreNoRanks) {
  const auto trace = read_text(
      R"([{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":1,
           "args":{"Rank":2147483647}}])");
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE(trace.value().recorded_ranks.empty());
}

TEST(Reader, WaitsBetweenStreams) {
  const std::string text = R"({"traceEvents": [
    {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 1,
     "dur": 0, "args": {"cuda_sync_kind": "Stream Wait Event", "stream": 7, "correlation": 12,
     "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 11, "wait_on_cuda_event_id": 3}},
    {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 2,
     "dur": 5, "args": {"cuda_sync_kind": "Context Sync", "correlation": 13}}]})";
  core::MemorySource source(text);
  const model::Trace trace = read_trace(source, "test").value();
  ASSERT_EQ(trace.stream_waits.size(), 1U);
  EXPECT_EQ(trace.stream_waits[0].correlation, 12);
  EXPECT_EQ(trace.stream_waits[0].record_correlation, 11);
  EXPECT_EQ(trace.stream_waits[0].stream, 7);
  EXPECT_EQ(trace.stream_waits[0].other_stream, 20);
  EXPECT_TRUE(trace.warnings.empty());
}

}  // namespace

}  // namespace assay::trace
