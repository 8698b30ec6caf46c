#include "plan/search/search_figures.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace assay::plan {
namespace {

Candidate candidate_of(Engine engine, double tokens_per_s_per_user, double tokens_per_s_per_gpu) {
  Candidate made{.worker = {.tp = 8}};
  made.engine = engine;
  made.tokens_per_s_per_user = tokens_per_s_per_user;
  made.cluster_tokens_per_s_per_gpu = tokens_per_s_per_gpu;
  made.tpot_ms = 1000 / tokens_per_s_per_user;
  made.ttft_ms = 100;
  made.parts.attention_ms = 1;
  return made;
}

TEST(SearchFigures, NameTheEngineWhereSeveralAreCompared) {
  const Candidate fast = candidate_of(Engine::kVllm, 100, 200);
  const Candidate full = candidate_of(Engine::kSglang, 50, 400);
  const SearchResult result{.candidates = {fast, full}};
  const Picks picks{.best = {full, fast}, .meet = true};
  std::set<std::string> curves;
  for (const report::Curve& curve : frontier_figure(result, picks, "title").curves)
    curves.insert(curve.name);
  EXPECT_TRUE(curves.contains("vllm: tp 8"));
  EXPECT_TRUE(curves.contains("sglang: tp 8"));
  std::set<std::string> bars;
  for (const report::CompositionBar& bar : bounds_chart(result, picks).bars)
    bars.insert(bar.name);
  EXPECT_TRUE(bars.contains("vllm: tp 8 · 1"));
  EXPECT_TRUE(bars.contains("sglang: tp 8 · 1"));
}

TEST(SearchFigures, LeaveOutTheNameOfTheOnlyEngine) {
  const Candidate one = candidate_of(Engine::kVllm, 100, 200);
  const SearchResult result{.candidates = {one}};
  const Picks picks{.best = {one}, .meet = true};
  EXPECT_EQ(bounds_chart(result, picks).bars.front().name, "tp 8 · 1");
}

}  // namespace
}  // namespace assay::plan
