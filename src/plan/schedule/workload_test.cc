#include "plan/schedule/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/statistics.h"

namespace assay::plan {
namespace {

using ::testing::HasSubstr;

WorkloadSpec spec_of(std::int64_t requests) {
  return {.requests = requests,
          .prompt = {.tokens = 4000},
          .output = {.tokens = 1000},
          .arrivals = {.concurrency = 64},
          .seed = 7};
}

std::vector<double> prompts_of(const Workload& workload) {
  std::vector<double> tokens;
  for (const Request& request : workload.requests)
    tokens.push_back(static_cast<double>(request.prompt_tokens));
  return tokens;
}

std::vector<double> gaps_of(const Workload& workload) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < workload.requests.size(); ++i)
    gaps.push_back(workload.requests[i].arrival_ms - workload.requests[i - 1].arrival_ms);
  return gaps;
}

std::string error_of(const WorkloadSpec& spec) {
  const auto made = make_workload(spec);
  return made.ok() ? "" : made.error().message;
}

TEST(Workload, OfFixedLengthsInAClosedLoop) {
  const Workload made = make_workload(spec_of(3)).value();
  ASSERT_EQ(made.requests.size(), 3U);
  EXPECT_EQ(made.concurrency, 64);
  EXPECT_EQ(made.requests[2].prompt_tokens, 4000);
  EXPECT_EQ(made.requests[2].output_tokens, 1000);
  EXPECT_TRUE(check_workload(made).ok());
}

TEST(Workload, OfARangeHasBothEnds) {
  WorkloadSpec spec = spec_of(3000);
  spec.prompt = {.kind = Lengths::Kind::kUniform, .tokens = 10, .ratio = 0.8};
  const auto tokens = prompts_of(make_workload(spec).value());
  EXPECT_EQ(core::minimum(tokens), 8);
  EXPECT_EQ(core::maximum(tokens), 10);
  // A third each: the deviation of the mean of 3000 is 0.015.
  EXPECT_NEAR(core::mean(tokens), 9, 0.06);
}

TEST(Workload, OfARangeBeginsWithOneTokenAtLeast) {
  WorkloadSpec spec = spec_of(3000);
  spec.prompt = {.kind = Lengths::Kind::kUniform, .tokens = 3, .ratio = 0.1};
  const auto tokens = prompts_of(make_workload(spec).value());
  EXPECT_EQ(core::minimum(tokens), 1);
  EXPECT_EQ(core::minimum(tokens), least_tokens(3, 0.1));
  EXPECT_NEAR(core::mean(tokens), mean_tokens(3, 0.1), 0.06);
  EXPECT_DOUBLE_EQ(mean_tokens(3, 0.1), (1 + 1 + 2 + 3) / 4.0);
  EXPECT_DOUBLE_EQ(mean_tokens(2, 0.8), 1.5);
  EXPECT_DOUBLE_EQ(mean_tokens(1, 0.3), 1);
}

TEST(Workload, OfALognormalDistributionHasItsMeanAndDeviation) {
  WorkloadSpec spec = spec_of(20000);
  spec.prompt = {.kind = Lengths::Kind::kLognormal, .tokens = 1000, .ratio = 0.5};
  const auto tokens = prompts_of(make_workload(spec).value());
  EXPECT_NEAR(core::mean(tokens), 1000, 15);
  EXPECT_NEAR(core::population_deviation(tokens), 500, 25);
  spec.prompt.most = 1200;
  EXPECT_EQ(core::maximum(prompts_of(make_workload(spec).value())), 1200);
}

