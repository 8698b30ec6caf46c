#include "plan/support/support.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "model/serving/family.h"
#include "model/serving/needs.h"
#include "model/warnings.h"
#include "plan/support/support_report.h"
#include "store/files/csv_frame.h"

namespace assay::plan {
namespace {

constexpr const char* kConfig = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 256,
    "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "num_hidden_layers": 1, "vocab_size": 1000})";

serving::Model little_model() {
  auto model = serving::parse_model(kConfig, "little");
  EXPECT_TRUE(model.ok());
  return std::move(model).value();
}

// The products of one GPU, and nothing else.
core::Result<TableSource::Index> products_of_one_gpu() {
  std::string csv = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
  for (const auto& [n, k] : std::vector<std::pair<int, int>>{
           {512, 256}, {256, 256}, {1024, 256}, {256, 512}, {1000, 256}}) {
    for (const int m : {1, 1000, 2000, 4000})
      csv += fmt::format("F,1,D,gemm,k,bfloat16,{},{},{},{}\n", m, n, k, 1 + m / 1000.0);
  }
  model::Warnings warnings;
  const auto frame = ASSAY_TRY(store::read_csv_frame(csv, warnings, {.text_columns = {"version"}}));
  return std::make_shared<const store::WorkIndex>(
      ASSAY_TRY(store::WorkIndex::make("gemm_perf", frame, nullptr)));
}

Tables tables_of_products() {
  const auto load = [](const std::string& table) -> core::Result<std::vector<TableSource>> {
    std::vector<TableSource> sources;
    if (table == "gemm_perf")
      sources.emplace_back("vllm 1.0", Fidelity::kEngine, products_of_one_gpu);
    return sources;
  };
  return {std::nullopt, load, [](const std::string&) { return store::RooflineBinder(); },
          [](const std::string&) { return store::CostBinder(); }};
}

TEST(Support, TellsWhatHasAPriceAndWhatIsMissing) {
  Tables tables = tables_of_products();
  const ModelSupport support = support_of(little_model(), {.most_gpus = 1}, tables);
  ASSERT_EQ(support.workers.possible.size(), 1U);
  EXPECT_EQ(support.priced_workers(), 0);
  for (const SupportedUse& one : support.uses) {
    EXPECT_EQ(one.is_missing(), one.use.table != "gemm_perf") << one.use.role;
    if (one.is_missing()) {
      EXPECT_THAT(one.why_missing, testing::HasSubstr("there is no such table"));
    } else {
      EXPECT_EQ(one.fidelity, Fidelity::kEngine);
      EXPECT_EQ(one.source, "vllm 1.0");
      EXPECT_TRUE(one.has_key);
    }
  }
}

TEST(Support, ShapesCountOnce) {
  Tables tables = tables_of_products();
  const ModelSupport support = support_of(little_model(), {.most_gpus = 2}, tables);
  std::set<std::string> shapes;
  for (const SupportedUse& one : support.uses)
    EXPECT_TRUE(shapes
                    .insert(fmt::format("{} {} {}", one.use.table, one.use.op_name,
                                        serving::key_text(one.use)))
                    .second);
}

// What the command collects has the operators and shapes that are missing.
TEST(Support, TheCommandMeasuresWhatIsMissing) {
  Tables tables = tables_of_products();
  const serving::Model model = little_model();
  const ModelSupport support = support_of(model, {.most_gpus = 2}, tables);
  const MissingMeasurements missing = measurements_for({&support});
  EXPECT_THAT(missing.operators, testing::Contains("context_attention"));
  EXPECT_THAT(missing.gpus, testing::ElementsAre(1, 2));
  const serving::Needs needs = serving::needs_of({.models = {model}, .tp = missing.gpus});
  for (const SupportedUse& one : support.uses) {
    if (!one.is_missing()) continue;
    EXPECT_THAT(missing.operators, testing::Contains(one.use.op));
    EXPECT_TRUE(std::any_of(needs.needs.begin(), needs.needs.end(), [&](const serving::Need& need) {
      return need.use.table == one.use.table && need.use.op_name == one.use.op_name &&
             serving::key_text(need.use) == serving::key_text(one.use);
    })) << serving::key_text(one.use);
  }
  const model::Book book = support_book("title", {support}, {{"little", "little/config.json"}});
  const model::Table* collect = book.find("collect");
  ASSERT_NE(collect, nullptr);
  EXPECT_THAT(model::text(collect->at(0, 1)),
              testing::AllOf(testing::StartsWith("assay collect "),
                             testing::HasSubstr(" --for-model little/config.json --tp 1,2 ")));
}

}  // namespace
}  // namespace assay::plan
