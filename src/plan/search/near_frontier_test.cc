#include "plan/search/near_frontier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

using testing::UnorderedElementsAre;

Candidate split_candidate(double speed, double ttft_ms, double tokens) {
  return {.split = {.prefill_instances = 1, .decode_instances = 1},
          .ttft_ms = ttft_ms,
          .tokens_per_s_per_user = speed,
          .cluster_tokens_per_s_per_gpu = tokens};
}

std::vector<double> tokens_of(const std::vector<Candidate>& candidates) {
  std::vector<double> tokens;
  for (const Candidate& one : near_frontier(candidates))
    tokens.push_back(one.cluster_tokens_per_s_per_gpu);
  return tokens;
}

TEST(NearFrontier, KeepsWhatTheErrorCannotTellFromTheBest) {
  EXPECT_THAT(tokens_of({split_candidate(100, 200, 50), split_candidate(50, 200, 49),
                         split_candidate(25, 200, 40), split_candidate(12, 200, 80)}),
              UnorderedElementsAre(50, 49, 80));
}

// A deployment with an early first token is not beaten by one with a late one.
TEST(NearFrontier, KeepsWhatAnswersEarlier) {
  EXPECT_THAT(tokens_of({split_candidate(100, 800, 90), split_candidate(50, 100, 30)}),
              UnorderedElementsAre(90, 30));
  EXPECT_THAT(tokens_of({split_candidate(100, 100, 90), split_candidate(50, 800, 30)}),
              UnorderedElementsAre(90));
}

TEST(NearFrontier, OneStandsForThoseThatDifferLittle) {
  EXPECT_THAT(tokens_of({split_candidate(100, 200, 100), split_candidate(101, 201, 99)}),
              UnorderedElementsAre(100));
}

}  // namespace
}  // namespace assay::plan