TEST(Workload, ArrivesAtItsRate) {
  for (const double burstiness : {0.25, 1.0, 4.0}) {
    WorkloadSpec spec = spec_of(20000);
    spec.arrivals = {.kind = Arrivals::Kind::kGamma, .per_second = 20, .burstiness = burstiness};
    const auto gaps = gaps_of(make_workload(spec).value());
    EXPECT_NEAR(core::mean(gaps), 50, 3) << burstiness;
    // The relative deviation of a gamma distribution.
    EXPECT_NEAR(core::population_deviation(gaps) / core::mean(gaps), 1 / std::sqrt(burstiness),
                0.05)
        << burstiness;
  }
  WorkloadSpec even = spec_of(10);
  even.arrivals = {.kind = Arrivals::Kind::kConstant, .per_second = 20};
  for (const double gap : gaps_of(make_workload(even).value()))
    EXPECT_DOUBLE_EQ(gap, 50);
}

TEST(Workload, IsThatOfItsSeed) {
  WorkloadSpec spec = spec_of(100);
  spec.prompt = {.kind = Lengths::Kind::kUniform, .tokens = 1000, .ratio = 0};
  const auto first = prompts_of(make_workload(spec).value());
  EXPECT_EQ(first, prompts_of(make_workload(spec).value()));
  spec.seed = 8;
  EXPECT_NE(first, prompts_of(make_workload(spec).value()));
}

// The generator is the one that the C++ standard defines; the values are those of another program.
TEST(Workload, IsTheSameOnEveryMachine) {
  WorkloadSpec spec = spec_of(4);
  spec.prompt = {.kind = Lengths::Kind::kUniform, .tokens = 1000, .ratio = 0};
  spec.output.tokens = 1;
  EXPECT_THAT(prompts_of(make_workload(spec).value()), ::testing::ElementsAre(755, 950, 117, 892));
}

TEST(Workload, SharesPrefixesInTurn) {
  WorkloadSpec spec = spec_of(5);
  spec.prefix_tokens = 500;
  spec.prefixes = 2;
  const Workload made = make_workload(spec).value();
  EXPECT_EQ(made.piece_tokens, 500);
  EXPECT_EQ(made.pieces_of(made.requests[0])[0], made.pieces_of(made.requests[4])[0]);
  EXPECT_NE(made.pieces_of(made.requests[0])[0], made.pieces_of(made.requests[1])[0]);
}

TEST(Workload, ThatMakesNoSenseIsAnError) {
  WorkloadSpec spec = spec_of(1);
  spec.prompt.tokens = 0;
  EXPECT_THAT(error_of(spec), HasSubstr("prompts of 0 tokens"));
  spec = spec_of(1);
  spec.output = {.kind = Lengths::Kind::kUniform, .tokens = 10, .ratio = 1.5};
  EXPECT_THAT(error_of(spec), HasSubstr("range ratio of 1.5"));
  spec = spec_of(1);
  spec.arrivals.concurrency = 0;
  EXPECT_THAT(error_of(spec), HasSubstr("concurrency of 0"));
  spec.arrivals = {.kind = Arrivals::Kind::kGamma, .per_second = 0};
  EXPECT_THAT(error_of(spec), HasSubstr("a rate above 0"));
  spec.arrivals = {.kind = Arrivals::Kind::kGamma, .per_second = 1, .burstiness = 0};
  EXPECT_THAT(error_of(spec), HasSubstr("burstiness of 0"));
}

TEST(Workload, ThatIsGivenIsChecked) {
  EXPECT_THAT(check_workload({}).error().message, HasSubstr("no requests"));
  Workload given{.requests = {{.arrival_ms = 5, .prompt_tokens = 1, .output_tokens = 1},
                              {.arrival_ms = 4, .prompt_tokens = 1, .output_tokens = 1}}};
  EXPECT_THAT(check_workload(given).error().message, HasSubstr("request 1 arrives at 4 ms"));
  given.requests[1] = {.arrival_ms = 6, .prompt_tokens = 1, .output_tokens = 0};
  EXPECT_THAT(check_workload(given).error().message,
              HasSubstr("request 1 has 1 prompt and 0 output"));
  given.requests[1] = {.arrival_ms = 6, .prompt_tokens = 1, .output_tokens = 1, .pieces = 1};
  EXPECT_THAT(check_workload(given).error().message, HasSubstr("pieces of its prompt"));
}

}  // namespace
}  // namespace assay::plan
