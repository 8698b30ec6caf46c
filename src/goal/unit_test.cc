#include <gtest/gtest.h>

#include <string>

#include "goal/goal_test_util.h"
#include "goal/validate.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;

Operation all_reduce(std::uint64_t bytes) {
  return test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple,
                         bytes, 1);
}

std::vector<Unit> units_of(const Job& job) {
  const auto resolved = resolve(job, Misfits::kFail);
  EXPECT_TRUE(resolved.ok()) << resolved.error().message;
  return find_units(resolved.value());
}

TEST(Units, WhatCameAgainIsAnOccurrence) {
  Job job = make_test_job({2, 2});
  for (const std::uint64_t bytes : {4096, 8192, 4096, 4096})
    add_collective(job, all_reduce(bytes));
  for (model::JobGpu& gpu : job.gpus)
    gpu.operations[2].end_ns += 7000;
  const std::vector<Unit> units = units_of(job);
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].bytes, 4096U);
  EXPECT_EQ(units[0].function, "AllReduce");
  EXPECT_EQ(units[0].num_gpus, 2U);
  EXPECT_EQ(units[0].num_nodes, 1U);
  ASSERT_EQ(units[0].occurrences.size(), 3U);
  EXPECT_EQ(units[0].occurrences[1].measured_ns, 57000);
  EXPECT_EQ(median_occurrence(units[0]).measured_ns, 50000);
  EXPECT_EQ(units[1].occurrences.size(), 1U);
}

TEST(Units, TimesCountFromTheLastGpusStart) {
  Job job = make_test_job({2, 2});
  add_collective(job, all_reduce(4096));
  job.gpus[1].operations[0].start_ns += 30000;
  job.gpus[1].operations[0].end_ns += 5000;
  const std::vector<Unit> units = units_of(job);
  ASSERT_EQ(units.size(), 1U);
  const Occurrence& seen = units[0].occurrences[0];
  EXPECT_EQ(seen.start_offset_ns, (std::vector<std::int64_t>{0, 30000}));
  EXPECT_EQ(seen.measured_ns, 25000);
}

TEST(Units, WithoutACommonClockTheShortestKernelCounts) {
  Job job = make_test_job({2, 1});
  add_collective(job, all_reduce(4096));
  job.gpus[0].operations[0].end_ns -= 8000;
  job.gpus[1].operations[0].start_ns += 1'000'000'000;
  job.gpus[1].operations[0].end_ns += 1'000'000'000;
  const std::vector<Unit> units = units_of(job);
  ASSERT_EQ(units.size(), 1U);
  const Occurrence& seen = units[0].occurrences[0];
  EXPECT_EQ(seen.start_offset_ns, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(seen.measured_ns, 42000);
  EXPECT_EQ(units[0].num_nodes, 2U);
}

// Rank 0 sends to 1 while 1 sends to 2: the launch of rank 1 connects all three.
TEST(Units, ChainsOfSendsAreOne) {
  Job job = make_test_job({4, 4});
  const auto add = [&](std::size_t gpu, NcclFunction function, std::int32_t peer) {
    Operation operation =
        test_collective(function, NcclAlgorithm::kNone, NcclProtocol::kSimple, 1000, 1);
    operation.peer = peer;
    Operation& added = add_operation(job.gpus[gpu], operation);
    added.group = 0;
    added.start_ns = 100'000;
    added.end_ns = 150'000;
  };
  add(0, NcclFunction::kSend, 1);
  add(1, NcclFunction::kRecv, 0);
  add(1, NcclFunction::kSend, 2);
  add(2, NcclFunction::kRecv, 1);
  const std::vector<Unit> units = units_of(job);
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0].function, "SendRecv");
  EXPECT_EQ(units[0].num_gpus, 3U);
  EXPECT_EQ(units[0].bytes, 2000U);
  EXPECT_TRUE(units[0].job.gpus[3].operations.empty());
}

TEST(Units, GroupsNameAllTheirFunctionsAndKeepTheirParts) {
  Job job = make_test_job({2, 2});
  for (model::JobGpu& gpu : job.gpus) {
    gpu.parts = {{.channel = 9, .count = 1, .chunk_count = 1}};
    for (const NcclFunction function : {NcclFunction::kAllReduce, NcclFunction::kAllGather}) {
      Operation operation = all_reduce(4096);
      operation.function = function;
      operation.num_parts = 1;
      operation.first_part = static_cast<std::uint32_t>(gpu.parts.size());
      gpu.parts.push_back({.channel = 3, .count = 1024, .chunk_count = 512});
      add_operation(gpu, operation).group = 0;
    }
  }
  const std::vector<Unit> units = units_of(job);
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0].function, "AllGather + AllReduce");
  EXPECT_EQ(units[0].bytes, 8192U);
  const model::JobGpu& gpu = units[0].job.gpus[1];
  ASSERT_EQ(gpu.parts.size(), 2U);
  EXPECT_EQ(gpu.parts[gpu.operations[1].first_part].count, 1024U);
}

}  // namespace
}  // namespace assay::goal
