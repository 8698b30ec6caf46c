// Jobs that are made, as the simulator runs them.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "cli/fit_support.h"
#include "goal/generate.h"
#include "goal/synth/made_job_test_util.h"

namespace assay::cli {
namespace {

using goal::kPassNs;
using goal::made_of;

class ImageSink final : public model::RankSink {
 public:
  core::Status append(const model::RankImage& rank) override {
    images.push_back(rank);
    return {};
  }

  std::vector<model::RankImage> images;
};

std::int64_t simulated_ns(const model::Job& job,
                          const goal::Links& links,
                          const goal::Costs& costs) {
  const auto plan = goal::plan_schedule(job, costs, goal::GenerateOptions());
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  ImageSink sink;
  const auto ranks = goal::make_ranks(plan.value(), sink);
  EXPECT_TRUE(ranks.ok()) << ranks.error().message;
  const auto schedule = model::Schedule::from_bytes(model::binary_schedule(sink.images), "made");
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  const std::vector<std::uint32_t> nodes(job.gpus.size(), 0);
  const auto time = simulator()(schedule.value(), nodes, links);
  EXPECT_TRUE(time.ok()) << time.error().message;
  return time.value();
}

goal::TrainingPlan plan_of(goal::Pipeline pipeline, std::uint32_t chunks) {
  goal::TrainingPlan plan;
  plan.grid.stages = 4;
  plan.pipeline = pipeline;
  plan.chunks = chunks;
  plan.micro_batches = 16;
  return plan;
}

class MadePipelines : public ::testing::TestWithParam<std::pair<goal::Pipeline, std::uint32_t>> {};

TEST_P(MadePipelines, TakeWhatTheClosedFormSaysWhereCommunicationIsFree) {
  const auto& [pipeline, chunks] = GetParam();
  const goal::TrainingPlan plan = plan_of(pipeline, chunks);
  const double pass = kPassNs * 32 / 4 / chunks;
  const double ideal = plan.micro_batches * chunks * 3 * pass;
  const double bubble = goal::bubble_time({pipeline, plan.grid.stages, chunks, plan.micro_batches},
                                          {pass, pass, pass});
  const model::LogGops nothing{
      .latency_ns = 0, .overhead_ns = 0, .gap_ns = 0, .gap_ns_per_byte = 0};
  const goal::Links free{.intra = nothing, .inter = nothing};
  const goal::Costs none = goal::costs_from_lines({}, "none");
  const auto ns = static_cast<double>(simulated_ns(made_of(plan).job, free, none));
  EXPECT_NEAR(ns, ideal + bubble, 1000);
}

TEST_P(MadePipelines, TakeLittleMoreWithTheLinksOfANode) {
  const auto& [pipeline, chunks] = GetParam();
  const goal::TrainingPlan plan = plan_of(pipeline, chunks);
  const double pass = kPassNs * 32 / 4 / chunks;
  const double closed = plan.micro_batches * chunks * 3 * pass +
                        goal::bubble_time({pipeline, plan.grid.stages, chunks, plan.micro_batches},
                                          {pass, pass, pass});
  const goal::Costs costs = goal::costs_from_lines(goal::default_costs(), "default");
  const auto ns =
      static_cast<double>(simulated_ns(made_of(plan).job, goal::default_links(), costs));
  EXPECT_GT(ns, closed);
  EXPECT_LT(ns, 1.02 * closed);
}

INSTANTIATE_TEST_SUITE_P(All,
                         MadePipelines,
                         ::testing::Values(std::pair(goal::Pipeline::kOneForwardOneBackward, 1U),
                                           std::pair(goal::Pipeline::kInterleaved, 2U),
                                           std::pair(goal::Pipeline::kZeroBubble, 1U)));

// The gradients of four replicas are reduced while the last micro-batch's backward pass goes on, so
// that only the last of them are waited for.
TEST(MadeJobs, GradientsAreSynchronisedBesideComputation) {
  goal::TrainingPlan alone;
  alone.micro_batches = 2;
  goal::TrainingPlan shared = alone;
  shared.grid.dp = 4;
  shared.data_parallel = goal::DataParallel::kAllReduce;
  const goal::Costs costs = goal::costs_from_lines(goal::default_costs(), "default");
  const goal::MadeJob made = made_of(shared);
  const std::int64_t with = simulated_ns(made.job, goal::default_links(), costs);
  const std::int64_t without = simulated_ns(made_of(alone).job, goal::default_links(), costs);
  const double reductions_ns = 8.03e9 * 4 * 1.5 / 350;  // at the bandwidth of NVLink
  EXPECT_GT(static_cast<double>(with - without), 0.3 * reductions_ns);
  EXPECT_LT(static_cast<double>(with - without), 0.8 * reductions_ns);
}

}  // namespace
}  // namespace assay::cli
