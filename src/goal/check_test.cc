#include "goal/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "goal/goal_test_util.h"
#include "goal/proof.h"
#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

using model::OperationSpan;
using model::ScheduleNotes;
using testing::ElementsAre;
using testing::IsEmpty;

// Returns "name xCOUNT: example" for each example.
std::vector<std::string> lines(const CheckResult& result) {
  std::vector<std::string> lines;
  for (const Finding& finding : result.findings) {
    for (const std::string& example : finding.examples)
      lines.push_back(finding.name + " x" + std::to_string(finding.count) + ": " + example);
  }
  return lines;
}

// Makes a schedule of two ranks with these statements.
CheckResult check_two(const std::string& first, const std::string& second) {
  return check(schedule_of("num_ranks 2\nrank 0 {\n" + first + "}\nrank 1 {\n" + second + "}\n"));
}

TEST(Check, PassesWhatMatches) {
  const CheckResult result =
      check_two("l0: send 8b to 1 tag 3\nl1: calc 5\nl1 requires l0\n", "recv 8b from 0 tag 3\n");
  EXPECT_TRUE(result.passed());
  EXPECT_THAT(lines(result), IsEmpty());
  EXPECT_EQ(result.ranks, 2U);
  EXPECT_EQ(result.sends, 1U);
  EXPECT_EQ(result.receives, 1U);
  EXPECT_EQ(result.calculations, 1U);
  EXPECT_EQ(result.dependencies, 1U);
  EXPECT_EQ(result.matched_messages, 1U);
  EXPECT_EQ(result.operations(), 3U);
}

TEST(Check, NamesUnmatchedMessages) {
  const CheckResult result = check_two("send 8b to 1 tag 3\nsend 8b to 1 tag 4\n",
                                       "recv 8b from 0 tag 3\nrecv 8b from 0 tag 5\n");
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.matched_messages, 1U);
  EXPECT_THAT(
      lines(result),
      ElementsAre("unmatched send x1: rank 0: operation 1 sends 8 B to rank 1 with tag 4",
                  "unmatched receive x1: rank 1: operation 1 receives 8 B from rank 0 with tag 5"));
}

TEST(Check, TellsSizesFromTags) {
  const CheckResult result = check_two("send 8b to 1 tag 3\n", "recv 9b from 0 tag 3\n");
  EXPECT_THAT(
      lines(result),
      ElementsAre(
          "size mismatch x1: rank 0: operation 0 sends 8 B, rank 1: operation 0 takes 9 B"));
}

// A receive takes the message of its own size, even if messages with the same tag come before it.
TEST(Check, MatchesRepeatedTagsBySize) {
  const CheckResult result = check_two("send 8b to 1\nsend 9b to 1\nsend 8b to 1\n",
                                       "recv 9b from 0\nrecv 8b from 0\nrecv 8b from 0\n");
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.matched_messages, 3U);
  EXPECT_THAT(lines(result),
              ElementsAre("repeated tag x2: rank 0: operation 1 sends 9 B to rank 1 with tag 0",
                          "repeated tag x2: rank 0: operation 2 sends 8 B to rank 1 with tag 0"));
}

TEST(Check, PairsWhatDiffersInSizeOneToOne) {
  const CheckResult result =
      check_two("send 8b to 1\nsend 9b to 1\nsend 8b to 1\n",
                "recv 7b from 0\nrecv 7b from 0\nrecv 7b from 0\nrecv 7b from 0\n");
  ASSERT_EQ(result.findings.size(), 3U);
  EXPECT_EQ(result.findings[0].name, "unmatched receive");
  EXPECT_EQ(result.findings[0].count, 1U);
  EXPECT_EQ(result.findings[1].name, "size mismatch");
  EXPECT_EQ(result.findings[1].count, 3U);
}

TEST(Check, CountsEachOfARepeatedMessage) {
  const CheckResult result =
      check_two("send 8b to 1\nsend 8b to 1\nsend 8b to 1\n", "recv 8b from 0\n");
  EXPECT_EQ(result.matched_messages, 1U);
  EXPECT_EQ(result.findings.at(0).name, "unmatched send");
  EXPECT_EQ(result.findings.at(0).count, 2U);
}

