// Small tables of the public planner's kinds, made in tests.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/serving/family.h"
#include "model/warnings.h"
#include "plan/compat/measured.h"
#include "store/files/csv_frame.h"

namespace assay::plan::compat {

// 1 TB/s at a share of 0.5 and 1 us for a launch, 100 TFLOP/s, 100 GB, links of 100 GB/s.
inline SystemFacts made_facts() {
  SystemFacts facts;
  facts.name = "made";
  facts.peaks.memory_bytes_per_s = 1e12;
  facts.peaks.link_bytes_per_s = 1e11;
  facts.peaks.flops_per_s = {{"bfloat16", 1e14}, {"fp8", 2e14}};
  facts.memory_bytes = 1e11;
  facts.memory_share = 0.5;
  facts.memory_latency_s = 1e-6;
  facts.sm_version = 90;
  facts.between_nodes_bytes_per_s = 1e10;
  facts.nccl_bytes = {{1, 0}, {2, 1e6}, {4, 2e6}, {8, 3e6}};
  facts.other_bytes = 1e9;
  return facts;
}

inline store::WorkRows rows_of_csv(const std::string& table, const std::string& csv) {
  model::Warnings warnings;
  auto frame = store::read_csv_frame(csv, warnings, {.text_columns = {"version"}});
  EXPECT_TRUE(frame.ok()) << (frame.ok() ? "" : frame.error().message);
  auto rows = store::make_work_rows(table, frame.value());
  EXPECT_TRUE(rows.ok()) << (rows.ok() ? "" : rows.error().message);
  return std::move(rows).value();
}

// Versions of tables, the nearest first.
using MadeTables = std::map<std::string, std::vector<std::string>>;

inline Measured measured_of(const MadeTables& tables) {
  return {made_facts(),
          [tables](const std::string& table) -> core::Result<std::vector<store::WorkRows>> {
            std::vector<store::WorkRows> rows;
            if (const auto found = tables.find(table); found != tables.end()) {
              for (const std::string& csv : found->second)
                rows.push_back(rows_of_csv(table, csv));
            }
            return rows;
          }};
}

// 1 ms for 1000 rows of a product, whatever its shape.
inline std::string made_products(const std::vector<std::pair<int, int>>& shapes) {
  std::string csv = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
  for (const auto& [n, k] : shapes) {
    for (const int m : {1, 1000, 4000})
      csv += fmt::format("F,1,D,gemm,k,bfloat16,{},{},{},{}\n", m, n, k, m / 1000.0);
  }
  return csv;
}

inline std::string attention_head() {
  return "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,"
         "num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,"
         "latency\n";
}

// 1 ms for each 1000 tokens squared of a request's prompt.
inline std::string made_prompts() {
  std::string csv = attention_head();
  for (const int requests : {1, 2, 4}) {
    for (const int tokens : {1, 1000, 2000, 4000}) {
      csv += fmt::format("F,1,D,context_attention,k,{},{},4,2,64,0,1,bfloat16,bfloat16,0,{}\n",
                         requests, tokens, requests * (tokens / 1000.0) * (tokens / 1000.0));
    }
  }
  return csv;
}

// 1 ms for 1000 tokens of each request, with the one that is made.
inline std::string made_decoding() {
  std::string csv = attention_head();
  for (const int requests : {1, 2, 4, 8}) {
    for (const int cached : {0, 1023, 2047, 4095, 8191}) {
      csv += fmt::format("F,1,D,generation_attention,k,{},1,4,2,64,0,1,bfloat16,bfloat16,{},{}\n",
                         requests, cached, requests * (cached + 1) / 1000.0);
    }
  }
  return csv;
}

// A layer of 4 heads of 64, with 2 of keys and values.
inline serving::Model small_model() {
  auto model = serving::parse_model(
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 512,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
          "num_hidden_layers": 2, "vocab_size": 1000})",
      "small");
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return std::move(model).value();
}

inline MadeTables tables_of_small_model() {
  return {{"gemm_perf",
           {made_products({{512, 256}, {256, 256}, {1024, 256}, {256, 512}, {1000, 256}})}},
          {"context_attention_perf", {made_prompts()}},
          {"generation_attention_perf", {made_decoding()}}};
}

}  // namespace assay::plan::compat
