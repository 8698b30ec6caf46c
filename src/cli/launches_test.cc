// A schedule of launches has the times of its whole graph, to the nanosecond.
#include "simulate/launches.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "goal/expand.h"
#include "goal/goal_test_util.h"
#include "goal/group_source.h"
#include "goal/input.h"
#include "goal/launch_job.h"
#include "goal/launch_source.h"
#include "goal/reshape_job.h"
#include "goal/synth/collective_job.h"
#include "goal/synth/made_job_test_util.h"
#include "goal/validate.h"
#include "model/schedule_writer.h"
#include "simulate/alike_ranks.h"
#include "simulate/groups.h"
#include "simulate/simulate.h"
#include "simulate/summary.h"

namespace assay::cli {
namespace {

using goal::test_collective;
using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

// A job as a whole graph and as launches.
struct Both {
  explicit Both(Job from) : job(std::move(from)) {
    auto made = goal::resolve(job, goal::Misfits::kFail);
    EXPECT_TRUE(made.ok()) << made.error().message;
    resolved = std::move(made).value();
    const goal::StreamPlan streams = goal::plan_streams(resolved, {}, warnings);
    source = std::make_unique<goal::LaunchSource>(resolved, costs, streams, warnings);
    const auto tags = goal::plan_tags(resolved, {});
    EXPECT_TRUE(tags.ok()) << tags.error().message;
    const goal::Expander expander(resolved, tags.value(), costs, {}, streams);
    std::vector<model::RankImage> images;
    for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
      model::RankBuilder builder;
      spans.push_back(expander.expand(gpu, builder, warnings));
      images.push_back(builder.finish());
    }
    graph = model::Schedule::from_bytes(model::binary_schedule(images), "in memory").value();
  }

