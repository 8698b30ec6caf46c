// Traces as they come from a full disk, a careless script or an attacker.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/byte_source.h"
#include "trace/analysis.h"
#include "trace/reader/reader.h"

namespace assay::trace {
namespace {

core::Result<model::Trace> read_text(std::string_view text) {
  core::MemorySource source(text);
  return read_trace(source, "test.json");
}

std::string kernel(std::string_view name, std::string_view ts = "100") {
  return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{},"dur":2,)"
                     R"("args":{{"stream":7}}}})",
                     name, ts);
}

std::string document(std::string_view events) {
  return fmt::format(R"({{"distributedInfo": {{"rank": 3}}, "traceEvents": [{}], "z": 1}})",
                     events);
}

std::int64_t count_of(const model::Warnings& warnings, std::string_view reason) {
  for (const model::Warning& w : warnings.all()) {
    if (w.reason.find(reason) != std::string::npos) return w.count;
  }
  return 0;
}

struct Damage {
  const char* name;
  std::string events;
  const char* reason;
  std::size_t events_kept;
};

class DamagedTrace : public testing::TestWithParam<Damage> {};

TEST_P(DamagedTrace, KeepsTheOtherEventsAndCountsTheLoss) {
  const Damage& damage = GetParam();
  const auto trace = read_text(document(damage.events));
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().gpu_events.size(), damage.events_kept);
  EXPECT_EQ(count_of(trace.value().warnings, damage.reason), 1);
}

// Replaces the first `from` of an event.
std::string broken(std::string event, std::string_view from, std::string_view to) {
  return event.replace(event.find(from), from.size(), to);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    DamagedTrace,
    testing::Values(
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
    EXPECT_EQ(count_of(trace.value().warnings, "that is no rank"), 1);
  }
}

TEST(DamagedTrace, BracketsInOtherFilesMakeNoTrace) {
  for (const char* text : {"\x89PNG\r\n[\x01\x02{\x03}]", "log [info] {a}", "\x1f\x9d[{}]"}) {
    const auto trace = read_text(text);
    ASSERT_FALSE(trace.ok());
    EXPECT_THAT(trace.error().message, testing::HasSubstr("not a PyTorch profiler trace"));
  }
}

// Warnings go to terminals: no line breaks, no escape sequences, no megabytes.
TEST(DamagedTrace, ExamplesInWarningsAreOneShortLine) {
  const std::string name = R"(\u001b[31m\n)" + std::string(1'000'000, 'x');
  const auto trace = read_text(document(broken(kernel(name), R"("dur":2)", R"("dur":-2)")));
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace.value().warnings.all().size(), 1U);
  const std::string& example = trace.value().warnings.all()[0].example;
  EXPECT_THAT(example, testing::StartsWith(" [31m xxx"));
  EXPECT_LT(example.size(), 300U);
}

TEST(DamagedTrace, RecordedRanksBeyondAnyRunAreNoRanks) {
  const auto trace = read_text(
      R"([{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":1,
           "args":{"Rank":2147483647}}])");
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE(trace.value().recorded_ranks.empty());
}

}  // namespace
}  // namespace assay::trace