TEST(Check, DoesNotMixUpDirections) {
  EXPECT_FALSE(
      check_two("send 8b to 1\nsend 8b to 1\n", "send 8b to 0\nrecv 8b from 0\n").passed());
  EXPECT_TRUE(
      check_two("send 8b to 1\nrecv 8b from 1\n", "send 8b to 0\nrecv 8b from 0\n").passed());
}

TEST(Check, LetsReceivesFromAnybodyTakeTheRest) {
  const CheckResult result = check_two("send 8b to 1 tag 1\nsend 8b to 1 tag 2\n",
                                       "recv 8b from -1 tag 2\nrecv 8b from 0 tag 1\n");
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.matched_messages, 1U);
  EXPECT_THAT(lines(result), ElementsAre("wildcard receive x1: rank 1: operation 0"));
}

TEST(Check, CountsWildcardsWithoutMessagesAndMessagesWithoutWildcards) {
  EXPECT_THAT(lines(check_two("send 8b to 1\n", "recv 8b from -1\nrecv 8b from 0 tag -1\n")),
              testing::Contains(
                  "unmatched receive x1: rank 1: 2 wildcard receives, but 1 message for them"));
  EXPECT_THAT(
      lines(check_two("send 8b to 1\nsend 9b to 1\n", "recv 8b from -1\n")),
      testing::Contains("unmatched send x1: rank 0: operation 1 sends 9 B to rank 1 with tag 0"));
}

TEST(Check, RemarksOnMessagesToOneself) {
  const CheckResult result = check_two("send 8b to 0\nrecv 8b from 0\n", "");
  EXPECT_TRUE(result.passed());
  EXPECT_THAT(lines(result), ElementsAre("send to itself x1: rank 0: operation 0"));
}

TEST(Check, NamesTheOperationsOfACircle) {
  const CheckResult result = check_two(
      "a: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\ne: calc 1\n"
      "b requires a\nc irequires b\nd requires c\nb requires d\ne requires d\n",
      "");
  EXPECT_FALSE(result.passed());
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].name, "cycle");
  EXPECT_THAT(result.findings[0].examples, ElementsAre("rank 0: operations 1 -> 2 -> 3 -> 1"));
}

TEST(Check, TakesBackwardDependenciesWithoutACircle) {
  EXPECT_TRUE(
      check_two("a: calc 1\nb: calc 1\nc: calc 1\na requires c\nc requires b\n", "").passed());
}

TEST(Check, NamesAnOperationThatWaitsForItself) {
  EXPECT_THAT(lines(check_two("a: calc 1\na requires a\n", "")),
              ElementsAre("cycle x1: rank 0: operations 0 -> 0"));
}

TEST(Check, KnowsTheLimits) {
  model::RankBuilder builder;
  builder.calc(std::uint64_t{1} << 40U, {.cpu = 255, .nic = 0});
  builder.send(std::uint64_t{1} << 31U, 0, 0x80000000, {.cpu = 0, .nic = 255});
  builder.receive(std::uint64_t{1} << 31U, 0, 0x80000000, {});
  const auto schedule =
      model::Schedule::from_bytes(model::binary_schedule({builder.finish()}), "b").value();
  std::vector<std::string> names;
  for (const Finding& finding : check(schedule).findings)
    names.push_back(finding.name + " x" + std::to_string(finding.count));
  EXPECT_THAT(names, ElementsAre("cpu limit x1", "nic limit x1", "tag limit x2", "size limit x2",
                                 "send to itself x1"));
}

TEST(Check, ComparesTheHeaderWithTheOperations) {
  model::RankBuilder builder;
  builder.calc(1, {.cpu = 3, .nic = 0});
  std::vector<char> bytes = model::binary_schedule({builder.finish()});
  bytes[offsetof(model::ScheduleStart, max_cpu)] = 2;
  EXPECT_THAT(
      lines(check(model::Schedule::from_bytes(bytes, "b").value())),
      ElementsAre("header x1: rank 0: operation 0 has cpu 3 and nic 0, the header ends at 2 "
                  "and 0"));
}

