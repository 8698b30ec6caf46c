// The declared operators: the sizes of their grids, their rows, and the specs of their kernels.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "collect/plan/operator.h"

namespace assay::collect {
namespace {

using Wanted = std::function<bool(const Case&)>;

const Operator& operator_named(std::string_view name) {
  const Operator* found = find_operator(name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

std::int64_t count(std::string_view name, const Wanted& wanted, Grid grid = Grid::kCommon) {
  const std::vector<Case> cases = cases_of(operator_named(name), grid, {});
  return std::count_if(cases.begin(), cases.end(), wanted);
}

std::int64_t count(std::string_view name, Grid grid = Grid::kCommon) {
  return static_cast<std::int64_t>(cases_of(operator_named(name), grid, {}).size());
}

Case only_case(std::string_view name, const std::vector<AxisOverride>& overrides) {
  const std::vector<Case> cases = cases_of(operator_named(name), Grid::kCommon, overrides);
  EXPECT_EQ(cases.size(), 1U);
  return cases.front();
}

AxisOverride number(const char* column, std::int64_t value) {
  return {column, {value}};
}

AxisOverride text(const char* column, const char* value) {
  return {column, {std::string(value)}};
}

Wanted has_type(const char* column, const char* type) {
  return [=](const Case& point) { return point.text(column) == type; };
}

TEST(Operators, GemmTakesTheCasesOfThePublicCollector) {
  EXPECT_EQ(count("gemm", has_type("gemm_dtype", "bfloat16")), 9240);
  EXPECT_EQ(count("gemm", has_type("gemm_dtype", "fp8")), 9240);
  EXPECT_EQ(count("gemm", has_type("gemm_dtype", "fp8_block")), 7560);
  // Only assay has int8 products; the public collector only has int8 weights.
  EXPECT_EQ(count("gemm", has_type("gemm_dtype", "int8")), 9240);
}

TEST(Operators, WeightsInBlocksOfFp8HaveWholeBlocks) {
  const Case point = case_of("gemm gemm_dtype=fp8_block m=16 n=2112 k=7168").value();
  const auto parts = point.op().parts(point);
  const auto& kernel = std::get<GemmSpec>(parts.at(0).kernel);
  EXPECT_EQ(kernel.n, 2176);
  EXPECT_EQ(kernel.k, 7168);
  EXPECT_EQ(parts.at(0).key.at(2).value, model::PerfValue(std::int64_t{2112}));
}

// The public fine grid has 35,742 shapes before its guard of 2^31 elements, which takes out
// m = 32768 with n or k = 65536 (2 x 21 shapes of 22; the pair of both is out already).
TEST(Operators, GemmTakesBothSidesOfEdgesOnTheFineGrid) {
  EXPECT_EQ(count("gemm", has_type("gemm_dtype", "bfloat16"), Grid::kFine), 35742 - 42);
}

TEST(Operators, ContextAttentionTakesTheCasesOfThePublicCollector) {
  const auto heads_of = [](std::int64_t head_dim) {
    return [=](const Case& point) { return point.integer("head_dim") == head_dim; };
  };
  const auto is_oldest =
      [](const Case& point) {  // in the tables of 2025: more than one token, or fewer heads
        return point.integer("head_dim") == 128 && point.integer("isl") > 1 &&
               point.integer("num_heads") > 2;
      };
  EXPECT_EQ(count("context_attention", is_oldest), 14700);
  EXPECT_EQ(count("context_attention", heads_of(64)) + count("context_attention", heads_of(128)),
            50643);
  // Only assay has larger heads. The guard of 2^31 bytes leaves out a few of their longest cases.
  EXPECT_EQ(count("context_attention", heads_of(192)), 16863);
  EXPECT_EQ(count("context_attention", heads_of(256)), 16833);
}

TEST(Operators, GenerationAttentionTakesTheCasesOfThePublicCollector) {
  const auto is_oldest = [](const Case& point) {
    return point.integer("head_dim") == 128 && point.integer("num_heads") > 2;
  };
  const auto is_common = [](const Case& point) { return point.integer("head_dim") <= 128; };
  EXPECT_EQ(count("generation_attention", is_oldest), 10052);
  EXPECT_EQ(count("generation_attention", is_common), 30114);
  // Head sizes 192 and 256, which only assay has, have as many cases as 128.
  EXPECT_EQ(count("generation_attention"), 30114 + 2 * 11150);
}

// Caches of 128 requests of 8,192 tokens, which the public collector does not measure.
TEST(Operators, DecodingForModelsReachesTheCachesThatServersHave) {
  const Operator& op = operator_named("generation_attention");
  const std::vector<AxisOverride> heads = {
      {"num_heads", {std::int64_t{64}}},         {"num_key_value_heads", {std::int64_t{8}}},
      {"head_dim", {std::int64_t{128}}},         {"window_size", {std::int64_t{0}}},
      {"attn_dtype", {std::string("bfloat16")}}, {"kv_cache_dtype", {std::string("bfloat16")}}};
  const auto longest = [&](Grid grid, std::int64_t batch) {
    std::int64_t step = 0;
    for (const Case& point : cases_of(op, grid, heads))
      if (point.integer("batch_size") == batch) step = std::max(step, point.integer("step"));
    return step;
  };
  EXPECT_EQ(longest(Grid::kCommon, 128), 2047);
  EXPECT_EQ(longest(Grid::kModels, 128), 8191);
  EXPECT_EQ(longest(Grid::kModels, 256), 4095);
  EXPECT_EQ(longest(Grid::kModels, 1), 131071);
}

TEST(Operators, LatentAttentionTakesTheCasesOfThePublicCollector) {
  EXPECT_EQ(count("context_mla"), 1760);
  EXPECT_EQ(count("generation_mla"), 2896);
  EXPECT_EQ(count("mla_bmm_gen_pre"), 400);
  EXPECT_EQ(count("mla_bmm_gen_post"), 448);
}

TEST(Operators, EncoderAttentionTakesTheCasesOfThePublicCollector) {
  EXPECT_EQ(count("encoder_attention"), 7679);
}

// A public task is a model, tp, ep, type and distribution with all 30 token counts: 2,877. Of
// them 693 are of Nemotron 3 (77 settings x 3 types x 3 distributions), whose experts have no gate
// and so need another kernel. gpt-oss has one type there, 4-bit; here it has bfloat16 as well,
// which makes 71 settings x 3 distributions more.
TEST(Operators, MoeTakesTheCasesOfThePublicCollector) {
  EXPECT_EQ(count("moe", [](const Case& point) { return point.integer("num_tokens") == 1; }),
            2877 - 693 + 213);
  EXPECT_EQ(count("moe"), (2877 - 693 + 213) * 30);
}

TEST(Operators, ComputeScaleTakesTheCasesOfThePublicCollector) {
  EXPECT_EQ(count("compute_scale"), 441);
  EXPECT_EQ(count("compute_scale", Grid::kFine), 1628);
}

TEST(Operators, CollectivesTakeTheCasesOfThePublicCollector) {
  const auto is_ring = [](const Case& point) { return point.text("op_name") == "send_recv"; };
  EXPECT_EQ(count("nccl", is_ring), 126);  // only in assay
  EXPECT_EQ(count("nccl"), 504 + 126);
  EXPECT_EQ(count("custom_allreduce"), 69);
}

// Prompts: 16 lengths of up to 8 requests, and up to 262,144 tokens of more; decoding: 11 batches;
// for the heads of Qwen3-Next on 1, 2, 4 and 8 GPUs.
TEST(Operators, LinearAttentionTakesPromptsAndSingleTokens) {
  const auto is_generation = [](const Case& point) { return point.text("phase") == "generation"; };
  EXPECT_EQ(count("gdn", is_generation), 4 * 11);
  EXPECT_EQ(count("gdn"), 4 * (11 + 4 * 16 + 15 + 14 + 13));
}

TEST(Operators, ACoarseSweepOfAllIsShort) {
  std::int64_t all = 0;
  for (const Operator* op : all_operators())
    all += count(op->name, Grid::kCoarse);
  EXPECT_GT(all, 10000);
  EXPECT_LT(all, 20000);
}

// Coarse points are common points, so that interpolation between them can be compared with
// measurements.
TEST(Operators, HaveTheirCoarseCasesInTheCommonGridToo) {
  for (const Operator* op : all_operators()) {
    std::set<std::vector<model::PerfValue>> common;
    for (const Case& one : cases_of(*op, Grid::kCommon, {}))
      common.insert(one.values());
    for (const Case& one : cases_of(*op, Grid::kCoarse, {})) {
      EXPECT_EQ(common.count(one.values()), 1U) << one.id();
    }
  }
}

TEST(Operators, AreFoundByThePublicNamesToo) {
  EXPECT_STREQ(operator_named("attention_context").name, "context_attention");
  EXPECT_STREQ(operator_named("mla_generation").name, "generation_mla");
  EXPECT_EQ(find_operator("attention"), nullptr);
}

std::string columns_of(const Part& part) {
  std::string made = part.table + "/" + part.op_name + ":";
  for (const model::PerfField& field : part.key)
    made += " " + field.column;
  return made;
}

TEST(Operators, HaveTheColumnsOfThePublicTables) {
  std::set<std::string> found;
  for (const Operator* op : all_operators()) {
    for (const Case& one : cases_of(*op, Grid::kCoarse, {})) {
      for (const Part& part : op->parts(one))
        found.insert(columns_of(part));
    }
  }
  const std::string attention =
      " batch_size isl num_heads num_key_value_heads head_dim window_size beam_width attn_dtype "
      "kv_cache_dtype step";
  const std::string mla = " mla_dtype kv_cache_dtype num_heads batch_size isl tp_size step";
  std::set<std::string> expected = {
      "gemm_perf/gemm: gemm_dtype m n k",
      "context_attention_perf/context_attention:" + attention,
      "generation_attention_perf/generation_attention:" + attention,
      "encoder_attention_perf/encoder_attention: batch_size isl num_heads head_dim attn_dtype",
      "context_mla_perf/mla_context:" + mla,
      "generation_mla_perf/mla_generation:" + mla,
      "mla_bmm_perf/mla_gen_pre: bmm_dtype num_tokens num_heads",
      "mla_bmm_perf/mla_gen_post: bmm_dtype num_tokens num_heads",
      "moe_perf/moe: moe_dtype num_tokens hidden_size inter_size topk num_experts moe_tp_size "
      "moe_ep_size distribution",
      "computescale_perf/compute_scale: m k quant_dtype",
      "scale_matrix_perf/scale_matrix: m k quant_dtype",
      "gdn_perf/gdn_conv: phase batch_size seq_len d_model d_conv num_k_heads head_k_dim "
      "num_v_heads head_v_dim",
      "gdn_perf/gdn_rule: phase batch_size seq_len d_model d_conv num_k_heads head_k_dim "
      "num_v_heads head_v_dim",
      "custom_allreduce_perf/all_reduce: allreduce_dtype num_gpus message_size implementation",
      "decode_layer_perf/decode_layer: model tp_size moe_ep_size quantization kv_cache_dtype "
      "batch_size step"};
  for (const char* name :
       {"rms_norm", "add_rms_norm", "silu_mul", "embedding", "add", "copy", "read"}) {
    expected.insert(fmt::format("memory_op_perf/{}: dtype rows columns vocabulary", name));
  }
  for (const char* name : {"launch", "host_to_device", "device_to_host"}) {
    expected.insert(fmt::format("transfer_perf/{}: bytes", name));
  }
  for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "send_recv"}) {
    expected.insert(fmt::format("nccl_perf/{}: nccl_dtype num_gpus message_size", name));
  }
  EXPECT_EQ(found, expected);
}

TEST(Operators, CostSomethingInEveryCase) {
  for (const Operator* op : all_operators()) {
    for (const Case& one : cases_of(*op, Grid::kCoarse, {})) {
      const Cost cost = op->cost(one);
      const bool moves_nothing = op->name == std::string_view("launch");
      ASSERT_TRUE((cost.bytes > 0) != moves_nothing && std::isfinite(cost.bytes)) << one.id();
      ASSERT_TRUE(cost.flops >= 0 && std::isfinite(cost.flops)) << one.id();
      ASSERT_EQ(cost.link_bytes > 0, op->ranks_axis >= 0) << one.id();
    }
  }
}

TEST(Operators, ListTheValuesOfTheirGroups) {
  for (const Operator* op : all_operators()) {
    for (const Grid grid : {Grid::kCoarse, Grid::kCommon, Grid::kFine}) {
      std::map<std::string, std::set<model::PerfValue>> used;
      for (const Case& one : cases_of(*op, grid, {})) {
        for (std::size_t i = 0; i < op->axes.size(); ++i) {
          used[op->axes[i].column].insert(one.values()[i]);
        }
      }
      for (const Axis& axis : op->axes) {
        const auto& listed = axis.values(grid);
        const std::set<model::PerfValue> values(listed.begin(), listed.end());
        const auto& taken = used[axis.column];
        EXPECT_TRUE(std::includes(values.begin(), values.end(), taken.begin(), taken.end()))
            << op->name << " " << axis.column;
      }
    }
  }
}

TEST(Operators, TakeTheirOwnValuesAsOverrides) {
  for (const Operator* op : all_operators()) {
    for (const Axis& axis : op->axes) {
      for (const Grid grid : {Grid::kCoarse, Grid::kCommon, Grid::kFine}) {
        EXPECT_TRUE(check_override(*op, {axis.column, axis.values(grid)}).ok())
            << op->name << " " << axis.column;
      }
    }
  }
}

TEST(Operators, TakeSensibleOverridesOnly) {
  const Operator& moe = operator_named("moe");
  EXPECT_TRUE(check_override(moe, text("distribution", "power_law_0.5")).ok());
  for (const char* wrong :
       {"power_law_", "power_law_x", "power_law_1.2x", "power_law_nan", "even"}) {
    EXPECT_FALSE(check_override(moe, text("distribution", wrong)).ok()) << wrong;
  }
  EXPECT_FALSE(check_override(operator_named("nccl"), text("op_name", "broadcast")).ok());
  EXPECT_FALSE(check_override(operator_named("nccl"), number("num_gpus", 1)).ok());
  EXPECT_TRUE(check_override(operator_named("context_attention"), number("step", 0)).ok());
  EXPECT_FALSE(check_override(operator_named("copy"), number("vocabulary", 5)).ok());
  EXPECT_TRUE(check_override(operator_named("gemm"), text("gemm_dtype", "float32")).ok());
}

template <class Spec>
Spec kernel_of(const Case& point) {
  return std::get<Spec>(point.op().parts(point).front().kernel);
}

TEST(Operators, GenerationReadsTheTokensOfItsWindowAlone) {
  const auto spec_of = [](std::int64_t step) {
    return kernel_of<AttentionSpec>(only_case(
        "generation_attention",
        {number("batch_size", 2), number("num_heads", 32), number("num_key_value_heads", 8),
         number("head_dim", 128), number("window_size", 1024), text("attn_dtype", "bfloat16"),
         text("kv_cache_dtype", "bfloat16"), number("step", step)}));
  };
  EXPECT_EQ(spec_of(8191).kv_length, 1024);
  EXPECT_EQ(spec_of(8191).window, 0);
  EXPECT_EQ(spec_of(511).kv_length, 512);
}

TEST(Operators, GenerationCountsTheNewTokenInTheLength) {
  const Case made =
      only_case("generation_attention",
                {number("batch_size", 2), number("num_heads", 32), number("num_key_value_heads", 8),
                 number("head_dim", 128), number("window_size", 0), text("attn_dtype", "bfloat16"),
                 text("kv_cache_dtype", "fp8"), number("step", 4095)});
  const auto spec = kernel_of<AttentionSpec>(made);
  EXPECT_EQ(spec.query_length, 1);
  EXPECT_EQ(spec.kv_length, 4096);
  EXPECT_EQ(spec.kv_type, DataType::kFp8);
  EXPECT_EQ(spec.type, DataType::kBfloat16);
  EXPECT_EQ(spec.page_size, 64);
  EXPECT_EQ(made.op().parts(made).front().key[6],
            (model::PerfField{"beam_width", std::int64_t{1}}));
}

TEST(Operators, LatentDecodingHasOneHeadOfKeysThatAreItsValues) {
  const Case made =
      only_case("generation_mla", {number("batch_size", 4), number("step", 1023),
                                   text("kv_cache_dtype", "bfloat16"), number("tp_size", 8)});
  const auto spec = kernel_of<AttentionSpec>(made);
  EXPECT_EQ(spec.heads, 16);
  EXPECT_EQ(spec.kv_heads, 1);
  EXPECT_EQ(spec.head_dim, 576);
  EXPECT_EQ(spec.value_dim, 512);
  EXPECT_TRUE(spec.values_in_keys);
}

TEST(Operators, EncodersAttendToAllTokens) {
  const Case made =
      only_case("encoder_attention", {number("batch_size", 2), number("isl", 1500),
                                      number("num_heads", 20), number("head_dim", 64)});
  const auto spec = kernel_of<AttentionSpec>(made);
  EXPECT_FALSE(spec.causal);
  EXPECT_EQ(spec.kv_heads, 20);
  EXPECT_EQ(spec.query_length, 1500);
  EXPECT_EQ(spec.kv_length, 1500);
  EXPECT_EQ(made.op().cost(made).flops, 4.0 * 2 * 20 * 64 * 1500 * 1500);
}

TEST(Operators, LatentProductsGoIntoTheLatentSpaceAndOutOfIt) {
  const auto spec = [](const char* name) {
    return kernel_of<GemmSpec>(only_case(
        name, {text("bmm_dtype", "fp8"), number("num_tokens", 7), number("num_heads", 16)}));
  };
  EXPECT_EQ(spec("mla_bmm_gen_pre").k, 128);
  EXPECT_EQ(spec("mla_bmm_gen_pre").n, 512);
  EXPECT_EQ(spec("mla_bmm_gen_post").k, 512);
  EXPECT_EQ(spec("mla_bmm_gen_post").n, 128);
  EXPECT_EQ(spec("mla_bmm_gen_post").batch, 16);
}

TEST(Operators, MoeReadsTheExponentFromTheDistribution) {
  const std::vector<AxisOverride> shape = {
      text("moe_dtype", "fp8"),  number("num_tokens", 5),  number("hidden_size", 512),
      number("inter_size", 512), number("topk", 2),        number("num_experts", 16),
      number("moe_tp_size", 1),  number("moe_ep_size", 2), text("distribution", "power_law_1.01")};
  const auto spec = kernel_of<MoeSpec>(only_case("moe", shape));
  EXPECT_EQ(spec.routing, Routing::kPowerLaw);
  EXPECT_EQ(spec.exponent, 1.01);
  EXPECT_EQ(spec.ep, 2);
}

TEST(Operators, ComputeScaleIsATimeLessAnother) {
  const Case made = only_case("compute_scale", {number("m", 128), number("k", 2560)});
  const std::vector<Part> parts = made.op().parts(made);
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_TRUE(parts[0].less);
  EXPECT_EQ(std::get<QuantizeSpec>(parts[0].kernel).scale, QuantizeSpec::Scale::kComputed);
  EXPECT_EQ(std::get<QuantizeSpec>(*parts[0].less).scale, QuantizeSpec::Scale::kGiven);
  EXPECT_FALSE(parts[1].less);
  EXPECT_EQ(std::get<QuantizeSpec>(parts[1].kernel).scale, QuantizeSpec::Scale::kGiven);
}

TEST(Operators, LinearAttentionIsAConvolutionAndADeltaRule) {
  const auto made = [](const char* phase, std::int64_t length) {
    return only_case("gdn",
                     {text("phase", phase), number("batch_size", 3), number("seq_len", length),
                      number("num_k_heads", 4), number("num_v_heads", 8)});
  };
  const Case prompt = made("context", 100);
  const std::vector<Part> parts = prompt.op().parts(prompt);
  ASSERT_EQ(parts.size(), 2U);
  const auto convolution = std::get<DeltaNetSpec>(parts[0].kernel);
  const auto rule = std::get<DeltaNetSpec>(parts[1].kernel);
  EXPECT_EQ(convolution.part, DeltaNetSpec::Part::kConvolution);
  EXPECT_EQ(convolution.taps, 4);
  EXPECT_EQ(rule.part, DeltaNetSpec::Part::kRule);
  EXPECT_EQ(rule.phase, DeltaNetSpec::Phase::kPrompt);
  EXPECT_EQ(rule.batch, 3);
  EXPECT_EQ(rule.length, 100);
  EXPECT_EQ(rule.key_heads, 4);
  EXPECT_EQ(rule.value_heads, 8);
  EXPECT_EQ(kernel_of<DeltaNetSpec>(made("generation", 1)).phase, DeltaNetSpec::Phase::kDecode);
}

TEST(Operators, CollectivesCountElementsOfTheWholeBuffer) {
  const Case made = only_case("nccl", {text("op_name", "all_gather"), text("nccl_dtype", "float16"),
                                       number("num_gpus", 4), number("message_size", 1024)});
  EXPECT_EQ(made.id(), "nccl op_name=all_gather nccl_dtype=half num_gpus=4 message_size=1024");
  const auto spec = kernel_of<CollectiveSpec>(made);
  EXPECT_EQ(spec.elements, 1024);
  EXPECT_EQ(spec.ranks, 4);
  EXPECT_EQ(spec.function, model::NcclFunction::kAllGather);
}

TEST(Operators, ALaunchMovesNothing) {
  const Case launch = only_case("launch", {});
  EXPECT_EQ(kernel_of<TransferSpec>(launch).kind, TransferSpec::Kind::kLaunch);
  EXPECT_EQ(kernel_of<TransferSpec>(launch).bytes, 0);
  const Case copy = only_case("device_to_host", {number("bytes", 4096)});
  EXPECT_EQ(kernel_of<TransferSpec>(copy).kind, TransferSpec::Kind::kDeviceToHost);
  EXPECT_EQ(kernel_of<TransferSpec>(copy).bytes, 4096);
}

TEST(Operators, SkipTransfersOnACpu) {
  DeviceFacts cpu;
  cpu.kind = "cpu";
  for (const char* name : {"launch", "host_to_device", "device_to_host"}) {
    const Case one = cases_of(operator_named(name), Grid::kCoarse, {}).front();
    EXPECT_EQ(one.op().skip(one, cpu), "a CPU has no launches and no bus to copy over");
  }
}

TEST(Operators, SkipWhatTheDeviceHasNot) {
  const Case made = only_case(
      "gemm", {text("gemm_dtype", "fp8"), number("m", 1), number("n", 128), number("k", 128)});
  DeviceFacts ampere;
  ampere.kind = "cuda";
  ampere.sm_version = 80;
  EXPECT_EQ(made.op().skip(made, ampere), "fp8 needs compute capability 8.9, this device has 8.0");
}

TEST(Operators, EveryCaseHasANameOfItsOwn) {
  std::set<std::string> names;
  std::int64_t cases = 0;
  for (const Operator* op : all_operators()) {
    for (const Case& one : cases_of(*op, Grid::kCoarse, {})) {
      names.insert(one.id());
      ++cases;
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(names.size()), cases);
}

std::vector<KernelSpec> kernels_of_layer(const char* model,
                                         std::int64_t tp,
                                         const char* weights,
                                         std::int64_t batch,
                                         std::int64_t ep = 1,
                                         std::int64_t step = 4095) {
  const Case layer = only_case(
      "decode_layer", {text("model", model), number("tp_size", tp), number("moe_ep_size", ep),
                       text("quantization", weights), text("kv_cache_dtype", "bfloat16"),
                       number("batch_size", batch), number("step", step)});
  const std::vector<Part> parts = layer.op().parts(layer);
  EXPECT_EQ(parts.size(), 1U);
  std::vector<KernelSpec> kernels = {parts[0].kernel};
  kernels.insert(kernels.end(), parts[0].then.begin(), parts[0].then.end());
  return kernels;
}

TEST(Operators, ALayerHasTheKernelsOfItsModelInTheirOrder) {
  const auto kernels = kernels_of_layer("llama-3.1-70b", 4, "fp8", 16);
  ASSERT_EQ(kernels.size(), 8U);  // and no all-reduce
  EXPECT_EQ(std::get<MemorySpec>(kernels[0]).kind, MemorySpec::Kind::kAddRmsNorm);
  EXPECT_EQ(std::get<MemorySpec>(kernels[0]).rows, 16);
  const auto& qkv = std::get<GemmSpec>(kernels[1]);
  EXPECT_EQ(qkv.m, 16);
  EXPECT_EQ(qkv.n, (64 + 2 * 8) / 4 * 128);
  EXPECT_EQ(qkv.k, 8192);
  EXPECT_EQ(qkv.type, DataType::kFp8);
  const auto& attention = std::get<AttentionSpec>(kernels[2]);
  EXPECT_EQ(attention.heads, 16);
  EXPECT_EQ(attention.kv_heads, 2);
  EXPECT_EQ(attention.batch, 16);
  EXPECT_EQ(attention.kv_length, 4096);
  EXPECT_GT(attention.page_size, 0);
  EXPECT_EQ(std::get<MemorySpec>(kernels[6]).kind, MemorySpec::Kind::kSiluMul);
  EXPECT_EQ(std::get<MemorySpec>(kernels[6]).columns, 28672 / 4);
  EXPECT_EQ(std::get<GemmSpec>(kernels[7]).k, 28672 / 4);
}

// 9000 tokens are a chunk of 8192 and 808 of the next.
TEST(Operators, ALayerThatAttendsToChunksReadsTheKeysOfOne) {
  const auto kernels = kernels_of_layer("llama-4-scout", 4, "bfloat16", 1, 1, 9000);
  const auto& attention = std::get<AttentionSpec>(kernels[2]);
  EXPECT_EQ(attention.kv_length, 808 + 1);
  EXPECT_EQ(attention.window, 0);
}

// Most layers of DeepSeek-V3 have experts, most of Qwen3-Next have linear attention.
TEST(Operators, ALayerIsOfTheKindThatTheModelHasMostOf) {
  const auto has_kind = [](const std::vector<KernelSpec>& kernels, std::size_t kind) {
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](const KernelSpec& kernel) { return kernel.index() == kind; });
  };
  const std::size_t moe = KernelSpec(MoeSpec{}).index();
  const std::size_t net = KernelSpec(DeltaNetSpec{}).index();
  const std::size_t attention = KernelSpec(AttentionSpec{}).index();
  const auto deepseek = kernels_of_layer("deepseek-v3", 8, "fp8_block", 128);
  EXPECT_TRUE(has_kind(deepseek, moe));
  EXPECT_TRUE(has_kind(deepseek, attention));
  const auto next = kernels_of_layer("qwen3-next-80b-a3b", 2, "bfloat16", 1);
  EXPECT_TRUE(has_kind(next, moe));
  EXPECT_TRUE(has_kind(next, net));
  EXPECT_FALSE(has_kind(next, attention));
}

// The experts of a GPU get the tokens of all 8 groups, each of which is one GPU.
TEST(Operators, ExpertsOfALayerGetTheTokensOfAllGroups) {
  for (const KernelSpec& kernel : kernels_of_layer("deepseek-v3", 1, "fp8_block", 16, 8)) {
    if (const auto* moe = std::get_if<MoeSpec>(&kernel)) {
      EXPECT_EQ(moe->tokens, 16 * 8);
      EXPECT_EQ(moe->ep, 8);
      EXPECT_EQ(moe->tp, 1);
    }
    if (const auto* product = std::get_if<GemmSpec>(&kernel)) {
      EXPECT_EQ(product->m, 16);
    }
  }
}

TEST(Operators, LayersAreFewAndOfEveryModel) {
  std::map<std::string, std::set<std::string>> swept;
  for (const Case& layer : cases_of(operator_named("decode_layer"), Grid::kModels, {}))
    swept[layer.text("model")].insert(
        fmt::format("{} on {}", layer.text("quantization"), layer.integer("tp_size")));
  EXPECT_EQ(swept.size(), operator_named("decode_layer").axes[0].common.size());
  EXPECT_EQ(swept["llama-3.1-8b"], (std::set<std::string>{"bfloat16 on 1", "fp8 on 1"}));
  EXPECT_EQ(swept["llama-3.1-405b"], (std::set<std::string>{"bfloat16 on 8", "fp8 on 4"}));
  EXPECT_EQ(swept["deepseek-v3"], (std::set<std::string>{"fp8_block on 8"}));
  EXPECT_EQ(swept["gpt-oss-120b"], (std::set<std::string>{"bfloat16 on 2", "w4a16_mxfp4 on 1"}));
  EXPECT_LE(count("decode_layer", Grid::kModels), 150);
}

TEST(Operators, EveryLayerOfASweepCanRunOnAnH200) {
  DeviceFacts h200;
  h200.kind = "cuda";
  h200.sm_version = 90;
  h200.memory_bytes = 140'000'000'000;
  for (const Case& layer : cases_of(operator_named("decode_layer"), Grid::kCommon, {})) {
    EXPECT_EQ(layer.op().skip(layer, h200).value_or(""), "") << layer.id();
    const Cost cost = layer.op().cost(layer);
    EXPECT_GT(cost.bytes, 10e6) << layer.id();
    EXPECT_GT(cost.flops, 0) << layer.id();
  }
}

TEST(Operators, LayersThatNobodyServesSayWhy) {
  const auto reason = [&](const char* model, std::int64_t tp, std::int64_t ep, const char* kind) {
    const Case layer = only_case(
        "decode_layer", {text("model", model), number("tp_size", tp), number("moe_ep_size", ep),
                         text("quantization", "fp8_block"), text("kv_cache_dtype", "bfloat16"),
                         number("batch_size", 1), number("step", 4095)});
    DeviceFacts facts;
    facts.kind = kind;
    facts.sm_version = 90;
    return layer.op().skip(layer, facts).value_or("");
  };
  EXPECT_EQ(reason("deepseek-v3", 8, 1, "cuda"), "");
  EXPECT_EQ(reason("deepseek-v3", 8, 1, "cpu"), "a CPU has no graphs of kernels");
  EXPECT_NE(reason("qwen3-235b-a22b", 8, 1, "cuda").find("cuts the blocks"), std::string::npos);
  EXPECT_EQ(reason("llama-3.1-8b", 1, 8, "cuda"), "a model without experts has none to share out");
  EXPECT_EQ(reason("deepseek-v3", 2, 3, "cuda"),
            "neither tp_size nor moe_ep_size divides the other");
}

}  // namespace
}  // namespace assay::collect
