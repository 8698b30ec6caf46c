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
  for (const Candidate& one : near_frontier(candidates, 1000))
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

TEST(NearFrontier, LeavesOutWhatAnswersMuchTooLate) {
  EXPECT_THAT(tokens_of({split_candidate(100, 1900, 50), split_candidate(50, 2100, 90)}),
              UnorderedElementsAre(50));
  EXPECT_THAT(tokens_of({split_candidate(100, 3000, 50), split_candidate(50, 2100, 90)}),
              UnorderedElementsAre(50, 90));
}

TEST(WithinLimits, SortsTheCandidatesOfEachWorker) {
  SearchRequest request;
  request.ttft_limit_ms = 1000;
  request.tpot_limit_ms = 25;
  const auto made = [](std::int64_t tp, double tpot_ms, double tokens) {
    Candidate one = split_candidate(1000 / tpot_ms, 500, tokens);
    one.worker = {.tp = tp, .moe_tp = tp};
    one.tpot_ms = tpot_ms;
    return one;
  };
  const std::vector<Candidate> candidates = {made(1, 20, 50), made(1, 24, 70), made(1, 26, 90),
                                             made(2, 20, 40), made(4, 20, 30)};
  const auto found = within_limits(candidates, request);
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].size(), 2U);
  EXPECT_EQ(found[0][0]->cluster_tokens_per_s_per_gpu, 70);
  EXPECT_EQ(found[0][1]->cluster_tokens_per_s_per_gpu, 50);
  EXPECT_EQ(found[1][0]->worker.tp, 2);
}

// The simulation may find half of the TTFT.
TEST(WithinLimits, TakesOnesWhoseFirstTokenComesAlmostTwiceAsLate) {
  SearchRequest request;
  request.ttft_limit_ms = 300;
  EXPECT_EQ(within_limits({split_candidate(50, 500, 50)}, request).size(), 1U);
  request.ttft_limit_ms = 200;
  EXPECT_TRUE(within_limits({split_candidate(50, 500, 50)}, request).empty());
}

}  // namespace
}  // namespace assay::plan
