#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/serving/family.h"
#include "plan/search/disaggregated.h"

namespace assay::plan {
namespace {

using testing::HasSubstr;

Tables no_tables() {
  return {std::nullopt, [](const std::string&) { return std::vector<TableSource>(); },
          [](const std::string&) { return nullptr; }, [](const std::string&) { return nullptr; }};
}

std::string problem_with(const std::string& name, std::int64_t gpus) {
  const auto model = serving::read_model(name).value();
  store::SystemFacts facts;
  facts.name = "small";
  facts.memory_bytes = 80e9;
  Tables tables = no_tables();
  SearchRequest request;
  request.gpus = gpus;
  request.precision = model.precision;
  const PoolSystem system{&facts, &tables};
  const auto found = search_disaggregated(model, request, system, system);
  return found.ok() ? "" : found.error().message;
}

TEST(DisaggregatedSearch, NeedsTwoGpus) {
  EXPECT_THAT(problem_with("qwen3-8b", 1), HasSubstr("need at least 2 GPUs"));
}

TEST(DisaggregatedSearch, SaysWhatDoesNotFit) {
  const std::string problem = problem_with("llama-3.1-405b", 2);
  EXPECT_THAT(problem,
              HasSubstr("no disaggregated deployment of llama-3.1-405b on 2 GPUs is left: tp 1: "));
  EXPECT_THAT(problem, HasSubstr("811.7 GB of weights"));
}

TEST(DisaggregatedSearch, SaysWhatHasNoPrice) {
  EXPECT_THAT(problem_with("qwen3-8b", 2), HasSubstr("on 2 GPUs is left: tp 1: embedding"));
}

}  // namespace
}  // namespace assay::plan
