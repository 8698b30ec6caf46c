#include "store/answers/latent_blocks.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

serving::Model small_model() {
  const serving::LatentAttention latent{.heads = 128, .query_rank = 256};
  serving::Model model;
  model.hidden = 1024;
  model.layers = {{.layer = {latent, serving::NoFeedForward{}}, .count = 1}};
  return model;
}

double product_ms(double m, double n, double k) {
  return 0.002 + m * n * k / 1e12;
}

double norm_ms(double rows, double columns) {
  return 0.001 + rows * columns / 1e9;
}

double bmm_ms(double tokens) {
  return 0.003 + tokens / 1e6;
}

double attention_ms(double requests, double length) {
  return 0.01 + requests * length / 1e6;
}

constexpr const char* kOrigin = "assay,0.2.0,NVIDIA H200";
constexpr const char* kOriginColumns = "framework,version,device,op_name,kernel_source";

// The weights of a block with 16 heads.
RowsOfTable product_rows(double most_tokens) {
  std::string csv = fmt::format("{},gemm_dtype,m,n,k,latency,power\n", kOriginColumns);
  for (const auto& [n, k] : {std::pair(832, 1024), {3072, 256}, {4096, 512}, {1024, 2048}}) {
    for (double m = 1; m <= most_tokens; m *= 2)
      csv += fmt::format("{},gemm,k,bfloat16,{},{},{},{},600\n", kOrigin, m, n, k,
                         product_ms(m, n, k));
  }
  return {"gemm_perf", frame_of(csv)};
}

std::vector<RowsOfTable> tables_of_kernels(double most_tokens = 4096) {
  std::string norms = fmt::format("{},dtype,rows,columns,vocabulary,latency\n", kOriginColumns);
  std::string bmm =
      fmt::format("{},bmm_dtype,num_tokens,num_heads,latency,power\n", kOriginColumns);
  for (double rows = 1; rows <= 4096; rows *= 2) {
    for (const int columns : {256, 512})
      norms += fmt::format("{},rms_norm,k,bfloat16,{},{},0,{}\n", kOrigin, rows, columns,
                           norm_ms(rows, columns));
    for (const char* op_name : {"mla_gen_pre", "mla_gen_post"})
      bmm += fmt::format("{},{},k,bfloat16,{},16,{},600\n", kOrigin, op_name, rows, bmm_ms(rows));
  }
  const std::string columns =
      std::string(kOriginColumns) +
      ",mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency,power\n";
  std::string context = columns;
  std::string generation = columns;
  for (const int requests : {1, 4}) {
    for (const int length : {128, 512, 1024}) {
      context += fmt::format("{},mla_context,k,bfloat16,bfloat16,16,{},{},8,0,{},300\n", kOrigin,
                             requests, length, attention_ms(requests, length));
      generation += fmt::format("{},mla_generation,k,bfloat16,bfloat16,16,{},1,8,{},{},300\n",
                                kOrigin, requests, length - 1, attention_ms(requests, length));
    }
  }
  return {product_rows(most_tokens),
          {"memory_op_perf", frame_of(norms)},
          {"mla_bmm_perf", frame_of(bmm)},
          {"context_mla_perf", frame_of(context)},
          {"generation_mla_perf", frame_of(generation)}};
}

core::Result<RooflineBinder> no_binder(const std::string& /*table*/) {
  return RooflineBinder();
}

std::vector<BlockTable> blocks_of(const std::vector<RowsOfTable>& tables,
                                  PromptTypes types = PromptTypes::kMeasured) {
  auto made = latent_blocks(tables, small_model(), no_binder, types);
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

// The value of a column in the only row with these requests, new tokens and cached tokens.
double value_at(
    const BlockTable& table, const char* column, double requests, double isl, double step) {
  double found = std::nan("");
  for (std::size_t row = 0; row < table.rows.num_rows(); ++row) {
    const auto has = [&](const char* name, double value) {
      return number_at(*table.rows.find(name), row) == value;
    };
    if (!has("batch_size", requests) || !has("isl", isl) || !has("step", step)) continue;
    EXPECT_TRUE(std::isnan(found)) << "two rows";
    found = number_at(*table.rows.find(column), row);
  }
  return found;
}

TEST(LatentBlocks, AddUpEveryKernelOfAPrompt) {
  const auto made = blocks_of(tables_of_kernels());
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].table, "mla_context_module_perf");
  EXPECT_EQ(made[0].without_answer, 0);
  const double sum = product_ms(2048, 832, 1024) + norm_ms(2048, 256) +
                     product_ms(2048, 3072, 256) + norm_ms(2048, 512) +
                     product_ms(2048, 4096, 512) + attention_ms(4, 512) +
                     product_ms(2048, 1024, 2048);
  EXPECT_NEAR(value_at(made[0], "latency", 4, 512, 0), sum, 1e-12);
  EXPECT_EQ(value_at(made[0], kSumErrorColumn.data(), 4, 512, 0), 0);
  EXPECT_EQ(value_text(made[0].rows.find(kSumOfColumn)->value(0)),
            "gemm + rms_norm + gemm + rms_norm + gemm + context_mla + gemm");
}

