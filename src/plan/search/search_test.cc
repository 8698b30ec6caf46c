#include "plan/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "model/serving/family.h"
#include "plan/search/search_report.h"

namespace assay::plan {
namespace {

using testing::ElementsAre;

Candidate candidate(std::int64_t tp, double ttft, double tpot, double throughput) {
  return {.worker = {.tp = tp, .moe_tp = tp},
          .ttft_ms = ttft,
          .tpot_ms = tpot,
          .tokens_per_s_per_user = 1000 / tpot,
          .cluster_tokens_per_s_per_gpu = throughput};
}

std::vector<double> throughputs(const std::vector<Candidate>& candidates) {
  std::vector<double> values;
  for (const Candidate& one : candidates)
    values.push_back(one.cluster_tokens_per_s_per_gpu);
  return values;
}

TEST(Pick, TakesTheBestOfEachWorkerThatMeetsTheLimits) {
  const SearchResult result{.candidates = {candidate(1, 100, 20, 50), candidate(1, 100, 30, 60),
                                           candidate(1, 100, 70, 90), candidate(2, 100, 10, 70)}};
  SearchRequest request;
  request.ttft_limit_ms = 200;
  request.tpot_limit_ms = 60;
  const Picks picks = pick(result, request, 5);
  EXPECT_TRUE(picks.meet);
  EXPECT_THAT(throughputs(picks.best), ElementsAre(70, 60));
  EXPECT_THAT(throughputs(pick(result, request, 1).best), ElementsAre(70));
}

TEST(Pick, LimitsAreKeptWithTheirMargins) {
  Candidate fast = candidate(1, 100, 20, 50);
  Candidate full = candidate(1, 100, 55, 90);
  fast.margins = {.ttft = 1.1, .tpot = 1.1};
  full.margins = {.ttft = 1.1, .tpot = 1.1};
  const SearchResult result{.candidates = {fast, full}};
  SearchRequest request;
  request.ttft_limit_ms = 200;
  request.tpot_limit_ms = 60;
  EXPECT_THAT(throughputs(pick(result, request, 5).best), ElementsAre(50));
  request.tpot_limit_ms = 61;
  EXPECT_THAT(throughputs(pick(result, request, 5).best), ElementsAre(90));
  request.ttft_limit_ms = 105;
  EXPECT_FALSE(pick(result, request, 5).meet);
}

TEST(Pick, ShowsTheClosestWhereNothingMeetsTheLimits) {
  const SearchResult result{.candidates = {candidate(1, 400, 20, 50), candidate(2, 210, 61, 60)}};
  SearchRequest request;
  request.ttft_limit_ms = 200;
  request.tpot_limit_ms = 60;
  const Picks picks = pick(result, request, 5);
  EXPECT_FALSE(picks.meet);
  EXPECT_THAT(throughputs(picks.best), ElementsAre(60));
}

TEST(Pick, LimitsOnWholeRequestsStandForThoseOnTheirParts) {
  // 100 + 99 x 20 = 2080 ms, and 100 + 99 x 30 = 3070 ms.
  const SearchResult result{.candidates = {candidate(1, 100, 20, 50), candidate(1, 100, 30, 90)}};
  SearchRequest request;
  request.output_tokens = 100;
  request.ttft_limit_ms = std::numeric_limits<double>::infinity();
  request.tpot_limit_ms = std::numeric_limits<double>::infinity();
  request.request_limit_ms = 3100;
  EXPECT_THAT(throughputs(pick(result, request, 5).best), ElementsAre(90));
  EXPECT_THAT(limits_text(request),
              testing::StartsWith("a request of 100 tokens <= 3100 ms with a chance"));
  request.request_limit_ms = 3000;
  EXPECT_THAT(throughputs(pick(result, request, 5).best), ElementsAre(50));
  request.request_limit_ms = 2000;
  EXPECT_FALSE(pick(result, request, 5).meet);
  EXPECT_NEAR(result.candidates.front().excess(request), 1.04, 1e-9);
}

TEST(Frontier, LeavesOutWhatAnotherBeatsInBoth) {
  const auto best = frontier({candidate(1, 0, 10, 50), candidate(2, 0, 20, 40),
                              candidate(4, 0, 20, 60), candidate(8, 0, 5, 10)});
  EXPECT_THAT(throughputs(best), ElementsAre(10, 50, 60));
}

TEST(Workers, OfADenseModelHaveNoGroups) {
  const auto model = serving::read_model("qwen3-32b").value();
  const Workers workers = workers_of(model, Engine::kTrtllm, model.precision, 8);
  ASSERT_EQ(workers.possible.size(), 4U);
  for (const Worker& worker : workers.possible) {
    EXPECT_EQ(worker.dp, 1);
    EXPECT_EQ(worker.moe_tp * worker.moe_ep, worker.gpus());
  }
  EXPECT_EQ(workers.possible.back().text(), "tp 8");
}

TEST(Workers, KeepTheEnginesRules) {
  const auto model = serving::read_model("qwen3-235b-a22b").value();
  for (const Worker& worker : workers_of(model, Engine::kTrtllm, model.precision, 8).possible)
    EXPECT_TRUE(worker.tp == 1 || worker.dp == 1) << worker.text();
  for (const Worker& worker : workers_of(model, Engine::kVllm, model.precision, 8).possible)
    EXPECT_TRUE(worker.moe_tp == 1 || worker.moe_ep == 1) << worker.text();
}

// The error of a search on GPUs of 80 GB without tables.
std::string problem_of(const std::string& name, std::int64_t gpus) {
  const auto model = serving::read_model(name).value();
  SearchRequest request;
  request.precision = model.precision;
  request.gpus = gpus;
  request.memory = [](std::int64_t) { return GpuMemory{.capacity_bytes = 80e9}; };
  Tables tables(
      std::nullopt, [](const std::string&) { return std::vector<TableSource>(); },
      [](const std::string&) { return nullptr; }, [](const std::string&) { return nullptr; });
  const auto result = search(model, request, tables);
  return result.ok() ? "" : result.error().message;
}

TEST(Search, SaysWhatDoesNotFit) {
  EXPECT_THAT(
      problem_of("llama-3.1-405b", 2),
      testing::AllOf(
          testing::HasSubstr("no deployment of llama-3.1-405b on 2 GPUs is left: tp 1: 811.7 GB"),
          testing::Not(testing::HasSubstr("more such reasons"))));
}

// A mixture has dozens of workers, of which the widest need the least memory.
TEST(Search, SaysOfManyWorkersWhyTheWidestDoNotFit) {
  EXPECT_THAT(problem_of("kimi-k2", 16),
              testing::AllOf(testing::HasSubstr("; tp 8: 129.7 GB of weights"),
                             testing::ContainsRegex("; [0-9]+ more such reasons"),
                             testing::HasSubstr("(--max-nodes, --max-pp) were not tried"),
                             testing::Not(testing::HasSubstr("tp 2"))));
  EXPECT_THAT(problem_of("kimi-k2", 8), testing::Not(testing::HasSubstr("--max-nodes")));
}

std::vector<std::string> columns_of(const SearchResult& result) {
  const Picks picks{.best = result.candidates, .meet = true};
  const model::Book book = search_book("title", result, {}, picks);
  std::vector<std::string> names;
  for (const model::Column& column : book.tables.front().columns)
    names.push_back(column.name);
  for (const std::string& note : book.tables.front().notes)
    names.push_back(note.substr(0, note.find(' ')));
  return names;
}

TEST(SearchBook, HasTokensPerJouleWhereEnoughPowerIsKnown) {
  SearchResult result{.candidates = {candidate(1, 100, 20, 50), candidate(2, 100, 10, 40)}};
  result.candidates.front().power = {.measured = 0.5, .between = 0.2, .modelled = 0.195};
  result.candidates.front().tokens_per_joule = 2;
  EXPECT_THAT(columns_of(result), testing::Not(testing::Contains("tokens per J")));
  EXPECT_THAT(missing_energy_note(result), testing::HasSubstr("89 % at most"));
  result.candidates.front().power = {.measured = 0.9};
  EXPECT_THAT(columns_of(result), testing::Contains("tokens per J"));
  EXPECT_EQ(missing_energy_note(result), "");
  EXPECT_THAT(energy_note(result), testing::Not(testing::HasSubstr("model")));
  result.candidates.front().power = {.measured = 0.5, .modelled = 0.4, .error = 0.031};
  EXPECT_THAT(columns_of(result), testing::Contains("power modelled"));
  EXPECT_THAT(energy_note(result), testing::HasSubstr("up to 40 % of the time has its power by a "
                                                      "model"));
  EXPECT_THAT(energy_note(result), testing::HasSubstr("an error of up to 3.1 %"));
}

TEST(LengthsNote, NamesTheLengthsThatAreDrawn) {
  const auto note = [](std::int64_t answers, double least_length) {
    SearchRequest request;
    request.prompt_tokens = 4000;
    request.output_tokens = answers;
    request.least_length = least_length;
    return lengths_note(request);
  };
  EXPECT_EQ(note(2, 0.8), "prompts have 3200 to 4000 tokens, answers 1 to 2 (--least-length)");
  EXPECT_EQ(note(1, 0.3), "prompts have 1200 to 4000 tokens, answers 1 (--least-length)");
  EXPECT_EQ(note(2, 1), "prompts have 4000 tokens, answers 2 (--least-length)");
}

}  // namespace
}  // namespace assay::plan
