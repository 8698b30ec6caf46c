#include "model/goal_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/schedule_writer.h"

namespace assay::model {
namespace {

class Collect final : public RankSink {
 public:
  std::vector<RankImage> ranks;

  core::Status append(const RankImage& rank) override {
    ranks.push_back(rank);
    return {};
  }
};

core::Result<std::vector<RankImage>> read(std::string text) {
  auto goal = ASSAY_TRY(GoalText::from_text(std::move(text), "a.goal"));
  Collect collect;
  ASSAY_TRY(goal.read(collect));
  return std::move(collect.ranks);
}

std::vector<char> binary(const std::string& text) {
  auto ranks = read(text);
  EXPECT_TRUE(ranks.ok()) << ranks.error().message;
  return ranks.ok() ? binary_schedule(ranks.value()) : std::vector<char>{};
}

Schedule schedule(const std::string& text) {
  return Schedule::from_bytes(binary(text), "a.bin").value();
}

std::string text_of(const Schedule& schedule) {
  std::string text;
  const auto written = write_goal_text(schedule, [&](std::string_view piece) -> core::Status {
    text += piece;
    return {};
  });
  EXPECT_TRUE(written.ok());
  return text;
}

// Puts the statements into one rank.
std::string one_rank(const std::string& statements) {
  return "num_ranks 1\nrank 0 {\n" + statements + "}\n";
}

std::string error_of(const std::string& text) {
  const auto ranks = read(text);
  return ranks.ok() ? "no error" : ranks.error().message;
}

TEST(GoalTextReader, ReadsEveryStatement) {
  const Schedule read = schedule(
      "num_ranks 2\nrank 0 {\n"
      "a: calc 7 cpu 3\n"
      "send 10b to 1\n"
      "b: recv 11b from 1 tag 5 cpu 1 nic 2\n"
      "b requires a\n"
      "b irequires a\n"
      "}\nrank 1 {\nrecv 1b from -1 tag -1 nic 4\n}\n");
  const RankView& rank = read.ranks().at(0);
  ASSERT_EQ(rank.ops.size(), 3U);
  EXPECT_EQ(rank.ops[0].kind, OpKind::kCalc);
  EXPECT_EQ(+rank.ops[0].size, 7U);
  EXPECT_EQ(+rank.ops[0].cpu, 3);
  EXPECT_EQ(rank.ops[1].kind, OpKind::kSend);
  EXPECT_EQ(+rank.ops[1].size, 10U);
  EXPECT_EQ(+rank.ops[1].peer, 1U);
  EXPECT_EQ(+rank.ops[1].tag, 0U);
  EXPECT_EQ(rank.ops[2].kind, OpKind::kReceive);
  EXPECT_EQ(+rank.ops[2].tag, 5U);
  EXPECT_EQ(+rank.ops[2].cpu, 1);
  EXPECT_EQ(+rank.ops[2].nic, 2);
  EXPECT_EQ(+rank.ops[2].dependencies, 2U);
  ASSERT_EQ(rank.after_finish(rank.ops[0]).size(), 1U);
  EXPECT_EQ(+rank.after_finish(rank.ops[0])[0].value, 2U);
  ASSERT_EQ(rank.after_start(rank.ops[0]).size(), 1U);
  EXPECT_EQ(+read.ranks().at(1).ops[0].peer, kAnyPeer);
  EXPECT_EQ(+read.ranks().at(1).ops[0].tag, kAnyTag);
  EXPECT_EQ(read.max_cpu(), 3U);
  EXPECT_EQ(read.max_nic(), 4U);
}

// Compares the bytes with what the public converter writes.
TEST(GoalTextReader, MakesTheBytesOfThePublicConverter) {
  const std::vector<char> bytes =
      binary("num_ranks 1\nrank 0 {\nl0: calc 5\nl1: send 9b to 0 tag 3\nl1 requires l0\n}\n");
  constexpr char kExpected[] =
      "\x7f\x10\0\0\0\0\0\0"  // magic 4223
      "\x01\0\0\0\0\0"        // ranks, cpu, nic
      "\x16\0\0\0\0\0\0\0"
      "\x74\0\0\0\0\0\0\0"                                      // from 22 to 116
      "\x02\0\0\0\x01\0\0\0\0\0\0\0"                            // 2 operations, 1 root: 0
      "\0\0\0\0\x03\0\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\0"      // calc
      "\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0"                    // 1 dependent at 0, 0 at 1
      "\x01\0\0\0\x01\0\0\0\0\x09\0\0\0\0\0\0\0\x03\0\0\0\0\0"  // send
      "\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0"
      "\x01\0\0\0";
  const std::string expected(kExpected, sizeof(kExpected) - 1);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), expected);
}