TEST(LatentBlocks, AddUpEveryKernelOfADecodingStep) {
  const auto made = blocks_of(tables_of_kernels());
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[1].table, "mla_generation_module_perf");
  const double products = product_ms(4, 832, 1024) + product_ms(4, 3072, 256) + 2 * bmm_ms(4) +
                          product_ms(4, 1024, 2048);
  const double attention = attention_ms(4, 512);
  const double norms = norm_ms(4, 256) + norm_ms(4, 512);
  EXPECT_NEAR(value_at(made[1], "latency", 4, 1, 511), products + norms + attention, 1e-12);
  // Norms have no power of their own.
  EXPECT_NEAR(value_at(made[1], "power", 4, 1, 511),
              (600 * products + 300 * attention) / (products + attention), 1e-9);
}

TEST(LatentBlocks, HavePointsBetweenThoseOfAttentionWithAnError) {
  const auto made = blocks_of(tables_of_kernels());
  ASSERT_EQ(made.size(), 2U);
  EXPECT_GT(value_at(made[0], "latency", 2, 256, 0), value_at(made[0], "latency", 2, 192, 0));
  EXPECT_GT(value_at(made[0], kSumErrorColumn.data(), 2, 256, 0), 0);
  EXPECT_GT(value_at(made[1], "latency", 3, 1, 511), value_at(made[1], "latency", 2, 1, 511));
  // Decoding has no other lengths than those that were measured.
  EXPECT_TRUE(std::isnan(value_at(made[1], "latency", 4, 1, 255)));
}

TEST(LatentBlocks, HaveOnlyTypesThatAllTablesHave) {
  for (const BlockTable& table : blocks_of(tables_of_kernels())) {
    for (const char* column : {"gemm_type", "kv_cache_dtype", "mla_dtype"}) {
      for (std::size_t row = 0; row < table.rows.num_rows(); ++row)
        EXPECT_EQ(value_text(table.rows.find(column)->value(row)), "bfloat16") << column;
    }
    EXPECT_EQ(value_text(table.rows.find("kernel_source")->value(0)), kSumOfRows);
    EXPECT_EQ(value_text(table.rows.find("framework")->value(0)), "assay");
  }
}

// The planner asks for fp8 with a cache of fp8 alone.
TEST(LatentBlocks, NamePromptsFp8OnlyWithSuchACacheAndSayWhatWasMeasured) {
  auto tables = tables_of_kernels();
  for (RowsOfTable& table : tables) {
    if (table.table != "context_mla_perf") continue;
    Frame more = table.rows;
    for (FrameColumn& column : more.columns) {
      if (column.name != "kv_cache_dtype") continue;
      for (std::string& word : std::get<TextColumn>(column.values).words)
        word = "fp8";
    }
    table.rows = joined_frames({table.rows, more});
  }
  const auto made = blocks_of(tables, PromptTypes::kAlsoFp8);
  ASSERT_EQ(made.size(), 2U);
  std::map<std::string, int> rows;
  for (std::size_t row = 0; row < made[0].rows.num_rows(); ++row) {
    ++rows[value_text(made[0].rows.find("mla_dtype")->value(row)) + " " +
           value_text(made[0].rows.find("kv_cache_dtype")->value(row))];
    EXPECT_EQ(value_text(made[0].rows.find(kMeasuredTypeColumn)->value(row)), "bfloat16");
  }
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows["fp8 fp8"], rows["bfloat16 fp8"]);
  EXPECT_EQ(rows["bfloat16 bfloat16"], rows["bfloat16 fp8"]);
  EXPECT_EQ(made[1].rows.find(kMeasuredTypeColumn), nullptr);
}

TEST(LatentBlocks, CountPointsWithoutAnAnswer) {
  const auto made = blocks_of(tables_of_kernels(64));
  ASSERT_FALSE(made.empty());
  EXPECT_GT(made[0].without_answer, 0);
  EXPECT_TRUE(std::isnan(value_at(made[0], "latency", 4, 1024, 0)));
  EXPECT_FALSE(std::isnan(value_at(made[0], "latency", 1, 128, 0)));
}

TEST(LatentBlocks, NeedRowsOfEveryKernel) {
  auto tables = tables_of_kernels();
  tables.erase(tables.begin());
  EXPECT_TRUE(blocks_of(tables).empty());
  EXPECT_TRUE(blocks_of({tables_of_kernels().front()}).empty());
}

}  // namespace
}  // namespace assay::store
