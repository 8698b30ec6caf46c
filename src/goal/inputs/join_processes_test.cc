#include "goal/inputs/join_processes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::goal {
namespace {

ProcessRecording process(const std::string& node,
                         std::int64_t id,
                         std::int32_t rank,
                         std::uint32_t num_ranks) {
  ProcessRecording recording;
  recording.file = "file";
  recording.gpu.node = node;
  recording.gpu.process_id = id;
  recording.communicators = {{.name = "world", .rank = rank, .num_ranks = num_ranks}};
  recording.gpu.operations.resize(1);
  return recording;
}

TEST(JoinProcesses, SortsByNodeThenRank) {
  const model::Job job = join_processes({process("n10", 1, 2, 4), process("n2", 7, 0, 4),
                                         process("n2", 3, 1, 4), process("n10", 0, 3, 4)});
  ASSERT_EQ(job.gpus.size(), 4U);
  EXPECT_EQ(job.gpus[0].process_id, 7);
  EXPECT_EQ(job.gpus[1].process_id, 3);
  EXPECT_EQ(job.gpus[2].process_id, 1);
  EXPECT_EQ(job.communicators[0].gpus, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_TRUE(job.warnings.empty());
}

TEST(JoinProcesses, ProcessesOutsideTheLargestCommunicatorKeepTheirOrder) {
  ProcessRecording other = process("n", 11, 0, 1);
  other.communicators[0].name = "other";
  const model::Job job = join_processes({process("n", 12, 0, 2), other, process("n", 10, 1, 2)});
  EXPECT_EQ(job.gpus[0].process_id, 10);
  EXPECT_EQ(job.gpus[1].process_id, 11);
  EXPECT_EQ(job.communicators[job.gpus[1].operations[0].communicator].name, "other");
}

TEST(JoinProcesses, MissingAndDoubtfulRanksAreCounted) {
  const model::Job job =
      join_processes({process("n", 1, 0, 3), process("n", 1, 0, 3), process("n", 2, 0, 3)});
  ASSERT_EQ(job.gpus.size(), 2U);
  EXPECT_EQ(job.communicators[0].gpus,
            (std::vector<std::uint32_t>{0, model::kNoGpu, model::kNoGpu}));
  ASSERT_EQ(job.warnings.all().size(), 3U);
  EXPECT_EQ(job.warnings.all()[0].reason, "a process was recorded twice");
  EXPECT_EQ(job.warnings.all()[2].count, 2);
}

TEST(JoinProcesses, ImpossibleRanksAreLeftOut) {
  ProcessRecording first = process("n", 1, 0, 2);
  first.gpu.operations.resize(3);
  first.gpu.operations[1].function = model::NcclFunction::kSend;
  first.gpu.operations[1].peer = 2;
  first.gpu.operations[2].root = 1;
  first.communicators[0].channels.resize(1);
  first.communicators[0].channels[0].ring_next = 9;
  const model::Job job = join_processes({first, process("n", 2, 1, 2)});
  EXPECT_EQ(job.gpus[0].operations.size(), 2U);
  EXPECT_EQ(job.communicators[0].channels[0][0].ring_next, -1);
  EXPECT_FALSE(job.warnings.empty());

  const model::Job huge = join_processes({process("n", 1, 0, 4000000000U)});
  EXPECT_EQ(huge.communicators[0].gpus.size(), 1U);
}

TEST(LessByNumber, OrdersNumbersByTheirSize) {
  EXPECT_TRUE(less_by_number("nid9", "nid10"));
  EXPECT_FALSE(less_by_number("nid10", "nid9"));
  EXPECT_TRUE(less_by_number("nid", "nid1"));
  EXPECT_TRUE(less_by_number("a2b10", "a2b11"));
  EXPECT_FALSE(less_by_number("n01", "n01"));
  EXPECT_NE(less_by_number("n01", "n1"), less_by_number("n1", "n01"));
}

}  // namespace
}  // namespace assay::goal
