#include "plan/search/search_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

using ::testing::HasSubstr;

Candidate two_split_copies() {
  return {.worker = {.tp = 2},
          .split = {.prefill = {.tp = 1},
                    .prefill_instances = 2,
                    .prefill_batch = 3,
                    .decode_batch = 7,
                    .decode_instances = 1},
          .copies = 2,
          .concurrency = 9,
          .ttft_ms = 100,
          .tpot_ms = 10};
}

std::vector<std::string> next_of(const SearchSubject& subject, const Candidate& best) {
  const SearchRequest request;
  const SearchResult result{.candidates = {best}};
  return answer_of(subject, result, request, {.best = {best}, .meet = true}).next;
}

TEST(SearchAnswer, PoolsAreWrittenWithTheInstancesOfAllCopies) {
  const auto next = next_of({"m", "h200_sxm", "--model m"}, two_split_copies());
  ASSERT_FALSE(next.empty());
  EXPECT_THAT(next.front(),
              HasSubstr("assay plan files --model m --prefill '4P(tp 1)' --decode '2D(tp 2)' "
                        "--prefill-batch 3 --batch 7 --isl 4000 --osl 1000"));
}

TEST(SearchAnswer, PoolsOfTwoSystemsAreWritten) {
  const auto next = next_of({"m", "h200_sxm", "--model m", "h100_sxm"}, two_split_copies());
  EXPECT_THAT(next.front(), HasSubstr("--model m --decode-system h100_sxm --prefill '4P(tp 1)'"));
}

// --confidence is of TTFT in the long run, which keeps the limit here.
TEST(SearchAnswer, TellsWhatMakesABenchmarksTtftShorter) {
  Candidate best = two_split_copies();
  best.benchmark_ttft_ms = 400;
  best.bars.ttft = {.low = 0.9, .high = 1.2};
  SearchRequest request;
  request.ttft_limit_ms = 300;
  const SearchResult result{.candidates = {best}};
  const auto warnings =
      answer_of({"m", "h200_sxm", "--model m"}, result, request, {.best = {best}, .meet = true})
          .warnings;
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.front(), HasSubstr("TTFT of a benchmark"));
  EXPECT_THAT(warnings.front(), HasSubstr("act on TTFT of the long run (100 ms)"));
  EXPECT_THAT(warnings.front(), testing::Not(HasSubstr("--confidence asks for more")));
}

TEST(SearchAnswer, BatchesOfStagesAreEach) {
  const Candidate staged{
      .worker = {.tp = 2, .pp = 4}, .concurrency = 32, .ttft_ms = 100, .tpot_ms = 10};
  const auto next = next_of({"m", "h200_sxm", "--model m"}, staged);
  EXPECT_THAT(next.front(), HasSubstr("--tp 2 --pp 4 --batch 8 "));
}

}  // namespace
}  // namespace assay::plan
