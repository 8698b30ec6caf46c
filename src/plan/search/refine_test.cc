#include "plan/search/refine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace assay::plan {
namespace {

using testing::Each;
using testing::Field;

// Workers whose decoding slows down with the batch; a greater one has more memory for batches.
std::vector<Candidate> priced_deployments(std::size_t workers) {
  std::vector<Candidate> priced;
  for (std::size_t place = 0; place < workers; ++place) {
    const auto tp = static_cast<std::int64_t>(1) << (place % 4);
    for (std::int64_t batch = 1; batch <= 1000; batch += std::max<std::int64_t>(1, batch / 8)) {
      const auto requests = static_cast<double>(batch);
      const double tpot = (5 + 0.1 * requests) * (1 + 0.1 * static_cast<double>(place)) /
                          std::sqrt(static_cast<double>(tp));
      Candidate made{.worker = {.tp = tp, .moe_tp = tp},
                     .place = place,
                     .concurrency = batch,
                     .ttft_ms = 100 + requests,
                     .tpot_ms = tpot,
                     .requests_per_s = requests / tpot,
                     .tokens_per_s_per_user = 1000 / tpot};
      made.cluster_tokens_per_s_per_gpu = 1000 * requests / tpot / static_cast<double>(tp);
      made.tokens_per_s_per_gpu = made.cluster_tokens_per_s_per_gpu;
      priced.push_back(made);
    }
  }
  return priced;
}

// As if the closed form were off by a factor of the worker and one that grows with the batch.
Candidate simulated(const Candidate& candidate) {
  Candidate made = candidate;
  const double factor = (0.92 + 0.04 * static_cast<double>(candidate.place % 4)) *
                        (1 + 0.02 * std::log2(static_cast<double>(candidate.concurrency)) / 10);
  made.is_simulated = true;
  made.ttft_ms *= 1.2;
  made.tpot_ms *= factor;
  made.requests_per_s /= factor;
  made.tokens_per_s_per_user /= factor;
  made.cluster_tokens_per_s_per_gpu /= factor;
  made.tokens_per_s_per_gpu /= factor;
  return made;
}

SearchResult refined(const SearchRequest& request, std::size_t& count) {
  count = 0;
  const Simulate simulate = [&](const Candidate& candidate) {
    ++count;
    return std::optional(simulated(candidate));
  };
  return {.candidates = refine(priced_deployments(6), request, simulate)};
}

TEST(Refine, PicksWhatSimulatingAllPicks) {
  for (const double tpot : {3.0, 8.0, 20.0, 45.0, 200.0}) {
    for (const double ttft : {90.0, 150.0, 400.0, 5000.0}) {
      SCOPED_TRACE(testing::Message() << tpot << " " << ttft);
      SearchRequest request;
      request.tpot_limit_ms = tpot;
      request.ttft_limit_ms = ttft;
      request.top = 3;
      std::size_t few = 0;
      const SearchResult some = refined(request, few);
      request.simulates_all = true;
      std::size_t all_count = 0;
      const SearchResult all = refined(request, all_count);
      EXPECT_LT(few, all_count / 2);
      const Picks expected = pick(all, request, 3);
      const Picks found = pick(some, request, 3);
      ASSERT_EQ(found.best.size(), expected.best.size());
      EXPECT_EQ(found.meet, expected.meet);
      for (std::size_t i = 0; i < expected.best.size(); ++i) {
        EXPECT_EQ(found.best[i].place, expected.best[i].place);
        EXPECT_EQ(found.best[i].concurrency, expected.best[i].concurrency);
      }
    }
  }
}

TEST(Refine, KeepsTheFrontierWithinItsStep) {
  SearchRequest request;
  std::size_t count = 0;
  const auto some = frontier(refined(request, count).candidates);
  request.simulates_all = true;
  for (const Candidate& wanted : frontier(refined(request, count).candidates)) {
    EXPECT_TRUE(std::any_of(
        some.begin(), some.end(),
        [&](const Candidate& one) {
          return one.tokens_per_s_per_user * 1.12 >= wanted.tokens_per_s_per_user &&
                 one.cluster_tokens_per_s_per_gpu * 1.12 >= wanted.cluster_tokens_per_s_per_gpu;
        }))
        << wanted.place << " " << wanted.concurrency;
  }
}

TEST(Refine, GivesOnlyWhatWasSimulated) {
  SearchRequest request;
  const auto some = refine(priced_deployments(2), request, [](const Candidate& candidate) {
    return candidate.place == 0 ? std::nullopt : std::optional(simulated(candidate));
  });
  EXPECT_THAT(some, Each(Field(&Candidate::is_simulated, true)));
  EXPECT_THAT(some, Each(Field(&Candidate::place, 1U)));
}

}  // namespace
}  // namespace assay::plan