// Many sources, so that entries of the table of waiting messages collide.
TEST(Check, MatchesManyToMany) {
  constexpr unsigned kRanks = 40;
  std::string text = "num_ranks " + std::to_string(kRanks) + "\n";
  for (unsigned rank = 0; rank < kRanks; ++rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    for (unsigned i = 0; i < 20 * kRanks; ++i) {
      text += "send " + std::to_string(i % 3) + "b to " + std::to_string(i % kRanks) + " tag " +
              std::to_string(i / kRanks) + "\n";
      text += "recv " + std::to_string((rank + i / kRanks * kRanks) % 3) + "b from " +
              std::to_string(i % kRanks) + " tag " + std::to_string(i / kRanks) + "\n";
    }
    text += "}\n";
  }
  const CheckResult result = check(schedule_of(text));
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.matched_messages, 20U * kRanks * kRanks);
}

class CheckNotes : public testing::Test {
 protected:
  model::Schedule schedule_ = schedule_of(
      "num_ranks 2\nrank 0 {\ncalc 1\nsend 8b to 1 tag 16\nsend 8b to 1 tag 33\n}\n"
      "rank 1 {\nrecv 8b from 0 tag 16\nrecv 8b from 0 tag 33\n}\n");
  ScheduleNotes notes_;

  // Labels 1 and 2 above 4 bits give tags 16 to 31 and 32 to 47.
  void SetUp() override {
    notes_.ranks.resize(2);
    notes_.tags = {.name = "bits", .id_width = 4, .label_width = 2};
    notes_.operations.resize(2);
    notes_.operations[0].label = 1;
    notes_.operations[1].label = 2;
    notes_.spans = {{{.operation = 0, .first_op = 0, .num_ops = 2},
                     {.operation = 1, .first_op = 2, .num_ops = 1}},
                    {{.operation = 0, .first_op = 0, .num_ops = 1}}};
  }
};

TEST_F(CheckNotes, PassWhenTheyFit) {
  EXPECT_THAT(lines(check(schedule_, &notes_)), IsEmpty());
}

TEST_F(CheckNotes, NameAWrongLabelWithinASpan) {
  notes_.operations[1].label = 3;
  EXPECT_THAT(lines(check(schedule_, &notes_)),
              ElementsAre("label x2: rank 0: operation 2 has tag 33, label 2; its NCCL operation "
                          "has label 3",
                          "label x2: rank 1: operation 1 has tag 33, label 2, which no NCCL "
                          "operation has"));
}

TEST_F(CheckNotes, ReadDecimalLabels) {
  notes_.tags = {.name = "decimal", .id_width = 1, .label_width = 1};
  notes_.operations[1].label = 3;
  EXPECT_THAT(lines(check(schedule_, &notes_)), IsEmpty());
  notes_.operations[1].label = 2;
  EXPECT_FALSE(check(schedule_, &notes_).passed());
}

TEST_F(CheckNotes, NeedNoLabels) {
  notes_.tags.name = "none";
  notes_.operations[1].label = 77;
  EXPECT_THAT(lines(check(schedule_, &notes_)), IsEmpty());
}

TEST_F(CheckNotes, HaveSpansWithinTheGraphAndApart) {
  notes_.tags.name = "none";
  const auto failing = [&](OperationSpan span) {
    notes_.spans[0][1] = span;
    const auto result = check(schedule_, &notes_);
    return result.findings.size() == 1 && result.findings[0].name == "span";
  };
  EXPECT_TRUE(failing({.operation = 1, .first_op = 2, .num_ops = 2}));
  EXPECT_TRUE(failing({.operation = 1, .first_op = 1, .num_ops = 1}));
  EXPECT_TRUE(failing({.operation = 1, .first_op = 4, .num_ops = 0}));
  EXPECT_TRUE(failing({.operation = 2, .first_op = 2, .num_ops = 1}));
  EXPECT_TRUE(failing({.operation = 1, .first_op = 2, .num_ops = 0xFFFFFFFF}));
  EXPECT_FALSE(failing({.operation = 1, .first_op = 3, .num_ops = 0}));
}

TEST_F(CheckNotes, BelongToTheSchedule) {
  notes_.ranks.resize(3);
  EXPECT_THAT(lines(check(schedule_, &notes_)),
              ElementsAre("notes x1: they tell of 3 ranks and the spans of 2, the schedule has 2"));
}

}  // namespace
}  // namespace assay::goal
