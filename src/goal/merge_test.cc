#include "goal/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "goal/check.h"
#include "goal/goal_test_util.h"
#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

using testing::ElementsAre;

const char* const kPing =
    "num_ranks 2\n\nrank 0 {\nl0: calc 9 cpu 1\nl1: send 8b to 1 tag 5 cpu 0 nic 1\n"
    "l1 requires l0\n}\n\nrank 1 {\nl0: recv 8b from 0 tag 5 cpu 0 nic 0\n}\n";

const char* const kAnyTag = "num_ranks 1\nrank 0 {\nrecv 8b from -1 tag -1\n}\n";

class Collect final : public model::RankSink {
 public:
  std::vector<model::RankImage> ranks;

  core::Status append(const model::RankImage& rank) override {
    ranks.push_back(rank);
    return {};
  }
};

MergeJob job(const std::string& text, std::vector<std::uint32_t> places = {}) {
  return {.name = "job", .schedule = schedule_of(text), .places = std::move(places)};
}

model::Schedule written(const Merge& merge) {
  Collect collect;
  EXPECT_TRUE(merge.write(collect).ok());
  return model::Schedule::from_bytes(model::binary_schedule(collect.ranks), "merged").value();
}

TEST(Merge, PutsOneJobBehindTheOther) {
  const auto merge = Merge::plan({job(kPing), job(kPing)});
  ASSERT_TRUE(merge.ok());
  EXPECT_EQ(text_of(written(merge.value())),
            "num_ranks 4\n\nrank 0 {\nl0: calc 9 cpu 1\nl1: send 8b to 1 tag 5 cpu 0 nic 1\n"
            "l1 requires l0\n}\n\nrank 1 {\nl0: recv 8b from 0 tag 5 cpu 0 nic 0\n}\n"
            "\nrank 2 {\nl0: calc 9 cpu 1\nl1: send 8b to 3 tag 5 cpu 0 nic 1\n"
            "l1 requires l0\n}\n\nrank 3 {\nl0: recv 8b from 2 tag 5 cpu 0 nic 0\n}\n");
  EXPECT_THAT(merge.value().placed()[1].places, ElementsAre(2, 3));
  EXPECT_EQ(merge.value().placed()[1].tag_offset, 0U);
}

TEST(Merge, KeepsJobsApartOnSharedRanks) {
  const auto merge = Merge::plan({job(kPing), job(kPing, {1, 3})});
  ASSERT_TRUE(merge.ok());
  const model::Schedule schedule = written(merge.value());
  EXPECT_EQ(text_of(schedule),
            "num_ranks 4\n\nrank 0 {\nl0: calc 9 cpu 1\nl1: send 8b to 1 tag 5 cpu 0 nic 1\n"
            "l1 requires l0\n}\n\nrank 1 {\nl0: recv 8b from 0 tag 5 cpu 0 nic 0\n"
            "l1: calc 9 cpu 3\nl2: send 8b to 3 tag 11 cpu 2 nic 1\nl2 requires l1\n}\n"
            "\nrank 2 {\n}\n\nrank 3 {\nl0: recv 8b from 1 tag 11 cpu 0 nic 0\n}\n");
  EXPECT_TRUE(check(schedule).passed());
}

TEST(Merge, GoesOnBehindTheLastRankUsed) {
  const auto merge = Merge::plan({job(kPing, {4, 2}), job(kPing)});
  ASSERT_TRUE(merge.ok());
  EXPECT_THAT(merge.value().placed()[1].places, ElementsAre(5, 6));
  EXPECT_EQ(merge.value().num_ranks(), 7U);
}

TEST(Merge, CountsReceivesThatMayTakeAnothersMessages) {
  const auto merge = Merge::plan({job(kPing), job(kAnyTag, {1}), job(kAnyTag)});
  ASSERT_TRUE(merge.ok());
  EXPECT_EQ(merge.value().placed()[0].ambiguous, 0U);
  EXPECT_EQ(merge.value().placed()[1].ambiguous, 1U);
  EXPECT_EQ(merge.value().placed()[2].ambiguous, 0U);
  EXPECT_EQ(+written(merge.value()).ranks()[1].ops[1].tag, model::kAnyTag);
}

std::string error_of(std::vector<MergeJob> jobs) {
  const auto merge = Merge::plan(std::move(jobs));
  return merge.ok() ? "no error" : merge.error().message;
}

TEST(Merge, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of({job(kPing, {1})}), "job has 2 ranks, but the places named for it are 1");
  EXPECT_EQ(error_of({job(kPing, {1, 1})}), "job: two of its ranks are placed on rank 1");
  const std::string many_cpus = "num_ranks 1\nrank 0 {\ncalc 1 cpu 127\n}\n";
  EXPECT_EQ(error_of({job(many_cpus), job(many_cpus, {0})}),
            "the jobs on rank 0 need 256 cpus together, a rank has 255 at most: place job "
            "elsewhere");
  MergeJob with_other_notes = job(kPing);
  with_other_notes.nodes = {"a"};
  EXPECT_EQ(error_of({with_other_notes}), "job has 2 ranks, but its notes have 1");
  MergeJob other = job(kPing);
  other.name = "fast";
  other.time_unit_ns = 0.04;
  EXPECT_EQ(error_of({job(kPing), other}),
            "job counts calculations in units of 1 ns, fast in units of 0.04 ns: generate both "
            "--for the same simulator");
  EXPECT_EQ(error_of({other, other}), "no error");
}

