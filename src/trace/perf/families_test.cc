// Tests the families that the sample traces do not contain, and the registry as a whole.
#include <fstream>
#include <sstream>

#include "trace/perf/model_test_util.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

constexpr std::string_view kBf16 = R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])";

TEST(GroupedGemm, GivesEachRowItsGroupsMatrix) {
  const Estimate e = estimate(
      {.name = "primus_turbo::grouped_gemm", .dims = "[[10, 3], [4, 3, 5], [4]]", .types = kBf16});
  EXPECT_EQ(e.work.flops, 2 * 10 * 3 * 5);
  EXPECT_EQ(e.work.bytes, 2 * (10 * 3 + 4 * 3 * 5) + 2 * 10 * 5);
  EXPECT_EQ(parameter_text(e), "M=10 K=3 N=5 G=4 bpe_in=2 bpe_out=2");

  const Estimate transposed = estimate({.name = "primus_turbo::grouped_gemm_impl",
                                        .dims = "[[10, 3], [4, 5, 3], [4]]",
                                        .types = kBf16});
  EXPECT_EQ(transposed.work.flops, e.work.flops);
}

TEST(GroupedGemm, SumsGroupsOfDifferentSizes) {
  const Estimate e = estimate({.name = "primus_turbo::grouped_gemm_variable_k",
                               .dims = "[[[2, 3], [4, 5]], [[3, 7], [5, 1]]]",
                               .types = kBf16});
  EXPECT_EQ(e.work.flops, 2 * (2 * 3 * 7 + 4 * 5 * 1));
  EXPECT_EQ(e.work.bytes, 2 * (2 * 3 + 3 * 7 + 2 * 7 + 4 * 5 + 5 * 1 + 4 * 1));
}

TEST(Rope, RotatesPairs) {
  const Estimate e =
      estimate({.name = "FusedRoPEFunc", .dims = "[[8, 2, 4, 6], [8, 1, 1, 6]]", .types = kBf16});
  EXPECT_EQ(e.work.flops, 3 * 8 * 2 * 4 * 6);
  EXPECT_EQ(e.work.bytes, 2 * 2 * 8 * 2 * 4 * 6);
}

TEST(CrossEntropy, ReadsEveryLogitOnce) {
  const RecordedCall call = {
      .name = "CrossEntropyFunction", .dims = "[[4, 2, 100], [4, 2]]", .types = kBf16};
  EXPECT_EQ(estimate(call).work.flops, 5 * 8 * 100);
  EXPECT_EQ(estimate(call).work.bytes, 8 * 100 * 2 + 8 * 8 + 8 * 4);
}

TEST(MixtureOfExperts, MovesTokens) {
  const Estimate e = estimate({.name = "MoEDispatch", .dims = "[[16, 32]]", .types = kBf16});
  EXPECT_EQ(e.work.flops, 0);
  EXPECT_EQ(e.work.bytes, 16 * 32 * 2);
  EXPECT_EQ(e.compute_spec, "");
  EXPECT_EQ(e.backward_work->bytes, 16 * 32 * 2);
}

TEST(MixtureOfExperts, ReadsTheExpertsThatTokensChose) {
  // One token choosing 2 of 4 experts reads 2 experts: 1 - (2/4)^1 of 4.
  const Estimate e =
      estimate({.name = "aiter::fmoe_g1u1",
                .dims = "[[1, 8], [1, 8], [4, 20, 8], [4, 8, 10], [], [], [], [], []]",
                .types = R"(["c10::BFloat16", "c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"])",
                .concrete = R"(["", "", "", "", "", "", "", "", "2"])"});
  EXPECT_EQ(e.work.flops, 2 * 2 * 8 * 10 * 3 + 8 * (2 * 2 - 1));
  EXPECT_EQ(e.work.bytes, 8 * (1 + 2) + 2 * (3 * 8 * 10));
  EXPECT_EQ(e.compute_spec, "matrix_fp8");
}

TEST(MixtureOfExperts, RunsInTwoStages) {
  const Estimate up = estimate(
      {.name = "aiter::ck_moe_stage1",
       .dims = "[[1, 8], [4, 20, 8], [4, 8, 10], [], [], [], [1, 2, 10], []]",
       .types =
           R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "", "", "c10::BFloat16"])",
       .concrete = R"(["", "", "", "", "", "", "", "2"])"});
  EXPECT_EQ(up.work.flops, 2 * 2 * 8 * 10 * 2);
  EXPECT_EQ(up.work.bytes, 2 * (8 + 2 * 80 * 2 + 2 * 10));
  const Estimate down = estimate(
      {.name = "aiter::ck_moe_stage2",
       .dims = "[[1, 2, 10], [4, 20, 8], [4, 8, 10], [], [], [], [1, 8], []]",
       .types =
           R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "", "", "c10::BFloat16"])",
       .concrete = R"(["", "", "", "", "", "", "", "2"])"});
  EXPECT_EQ(down.work.flops, 2 * 2 * 8 * 10);
  EXPECT_EQ(down.work.bytes, 2 * (2 * 10 + 2 * 80 + 8));
}

