#include "plan/search/size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Candidate sized_candidate(std::int64_t tp, double rate, double tpot_ms) {
  return {.worker = {.tp = tp, .moe_tp = tp},
          .concurrency = 10,
          .ttft_ms = 100,
          .tpot_ms = tpot_ms,
          .requests_per_s = rate,
          .tokens_per_s_per_gpu = rate / static_cast<double>(tp)};
}

// What was searched, by GPUs; workers of fewer GPUs than there are.
struct CandidatesByGpus {
  std::vector<Candidate> candidates;
  std::vector<std::int64_t> asked = {};

  core::Result<SearchResult> operator()(std::int64_t gpus) {
    asked.push_back(gpus);
    SearchResult result;
    for (const Candidate& one : candidates)
      if (one.gpus() <= gpus) result.candidates.push_back(one);
    if (result.candidates.empty()) return core::Error{"nothing fits"};
    return result;
  }
};

SearchRequest request_with(double tpot_ms) {
  SearchRequest request;
  request.tpot_limit_ms = tpot_ms;
  return request;
}

TEST(Size, CountsCopiesAndTakesTheFewestGpus) {
  CandidatesByGpus search{{sized_candidate(1, 2, 20), sized_candidate(4, 12, 10)}};
  const auto result = size_deployment({.load = {.requests_per_s = 50}, .most_gpus = 100},
                                      request_with(30), std::ref(search), 5)
                          .value();
  ASSERT_EQ(result.best.size(), 2U);
  EXPECT_EQ(result.best[0].copies, 5);
  EXPECT_EQ(result.best[0].gpus(), 20);
  EXPECT_EQ(result.best[1].copies, 25);
  EXPECT_TRUE(result.meets_load);
  EXPECT_THAT(search.asked, ElementsAre(16));
}

TEST(Size, CountsRequestsInFlight) {
  CandidatesByGpus search{{sized_candidate(1, 2, 20)}};
  const auto result =
      size_deployment({.load = {.concurrency = 21}}, request_with(30), std::ref(search), 5).value();
  EXPECT_EQ(result.best.front().copies, 3);
}

// Of fewer GPUs than were searched, smaller deployments may do, which a search of more does not
// list.
TEST(Size, SearchesFewerGpusWhereTheyMayDo) {
  const auto search = [](std::int64_t gpus) -> core::Result<SearchResult> {
    if (gpus < 3) return core::Error{"nothing fits"};
    Candidate split = sized_candidate(1, gpus >= 8 ? 9 : 3, 10);
    split.split = {.prefill_instances = gpus >= 8 ? 5 : 2, .decode_instances = gpus >= 8 ? 3 : 1};
    return SearchResult{.candidates = {split}};
  };
  const auto result =
      size_deployment({.load = {.requests_per_s = 2.5}}, request_with(30), search, 5).value();
  EXPECT_EQ(result.best.front().gpus(), 3);
}

TEST(Size, ShowsTheClosestWhereNothingMeetsTheLimits) {
  CandidatesByGpus search{{sized_candidate(1, 2, 20), sized_candidate(4, 12, 10)}};
  const SizeRequest size{.load = {.requests_per_s = 24}};
  const SearchRequest request = request_with(5);
  const auto result = size_deployment(size, request, std::ref(search), 5).value();
  EXPECT_FALSE(result.meets_limits);
  EXPECT_FALSE(result.meets_load);
  ASSERT_EQ(result.best.size(), 1U);
  EXPECT_EQ(result.best.front().gpus(), 8);
  EXPECT_THAT(size_book("", size, request, result).tables.front().title,
              HasSubstr("No deployment has"));
}

TEST(Size, SaysWhatMoreGpusWouldDo) {
  CandidatesByGpus search{{sized_candidate(4, 12, 10)}};
  const SizeRequest size{.load = {.requests_per_s = 50}, .most_gpus = 8};
  const SearchRequest request = request_with(30);
  const auto result = size_deployment(size, request, std::ref(search), 5).value();
  EXPECT_TRUE(result.meets_limits);
  EXPECT_FALSE(result.meets_load);
  EXPECT_EQ(result.best.front().gpus(), 20);
  EXPECT_THAT(size_book("", size, request, result).tables.front().title,
              HasSubstr("8 GPUs do not carry 50 requests/s"));
}

}  // namespace
}  // namespace assay::plan