// The tags of generated schedules have a label in their highest bits.
TEST(Merge, NumbersLargeTagsOfSharedRanksAnew) {
  const std::string large =
      "num_ranks 2\n\nrank 0 {\nl0: send 1b to 1 tag 2147483647\nl1: send 1b to 1 tag 7\n}\n\n"
      "rank 1 {\nl0: recv 1b from 0 tag 2147483647\nl1: recv 1b from 0 tag 7\n"
      "l2: recv 1b from 0 tag -1\n}\n";
  const auto apart = Merge::plan({job(large), job(kPing)});
  ASSERT_TRUE(apart.ok()) << apart.error().message;
  EXPECT_TRUE(apart.value().placed()[0].tags.empty());
  EXPECT_EQ(+written(apart.value()).ranks()[0].ops[0].tag, 2147483647U);
  const auto merge = Merge::plan({job(large), job(large, {0, 1}), job(kPing)});
  ASSERT_TRUE(merge.ok()) << merge.error().message;
  EXPECT_THAT(merge.value().placed()[1].tags, ElementsAre(7, 2147483647));
  EXPECT_EQ(merge.value().placed()[1].tag_offset, 2U);
  EXPECT_TRUE(merge.value().placed()[2].tags.empty());
  const model::Schedule schedule = written(merge.value());
  std::vector<std::uint32_t> tags;
  for (const model::ScheduleOp& op : schedule.ranks()[1].ops)
    tags.push_back(+op.tag);
  EXPECT_THAT(tags, ElementsAre(1, 0, model::kAnyTag, 3, 2, model::kAnyTag));
}

MergeJob job_on(std::vector<std::string> nodes, std::vector<std::uint32_t> places = {}) {
  std::string text = "num_ranks " + std::to_string(nodes.size()) + "\n";
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    text += "\nrank " + std::to_string(rank) + " {\ncalc 1\n}\n";
  MergeJob made = job(text, std::move(places));
  made.nodes = std::move(nodes);
  return made;
}

core::Result<std::vector<std::uint32_t>> nodes_of(std::vector<MergeJob> jobs) {
  return Merge::plan(std::move(jobs)).value().nodes();
}

TEST(Merge, KeepsTheNodesOfEachJob) {
  EXPECT_THAT(nodes_of({job_on({"a", "a", "b"}), job_on({"a", "b", "b"})}).value(),
              ElementsAre(0, 0, 1, 2, 3, 3));
  EXPECT_THAT(nodes_of({job_on({"a", "b"}, {0, 2}), job_on({"a", "a"}, {1, 3})}).value(),
              ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(nodes_of({job(kPing), job(kPing)}).value(), ElementsAre());
}

TEST(Merge, JobsOnTheSameRanksAreOnTheSameNodes) {
  EXPECT_THAT(nodes_of({job_on({"a", "a", "b", "b"}), job_on({"x", "y"}, {1, 2})}).value(),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(nodes_of({job_on({"a", "a"}), job_on({"x", "x"}, {1, 2})}).value(),
              ElementsAre(0, 0, 0));
  EXPECT_EQ(nodes_of({job_on({"a", "a", "b", "b"}), job_on({"x", "x"}, {1, 2})}).error().message,
            "job has its nodes a and b apart, jobs on the same ranks have them as one");
}

TEST(Merge, IsForTheSimulatorOfAllJobs) {
  MergeJob packets = job(kPing);
  packets.made_for = "htsim";
  EXPECT_EQ(Merge::plan({packets, packets}).value().made_for(), "htsim");
  EXPECT_EQ(Merge::plan({packets, job(kPing)}).value().made_for(), "assay");
}

TEST(Merge, KeepsTheNicsThatAlgorithmsWereChosenFor) {
  MergeJob slow = job(kPing);
  slow.name = "slow";
  slow.nic_gbps = 12.5;
  MergeJob fast = slow;
  fast.name = "fast";
  fast.nic_gbps = 50;
  EXPECT_EQ(Merge::plan({slow, slow}).value().nic_gbps().value(), 12.5);
  EXPECT_EQ(Merge::plan({job(kPing), fast}).value().nic_gbps().value(), 50);
  EXPECT_EQ(Merge::plan({job(kPing)}).value().nic_gbps().value(), 0);
  EXPECT_EQ(Merge::plan({job(kPing), slow, fast}).value().nic_gbps().error().message,
            "the algorithms of slow were chosen for NICs of 12.5 GB/s, those of fast for 50");
}

TEST(Merge, RanksThatNothingIsKnownOfAreNodesOfTheirOwn) {
  EXPECT_THAT(nodes_of({job(kPing), job_on({"a", "a"}, {1, 3})}).value(), ElementsAre(0, 1, 2, 1));
}

TEST(Merge, ReadsPlaces) {
  EXPECT_THAT(parse_places("3").value(), ElementsAre(3));
  EXPECT_THAT(parse_places("0-2,8,5-5").value(), ElementsAre(0, 1, 2, 8, 5));
  for (const char* wrong : {"", "a", "1,", "3-1", "-1", "1-", "99999999", "1 2"})
    EXPECT_FALSE(parse_places(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace assay::goal