  Job job;
  goal::Costs costs = goal::costs_from_lines(goal::default_costs(), "");
  goal::Resolved resolved;
  model::Warnings warnings;
  std::unique_ptr<const goal::LaunchSource> source;
  std::vector<std::vector<model::OperationSpan>> spans;
  model::Schedule graph;
};

// The times of each rank's launches in the whole graph, whose spans are those of its calls.
std::vector<std::vector<simulate::Span>> spans_of(const Both& both,
                                                  const simulate::Outcome& outcome) {
  std::vector<std::vector<simulate::Span>> spans(both.spans.size());
  for (std::uint32_t rank = 0; rank < both.spans.size(); ++rank) {
    std::uint32_t last = 0;
    for (const model::OperationSpan& span : both.spans[rank]) {
      if (spans[rank].empty() || span.first_op != last) {
        spans[rank].push_back(
            {.start_ns = outcome.record().times({rank, span.first_op - 1}).cpu_end_ns});
      }
      last = span.first_op + span.num_ops;
      for (std::uint32_t i = 0; i < span.num_ops; ++i) {
        const simulate::OpTimes op = outcome.record().times({rank, span.first_op + i});
        spans[rank].back().end_ns = std::max(spans[rank].back().end_ns, op.end_ns);
      }
    }
  }
  return spans;
}

void expect_equal(const Both& both, const simulate::Options& options) {
  const auto whole = simulate::simulate(both.graph, options);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  ASSERT_TRUE(whole.value().finished);
  const auto spans = spans_of(both, whole.value());
  for (const unsigned threads : {1U, 2U, 3U}) {
    const auto launches = simulate::simulate_launches(*both.source, options, threads);
    ASSERT_TRUE(launches.ok()) << launches.error().message;
    EXPECT_EQ(launches.value().finish_ns, whole.value().finish_ns);
    EXPECT_EQ(launches.value().operations, whole.value().operations_done);
    EXPECT_EQ(launches.value().messages, whole.value().messages);
    ASSERT_EQ(launches.value().spans.size(), spans.size());
    for (std::size_t rank = 0; rank < spans.size(); ++rank) {
      ASSERT_EQ(launches.value().spans[rank].size(), spans[rank].size());
      for (std::size_t i = 0; i < spans[rank].size(); ++i) {
        EXPECT_EQ(launches.value().spans[rank][i].start_ns, spans[rank][i].start_ns) << i;
        EXPECT_EQ(launches.value().spans[rank][i].end_ns, spans[rank][i].end_ns) << i;
      }
    }
  }
}

void expect_equal(const Job& job) {
  const Both both(job);
  simulate::Options options{.inter = goal::default_links().inter,
                            .intra = goal::default_links().intra,
                            .node_of_rank = both.source->node_of_rank()};
  expect_equal(both, options);
  // Work, CPUs and NICs that are busy at the same times.
  options.inter.gap_ns_per_byte = 0;
  options.inter.overhead_ns_per_byte = 0.01;
  options.intra->gap_ns = 1000;
  options.intra->latency_ns = 1;
  expect_equal(both, options);
}

Job job_of_every_algorithm(const goal::TestJobShape& shape) {
  Job job = goal::make_test_job(shape);
  for (const NcclProtocol protocol :
       {NcclProtocol::kSimple, NcclProtocol::kLl, NcclProtocol::kLl128}) {
    for (const NcclFunction function :
         {NcclFunction::kAllReduce, NcclFunction::kAllGather, NcclFunction::kReduceScatter,
          NcclFunction::kBroadcast, NcclFunction::kReduce}) {
      for (const NcclAlgorithm algorithm :
           {NcclAlgorithm::kRing, NcclAlgorithm::kTree, NcclAlgorithm::kPat, NcclAlgorithm::kNvls,
            NcclAlgorithm::kNvlsTree, NcclAlgorithm::kCollnetDirect,
            NcclAlgorithm::kCollnetChain}) {
        if (goal::find_lowering(function, algorithm) == nullptr) continue;
        for (const std::uint64_t bytes : {4ULL, 70'000ULL, 1'000'000ULL}) {
          model::Operation operation = test_collective(function, algorithm, protocol, bytes, 3);
          operation.root = 1;
          goal::add_collective(job, operation);
        }
      }
    }
  }
  return job;
}

TEST(SimulateLaunches, HaveTheTimesOfTheWholeGraph) {
  for (const goal::TestJobShape shape :
       {goal::TestJobShape{2, 2}, {4, 2}, {6, 2}, {8, 8}, {9, 3}}) {
    SCOPED_TRACE(shape.num_gpus);
    expect_equal(job_of_every_algorithm(shape));
  }
}

Job job_of(const goal::TestJobShape& shape, NcclAlgorithm algorithm) {
  Job job = goal::make_test_job(shape);
  for (const NcclFunction function : {NcclFunction::kAllGather, NcclFunction::kReduceScatter})
    for (const std::uint64_t bytes : {4ULL, 70'000ULL, 1'000'000ULL})
      goal::add_collective(job,
                           test_collective(function, algorithm, NcclProtocol::kSimple, bytes, 3));
  return job;
}

std::size_t alike_in(const Job& job) {
  const Both both(job);
  const auto network =
      simulate::Network::make(goal::default_links().inter, goal::default_links().intra,
                              both.source->node_of_rank(), both.source->num_ranks());
  return simulate::run_alike(*both.source, network.value()).size();
}

TEST(SimulateLaunches, HaveTheTimesOfAllWhereThoseOfOneNodeTellThem) {
  for (const goal::TestJobShape shape : {goal::TestJobShape{8, 1}, {21, 1}, {32, 2}}) {
    const Job job = job_of(shape, NcclAlgorithm::kPat);
    EXPECT_EQ(alike_in(job), shape.gpus_per_node) << shape.num_gpus;
    expect_equal(job);
  }
}

// Which of two messages is first is then up to the numbers of their senders.
TEST(SimulateLaunches, TellAboutEachRankWhereOneReceivesFromTwoAtOnce) {
  const Job job = job_of({32, 4}, NcclAlgorithm::kRing);
  EXPECT_EQ(alike_in(job), 0);
  expect_equal(job);
}

TEST(SimulateLaunches, TellAboutEachRankWhereOneIsLate) {
  Job job = job_of({16, 1}, NcclAlgorithm::kPat);
  for (model::Operation& operation : job.gpus[5].operations)
    operation.start_ns += 7'000;
  EXPECT_EQ(alike_in(job), 0);
  expect_equal(job);
}

// Each rank on another node sends 64 MB to rank 0 at the same time.
Job gather_job(std::uint32_t ranks) {
  Job job = goal::make_test_job({ranks, 1});
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    model::Operation operation = test_collective(NcclFunction::kSend, NcclAlgorithm::kRing,
                                                 NcclProtocol::kSimple, 1 << 26, 2);
    operation.peer = 0;
    goal::add_operation(job.gpus[rank], operation);
    operation.function = NcclFunction::kRecv;
    operation.peer = static_cast<std::int32_t>(rank);
    model::Operation& received = goal::add_operation(job.gpus[0], operation);
    received.group = 0;
    received.start_ns = 100'000;
    received.end_ns = 150'000;
  }
  return job;
}

TEST(SimulateLaunches, TellRanksThatReceiveMoreThanTheirNicLetsPass) {
  const auto told = [](const Job& job) {
    const Both both(job);
    const simulate::Options options{.inter = goal::default_links().inter};
    std::string words =
        simulate::overfull_receivers(simulate::simulate_launches(*both.source, options, 1).value());
    EXPECT_EQ(words, simulate::overfull_receivers(simulate::simulate(both.graph, options).value()));
    return words;
  };
  const std::string words = told(gather_job(9));
  EXPECT_EQ(words.find("1 rank receives more than a NIC lets pass: NIC 0 of rank 0 gets "), 0)
      << words;
  EXPECT_EQ(told(job_of({8, 1}, NcclAlgorithm::kRing)), "");
}

TEST(SimulateLaunches, HaveTheTimesOfARecordedStep) {
  const std::filesystem::path recording =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "samples" / "goal-4gpu";
  const auto job = goal::read_job(recording, {});
  ASSERT_TRUE(job.ok()) << job.error().message;
  const auto step = goal::cut_window(job.value(), {.from_s = 4.0035, .to_s = 4.0385});
  ASSERT_TRUE(step.ok()) << step.error().message;
  for (const unsigned replicas : {1U, 2U})
    expect_equal(goal::scale(step.value(), {.replicas = replicas}).value());
}

goal::SimulatedRanks ranks_of(const simulate::LaunchOutcome& outcome) {
  return {outcome.finish_ns, outcome.nic_work};
}

core::Result<simulate::LaunchOutcome> run(const goal::LaunchSource& schedule,
                                          const goal::Links& links = goal::default_links()) {
  const simulate::Options options{
      .inter = links.inter, .intra = links.intra, .node_of_rank = schedule.node_of_rank()};
  return simulate::simulate_launches(schedule, options, 2);
}

// Simulates a job with its operations as costs: each rank ends within that share of when it does in
// the whole graph. Returns the kinds of operations that were learned from shorter ones.
std::uint64_t expect_within(double share, const goal::JobFile& file) {
  const auto job = goal::make_launch_job(file);
  EXPECT_TRUE(job.ok()) << job.error().message;
  const auto exact = run(*job.value()->schedule);
  EXPECT_TRUE(exact.ok()) << exact.error().message;
  const auto groups = goal::make_group_job(
      file, [&](const goal::LaunchSource& schedule) -> core::Result<goal::SimulatedRanks> {
        return ranks_of(run(schedule).value());
      });
  EXPECT_TRUE(groups.ok()) << groups.error().message;
  const auto costs = simulate::simulate_groups(groups.value().schedule);
  EXPECT_TRUE(costs.ok()) << costs.error().message;
  EXPECT_EQ(costs.value().finish_ns.size(), exact.value().finish_ns.size());
  for (std::size_t rank = 0; rank < exact.value().finish_ns.size(); ++rank) {
    const auto whole = static_cast<double>(exact.value().finish_ns[rank]);
    EXPECT_NEAR(static_cast<double>(costs.value().finish_ns[rank]), whole, share * whole) << rank;
  }
  return groups.value().extrapolated_groups;
}

TEST(SimulateGroups, EndAStepWithinOnePercentOfItsGraph) {
  const std::filesystem::path recording =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "samples" / "goal-4gpu";
  goal::JobFile file;
  file.job =
      goal::cut_window(goal::read_job(recording, {}).value(), {.from_s = 4.0035, .to_s = 4.0385})
          .value();
  file.costs = goal::costs_from_lines(goal::default_costs(), "");
  for (const unsigned replicas : {1U, 2U, 32U}) {
    file.scale.replicas = replicas;
    EXPECT_EQ(expect_within(0.01, file) > 0, replicas == 32);
  }
}

// While a layer's gradients are reduced, the next one's weights are gathered: both want the NICs
// nearly whole, and neither may be taken to run as if alone.
TEST(SimulateGroups, OperationsThatOverlapShareTheNics) {
  goal::TrainingPlan plan;
  plan.grid.dp = 4;
  plan.data_parallel = goal::DataParallel::kFullySharded;
  const goal::MadeJob made = goal::made_of(plan);
  goal::JobFile file;
  file.job = made.job;
  file.scale.replicas = made.repeats;
  file.costs = goal::costs_from_lines(goal::default_costs(), "");
  expect_within(0.01, file);
}

// Simulates with operations of groups as costs.
auto by_costs(const goal::JobFile& file, const goal::Links& links = goal::default_links()) {
  const auto groups = goal::make_group_job(
      file, [&](const goal::LaunchSource& schedule) -> core::Result<goal::SimulatedRanks> {
        return ranks_of(run(schedule, links).value());
      });
  return simulate::simulate_groups(groups.value().schedule);
}

void expect_equal_but_for_rounding(const goal::JobFile& file) {
  const auto exact = run(*goal::make_launch_job(file).value()->schedule);
  const auto costs = by_costs(file);
  ASSERT_EQ(costs.value().finish_ns.size(), exact.value().finish_ns.size());
  for (std::size_t rank = 0; rank < exact.value().finish_ns.size(); ++rank)
    EXPECT_LE(std::abs(costs.value().finish_ns[rank] - exact.value().finish_ns[rank]), 1) << rank;
}

// Expects that the collective by costs ends when it does step by step.
void expect_same_end(const goal::CollectivePlan& plan,
                     const goal::Links& links = goal::default_links()) {
  const goal::MadeJob made = goal::make_collective_job(plan).value();
  goal::JobFile file;
  file.costs = goal::costs_from_lines(goal::default_costs(), "");
  file.job = made.job;
  file.scale.replicas = made.repeats;
  const auto exact = run(*goal::make_launch_job(file).value()->schedule, links);
  const auto costs = by_costs(file, links);
  const auto& ends = costs.value().finish_ns;
  EXPECT_LE(std::abs(*std::max_element(ends.begin(), ends.end()) - exact.value().longest_ns()), 1)
      << plan.ranks;
}

TEST(SimulateGroups, ATreeEndsAsLateAsItsLastRank) {
  for (const std::uint32_t ranks : {16U, 128U})
    expect_same_end({.bytes = 4096, .ranks = ranks, .gpus_per_node = 8});
}

// A chain of more ranks has messages of the same size, and its last rank ends later.
TEST(SimulateGroups, AChainEndsAsLateAsItsLastRank) {
  for (const NcclFunction function : {NcclFunction::kBroadcast, NcclFunction::kReduce}) {
    for (const std::uint32_t ranks : {24U, 256U}) {
      expect_same_end(
          {.function = function, .bytes = 16 << 20, .ranks = ranks, .gpus_per_node = 8});
    }
  }
}

// A rank ends when its CPU has handed its last message to a NIC, which sends for longer where the
// network is slow; nobody is there to wait for it.
TEST(SimulateGroups, AloneNoRankWaitsForANicThatSendsBeyondItsEnd) {
  goal::Links slow = goal::default_links();
  slow.inter.gap_ns_per_byte = 1;
  goal::CollectivePlan plan{.function = NcclFunction::kBroadcast, .bytes = 1 << 20};
  for (const auto& [ranks, gpus_per_node] : {std::pair(3U, 2U), std::pair(16U, 8U)}) {
    plan.ranks = ranks;
    plan.gpus_per_node = gpus_per_node;
    expect_same_end(plan, slow);
  }
}

// Tensor parallelism over two nodes waits for messages one after another, and beside it layers are
// gathered with many messages at once, which hold it back more than it does them.
TEST(SimulateGroups, ManyMessagesAtOnceHoldBackThoseThatComeOneByOne) {
  goal::TrainingPlan plan;
  plan.grid = {.tp = 4, .dp = 2, .gpus_per_node = 2};
  plan.data_parallel = goal::DataParallel::kFullySharded;
  const goal::MadeJob made = goal::made_of(plan);
  goal::JobFile file;
  file.job = made.job;
  file.scale.replicas = made.repeats;
  file.costs = goal::costs_from_lines(goal::default_costs(), "");
  expect_within(0.02, file);
}

// A rank that starts late has messages waiting, whose reception would make it slower than it is
// among ranks that start together.
TEST(SimulateGroups, RanksThatStartTogetherEndAsInTheirGraph) {
  const goal::MadeJob made =
      goal::make_collective_job(
          {.function = NcclFunction::kAllGather, .bytes = 1 << 20, .ranks = 16, .gpus_per_node = 4})
          .value();
  goal::JobFile file;
  file.costs = goal::costs_from_lines(goal::default_costs(), "");
  file.job = made.job;
  file.scale.replicas = made.repeats;
  expect_equal_but_for_rounding(file);
  file.job = goal::scale(made.job, file.scale).value();
  file.scale.replicas = 1;
  expect_equal_but_for_rounding(file);
}

TEST(SimulateLaunches, RefuseMessagesThatWouldHaveOtherTimes) {
  const Both both(job_of_every_algorithm({2, 2}));
  const auto works = [&](const simulate::LogGops& link) {
    return simulate::simulate_launches(*both.source, {.inter = link}, 1).ok();
  };
  EXPECT_TRUE(works({.rendezvous_bytes = 1e12}));
  EXPECT_FALSE(works({}));
  EXPECT_FALSE(works({.overhead_ns_per_byte = 0.01, .rendezvous_bytes = 1e12}));
  EXPECT_FALSE(works({.latency_ns = 0, .overhead_ns = 0, .rendezvous_bytes = 1e12}));
}

TEST(SimulateLaunches, TakeEagerMessagesUpToTheLargestOne) {
  const Both both(job_of_every_algorithm({4, 2}));
  std::uint64_t largest = 0;
  for (const model::RankView& rank : both.graph.ranks()) {
    for (const model::ScheduleOp& op : rank.ops) {
      if (op.kind == model::OpKind::kSend) largest = std::max<std::uint64_t>(largest, +op.size);
    }
  }
  for (const unsigned threads : {1U, 3U}) {
    const auto run = [&](double rendezvous_bytes) {
      return simulate::simulate_launches(
          *both.source, {.inter = {.rendezvous_bytes = rendezvous_bytes}}, threads);
    };
    const auto just = run(static_cast<double>(largest));
    ASSERT_TRUE(just.ok()) << just.error().message;
    EXPECT_EQ(just.value().finish_ns, run(1e12).value().finish_ns);
    const auto less = run(static_cast<double>(largest - 1));
    ASSERT_FALSE(less.ok());
    EXPECT_NE(less.error().message.find(" with " + std::to_string(largest) + " bytes"),
              std::string::npos)
        << less.error().message;
  }
}

}  // namespace
}  // namespace assay::cli
