#include "cli/fit_support.h"

#include <gtest/gtest.h>

#include <cmath>

#include "goal/goal_test_util.h"
#include "goal/validate.h"

namespace assay::cli {
namespace {

using goal::LineCosts;
using goal::Links;
using goal::UnitModel;
using model::Job;

// Makes AllReduces of 4 KB to 4 MB, 50 us each, on GPUs of one node or of two.
Job sizes_job(std::uint32_t gpus_per_node) {
  Job job = goal::make_test_job({4, gpus_per_node});
  for (std::uint64_t bytes = 4096; bytes <= 4 << 20; bytes *= 4) {
    goal::add_collective(
        job, goal::test_collective(model::NcclFunction::kAllReduce, model::NcclAlgorithm::kRing,
                                   model::NcclProtocol::kSimple, bytes, 2));
  }
  return job;
}

std::vector<UnitModel> models_of(const Job& job) {
  const auto resolved = goal::resolve(job, goal::Misfits::kFail);
  EXPECT_TRUE(resolved.ok()) << resolved.error().message;
  auto models = goal::unit_models(goal::find_units(resolved.value()));
  EXPECT_TRUE(models.ok()) << models.error().message;
  return std::move(models).value();
}

std::int64_t simulated_ns(const UnitModel& unit, const LineCosts& costs, const Links& links) {
  const auto time = unit.simulated_ns(goal::costs_from_lines(costs, ""), links, simulator());
  EXPECT_TRUE(time.ok()) << time.error().message;
  return time.value();
}

// Returns the job with the times that it has under these costs and links.
Job with_times_of(Job job, const LineCosts& costs, const Links& links) {
  const std::vector<UnitModel> units = models_of(job);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::int64_t ns = simulated_ns(units[i], costs, links);
    for (model::JobGpu& gpu : job.gpus)
      gpu.operations[i].end_ns = gpu.operations[i].start_ns + ns;
  }
  return job;
}

LineCosts slower_costs() {
  LineCosts costs = goal::default_costs();
  for (double& launch_ns : costs.launch_ns)
    launch_ns *= 3;
  for (auto& works : costs.lines) {
    for (goal::LineCost& line : works)
      line.ns_per_byte *= 4;
  }
  return costs;
}

Links slower_links() {
  Links links = goal::default_links();
  links.intra.latency_ns *= 5;
  links.intra.gap_ns_per_byte *= 3;
  return links;
}

TEST(Fit, RecoversTheTimesOfKnownCostsAndLinks) {
  const Job job = with_times_of(sizes_job(4), slower_costs(), slower_links());
  const auto fitted =
      goal::fit(models_of(job), goal::default_costs(), goal::default_links(), simulator(), 2);
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_GT(fitted.value().error_before, 0.5);
  EXPECT_LT(fitted.value().error, 0.03);
  // No operation depends on links between nodes, nor on LL.
  EXPECT_EQ(fitted.value().links.inter.latency_ns, goal::default_links().inter.latency_ns);
  EXPECT_EQ(fitted.value().costs.lines[0][0].latency_ns,
            goal::default_costs().lines[0][0].latency_ns);

  const auto again =
      goal::fit(models_of(job), goal::default_costs(), goal::default_links(), simulator(), 1);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().error, fitted.value().error);
  EXPECT_EQ(again.value().simulations, fitted.value().simulations);
}

TEST(Validate, IsExactWhereTimesAreSimulated) {
  const Job job = with_times_of(sizes_job(4), slower_costs(), slower_links());
  const auto costs = goal::costs_from_lines(slower_costs(), "");
  const auto exact = goal::validate(models_of(job), costs, slower_links(), simulator(), 2);
  ASSERT_TRUE(exact.ok()) << exact.error().message;
  EXPECT_LT(goal::median_error_percent(exact.value()), 1e-9);
  const auto defaults =
      goal::validate(models_of(job), goal::costs_from_lines(goal::default_costs(), ""),
                     goal::default_links(), simulator(), 2);
  ASSERT_TRUE(defaults.ok());
  EXPECT_GT(goal::median_error_percent(defaults.value()), 30);
  const model::Table* rows = defaults.value().find("operations");
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->row_count(), 6U);
}

// A GPU that is 1 ms late finds all others waiting. Measured from its start, the operation takes as
// long as when all start together, and not 1 ms more.
TEST(UnitModel, SkewIsNotPartOfTheTime) {
  Job job = sizes_job(4);
  const std::int64_t together =
      simulated_ns(models_of(job)[3], goal::default_costs(), goal::default_links());
  for (model::Operation& operation : job.gpus[2].operations) {
    operation.start_ns += 1'000'000;
    operation.end_ns += 1'000'000;
  }
  const std::vector<UnitModel> late = models_of(job);
  EXPECT_EQ(late[3].measured_median_ns(), 50'000);
  const std::int64_t time = simulated_ns(late[3], goal::default_costs(), goal::default_links());
  EXPECT_LE(time, together);
  EXPECT_GT(time, together / 2);
}

TEST(UnitModel, ClocksApartMeanNoSkew) {
  const Job job = sizes_job(2);
  const std::int64_t before =
      simulated_ns(models_of(job)[3], goal::default_costs(), goal::default_links());
  Job moved = job;
  for (const std::size_t gpu : {2, 3}) {
    for (model::Operation& operation : moved.gpus[gpu].operations) {
      operation.start_ns += 5'000'000'000;
      operation.end_ns += 5'000'000'000;
    }
  }
  const std::vector<UnitModel> units = models_of(moved);
  EXPECT_EQ(units[3].measured_median_ns(), 50'000);
  EXPECT_EQ(simulated_ns(units[3], goal::default_costs(), goal::default_links()), before);
}

TEST(UnitModel, OperationsWithoutTimesAreNotCompared) {
  Job job = sizes_job(4);
  for (model::JobGpu& gpu : job.gpus) {
    for (model::Operation& operation : gpu.operations)
      operation.end_ns = operation.start_ns;
  }
  const auto resolved = goal::resolve(job, goal::Misfits::kFail);
  ASSERT_TRUE(resolved.ok());
  const auto models = goal::unit_models(goal::find_units(resolved.value()));
  ASSERT_FALSE(models.ok());
  EXPECT_EQ(models.error().message, "no operation of the recording has a measured time");
}

}  // namespace
}  // namespace assay::cli