TEST(GoalTextReader, PartsWordsOnlyWhereItMust) {
  EXPECT_EQ(
      binary("num_ranks 1 rank 0{\r\nx:send 5bto0tag7cpu1nic2\r\ny:calc 3cpu1\ny requiresx\n}"),
      binary("num_ranks 1\nrank 0 {\nx: send 5b to 0 tag 7 cpu 1 nic 2\ny: calc 3 cpu 1\n"
             "y requires x\n}\n"));
}

TEST(GoalTextReader, SkipsCommentsBetweenStatements) {
  EXPECT_EQ(binary("// a\n/* b\n */ num_ranks 1\nrank 0 { // c\n/* d */ calc 5\n// }\n} // end"),
            binary(one_rank("calc 5\n")));
}

TEST(GoalTextReader, TakesAnyLabel) {
  const auto with = [](const std::string& a, const std::string& b, const std::string& c) {
    return binary(one_rank(a + ": calc 1\n" + b + ": calc 2\n" + c + ": calc 3\n" + c +
                           " requires " + a + "\n" + b + " irequires " + a + "\n"));
  };
  const std::vector<char> usual = with("l0", "l1", "l2");
  EXPECT_EQ(with("a", "b", "c"), usual);
  EXPECT_EQ(with("l9", "m9", "l09"), usual);
  EXPECT_EQ(with("l4000000000", "l7", "l123456"), usual);
  EXPECT_EQ(with("l_1", "l1_", "l1x2"), usual);
  EXPECT_EQ(with("requires", "cpu", "to5"), usual);
}

TEST(GoalTextReader, ForgetsLabelsAtTheEndOfTheRank) {
  EXPECT_EQ(error_of("num_ranks 2\nrank 0 {\nl0: calc 1\nx: calc 1\n}\n"
                     "rank 1 {\nl1: calc 1\nl1 requires l0\n}\n"),
            "a.goal:8: no operation above this line has the label 'l0' (labels belong to their "
            "rank)");
}

TEST(GoalTextReader, NamesPlaceAndMistake) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"hello", "a.goal:1: expected 'num_ranks', with which a GOAL schedule begins, found 'hello'"},
      {"\n\nnum_ranks x", "a.goal:3: expected the number of ranks, found 'x'"},
      {"num_ranks 0\n", "a.goal:1: a schedule has at least one rank"},
      {"num_ranks 4000000000\nrank 0 {}\n",
       "a.goal:1: 4000000000 ranks do not fit into the file: cut short?"},
      {"num_ranks 1\nrank 1 {\n}\n",
       "a.goal:2: expected 'rank 0' of the 1 ranks, found rank 1: ranks must be there once each, "
       "in "
       "order"},
      {"num_ranks 2\nrank 0 {\n}\n// no more",
       "a.goal:4: expected 'rank 1' of the 2 ranks, found the end of the file"},
      {"num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n",
       "a.goal:4: expected nothing after the last of the 1 ranks, found 'rank'"},
      {"num_ranks 2\nrank 0 {\ncalc 5\nrank 1 {\n}\n",
       "a.goal:4: the rank before this one has no closing '}'"},
      {"num_ranks 1\nrank 0 {\ncalc 5\n", "a.goal:4: the rank has no closing '}'"},
      {"num_ranks 1\n/* rank 0 {\n", "a.goal:2: the comment that begins here has no end"},
      {one_rank("l1: calc 1\nl1 requires l2\nl2: calc 1\n"),
       "a.goal:4: no operation above this line has the label 'l2' (labels belong to their rank)"},
      {one_rank("l1: calc 1\nl1: calc 1\n"), "a.goal:4: the label 'l1' is defined already"},
      {one_rank("x: calc 1\nx: calc 1\n"), "a.goal:4: the label 'x' is defined already"},
      {one_rank("l1: AllReduce 4096 bytes\n"),
       "a.goal:3: expected 'calc', 'send' or 'recv', found 'AllReduce'"},
      {one_rank("l1 needs l2\n"),
       "a.goal:3: expected ':', 'requires' or 'irequires' after a label, found 'needs'"},
      {one_rank("calc 1 cpu 255\n"), "a.goal:3: the cpu is 255, but the last one is 254"},
      {one_rank("send 1b to 0 nic 300\n"), "a.goal:3: the nic is 300, but the last one is 254"},
      {one_rank("send 1b to 1\n"),
       "a.goal:3: the other rank is 1, but the schedule has no such rank (see its num_ranks)"},
      {one_rank("send 1b to -1\n"), "a.goal:3: expected the other rank, found '-'"},
      {one_rank("recv 1b to 0\n"), "a.goal:3: expected 'from', found 'to'"},
      {one_rank("send 1 to 0\n"), "a.goal:3: expected 'b' after the size, found 'to'"},
      {one_rank("send 1b to 0 tag 4294967296\n"),
       "a.goal:3: the tag is 4294967296, but a tag has 32 bits"},
      {one_rank("calc 18446744073709551616\n"), "a.goal:3: the duration has more than 64 bits"},
      {one_rank("calc 5 // why\n"), "a.goal:3: expected 'cpu' or the end of the line, found '/'"},
      {one_rank("calc 5 cpu 1 nic 0\n"), "a.goal:3: expected the end of the line, found 'nic'"},
      {one_rank("send 1b to 0 cpu 1 tag 3\n"),
       "a.goal:3: expected 'nic' or the end of the line, found 'tag'"},
      {one_rank(std::string("calc 5\n\0", 8)),
       "a.goal:4: expected an operation, a label or '}', found the byte 0x00"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(error_of(text), message);
}