TEST(StateSpace, ConvolvesEachChannel) {
  const Estimate e = estimate({.name = "DaoAILab::_causal_conv1d_fwd_cpp",
                               .dims = "[[2, 3, 10], [3, 4], [3]]",
                               .types = kBf16});
  EXPECT_EQ(e.work.flops, 2 * 2 * 3 * 10 * 4);
  EXPECT_EQ(e.work.bytes, 2 * (2 * 60 + 12 + 3));
}

TEST(StateSpace, ScansInChunks) {
  // H=2, P=4: inner 8; D = 2*8 + 2*1*N + 2 with N=5: 28; channels 8 + 2*5 = 18.
  const Estimate e = estimate(
      {.name = "MambaSplitConv1dScanCombinedFn",
       .dims = "[[1, 16, 28], [18, 4], [18], [2], [2], [2]]",
       .types = R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "float", "float"])",
       .concrete = R"(["", "", "", "", "", "", "8", "", "", "", "", "", "", "", "", "4", "1"])"});
  EXPECT_EQ(e.work.flops, 2 * 16 * (18 * 4 + 8 * 5 + 8 * 8 + 2 * 5 * 8));
  EXPECT_EQ(e.work.bytes, 2 * (16 * 28 + 18 * 4 + 18 + 16 * 8) + 2 * 3 * 4);
}

TEST(Categories, AreThoseOfTheFamilies) {
  EXPECT_EQ(op_category("aten::mm", "", Compat::kNone), "GEMM");
  EXPECT_EQ(op_category("triton_poi_fused_add_0", "", Compat::kNone), "triton");
  EXPECT_EQ(op_category("record_param_comms", "", Compat::kNone), "record_param_comms");
  EXPECT_EQ(
      op_category("aten::gelu", "void at::native::vectorized_elementwise_kernel<4>", Compat::kNone),
      "elementwise");
  EXPECT_EQ(op_category("x", "void at::native::reduce_kernel<512>", Compat::kNone), "reduce");
  EXPECT_EQ(op_category("aten::_foreach_add_",
                        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<x>",
                        Compat::kNone),
            "multi_tensor_apply");
  EXPECT_EQ(op_category("x", "elementwise_kernel", Compat::kNone), "other");
}

TEST(Categories, KnowAttentionLeavesExceptInCompatMode) {
  EXPECT_EQ(op_category("aten::_flash_attention_forward", "k", Compat::kNone), "SDPA_fwd");
  EXPECT_EQ(op_category("aten::_cudnn_attention_backward", "k", Compat::kNone), "SDPA_bwd");
  EXPECT_EQ(op_category("aten::_flash_attention_forward", "k", Compat::kTraceLens), "other");
}

// Takes the next field of a CSV line, which may be quoted.
std::string next_field(std::istringstream& line) {
  std::string field;
  if (line.peek() == '"') {
    line.get();
    std::getline(line, field, '"');
    line.get();
  } else {
    std::getline(line, field, ',');
  }
  return field;
}

TEST(Categories, MatchTheReferenceTable) {
  std::ifstream table(ASSAY_SOURCE_DIR "/tests/data/operator_categories.csv");
  std::string text;
  std::getline(table, text);
  int rows = 0;
  while (std::getline(table, text)) {
    std::istringstream line(text);
    const std::string name = next_field(line);
    const std::string category = next_field(line);
    // The table lists this operator twice with two categories; the later row is right.
    if (name == "aiter::fused_dynamic_mxfp4_quant_moe_sort_hip" && category == "GroupQuant")
      continue;
    EXPECT_EQ(op_category(name, "", Compat::kTraceLens), category) << name;
    const std::string sheet = next_field(line);
    const OperatorFamily* family = operator_family(name);
    if (family != nullptr && family->model != nullptr) {
      EXPECT_EQ(family->sheet, sheet) << name;
    }
    ++rows;
  }
  EXPECT_GT(rows, 290);
}

}  // namespace
}  // namespace assay::trace