TEST(GoalTextReader, TakesTheLargestNumbers) {
  const Schedule read = schedule(one_rank(
      "calc 18446744073709551615 cpu 254\nsend 00000000000000000000001b to 0 tag 0000011203\n"));
  EXPECT_EQ(+read.ranks()[0].ops[0].size, 18446744073709551615U);
  EXPECT_EQ(+read.ranks()[0].ops[1].size, 1U);
  EXPECT_EQ(+read.ranks()[0].ops[1].tag, 11203U);
}

TEST(GoalTextWriter, WritesWhatThePublicGeneratorWrites) {
  const std::string text =
      "num_ranks 2\n\nrank 0 {\nl0: calc 500 cpu 1\nl1: send 1024b to 1 tag 7 cpu 0 nic 2\n"
      "l1 requires l0\n}\n\nrank 1 {\nl0: recv 1024b from -1 tag -1 cpu 0 nic 0\n"
      "l1: calc 1 cpu 0\nl1 irequires l0\n}\n";
  EXPECT_EQ(text_of(schedule(text)), text);
}

// Tests backward dependencies and lists of dependents out of order: text may use a label only after
// its definition, yet the lists must come back unchanged.
TEST(GoalTextWriter, KeepsTheOrderOfDependents) {
  RankBuilder builder;
  for (unsigned i = 0; i < 6; ++i)
    builder.calc(i, {});
  for (const unsigned after : {5U, 1U, 4U, 2U})
    builder.require_finish(after, 3);
  for (const unsigned after : {4U, 0U})
    builder.require_start(after, 5);
  builder.require_finish(3, 0);
  const std::vector<char> bytes = binary_schedule({builder.finish()});
  const std::string text = text_of(Schedule::from_bytes(bytes, "b").value());
  EXPECT_EQ(binary(text), bytes) << text;
}

TEST(GoalTextWriter, PassesOnThatTheWriterFailed) {
  const Schedule one = schedule(one_rank("calc 1\n"));
  const auto written = write_goal_text(
      one, [](std::string_view) -> core::Status { return core::Error{"disk full"}; });
  EXPECT_EQ(written.error().message, "disk full");
}

TEST(GoalTextWriter, RefusesWhatTextCannotSay) {
  RankBuilder builder;
  builder.calc(1, {.cpu = 0, .nic = 3});
  const auto rank = Schedule::from_bytes(binary_schedule({builder.finish()}), "b").value();
  const auto written = write_goal_text(rank, [](std::string_view) -> core::Status { return {}; });
  EXPECT_EQ(written.error().message,
            "rank 0: operation 0, a calculation, names nic 3; text has no word for it");
}

TEST(GoalText, LongSchedulesSurviveBothWays) {
  std::string text = "num_ranks 3\n";
  for (unsigned rank = 0; rank < 3; ++rank) {
    text += "\nrank " + std::to_string(rank) + " {\n";
    for (unsigned i = 0; i < 20000; ++i) {
      text += "l" + std::to_string(i) + ": send " + std::to_string(i * 977) + "b to " +
              std::to_string((rank + 1) % 3) + " tag " + std::to_string(i) + " cpu " +
              std::to_string(i % 255) + " nic 0\n";
      if (i > 0) text += "l" + std::to_string(i) + " requires l" + std::to_string(i / 2) + "\n";
    }
    text += "}\n";
  }
  const std::vector<char> bytes = binary(text);
  EXPECT_EQ(text_of(Schedule::from_bytes(bytes, "b").value()), text);
}

}  // namespace
}  // namespace assay::model
