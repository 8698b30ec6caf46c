#include <gtest/gtest.h>

#include "trace/perf/model_test_util.h"
#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

// The figures of the compat mode are those of the public tool for the same calls.
constexpr RecordedCall kElementwise = {
    .name = "triton_poi_fused__unsafe_view_mul_silu_2",
    .dims = "[[8, 4], [8, 4], []]",
    .types = R"(["c10::BFloat16", "c10::BFloat16", "Scalar"])",
    .concrete = R"(["", "", "32"])",
};

TEST(Triton, AddsUpTheOperatorsOfTheName) {
  const Estimate e = estimate(kElementwise);
  EXPECT_EQ(parameter_text(e),
            "fused_ops='aten._unsafe_view, aten.mul, aten.silu' xnumel=32 rnumel=1");
  EXPECT_EQ(e.work.flops, (1 + 4) * 32);
  EXPECT_EQ(e.work.bytes, 2 * 32 * 2);
  EXPECT_EQ(e.compute_spec, "vector_bf16");

  RecordedCall call = kElementwise;
  call.compat = Compat::kTraceLens;
  EXPECT_EQ(estimate(call).work.bytes, 3 * 32 * 2);
  EXPECT_EQ(estimate(call).compute_spec, "vector_bfloat16");
}

TEST(Triton, ReadsEveryElementOfAReduction) {
  const Estimate e = estimate({.name = "triton_red_fused_add_mean_mul_pow_rsqrt_1",
                               .dims = "[[4, 16], [4], [], []]",
                               .types = R"(["float", "float", "Scalar", "Scalar"])",
                               .concrete = R"(["", "", "4", "16"])"});
  EXPECT_EQ(parameter_text(e),
            "fused_ops='aten.add, aten.mean, aten.mul, aten.pow, aten.rsqrt' xnumel=4 rnumel=16");
  EXPECT_EQ(e.work.flops, (1 + 1 + 1 + 2 + 2) * 64);
  EXPECT_EQ(e.work.bytes, (64 + 4) * 4);
}

TEST(Triton, TellsUnderscoresOfNamesFromThoseBetweenThem) {
  for (const auto& [name, operators] : std::initializer_list<std::pair<const char*, const char*>>{
           {"triton_poi_fused_add_native_dropout_backward_threshold_backward_7",
            "aten.add, aten.native_dropout_backward, aten.threshold_backward"},
           {"triton_per_fused__softmax__to_copy_12", "aten._softmax, aten._to_copy"},
           {"triton_poi_fused_copy__3", "aten.copy_"},
           {"triton_poi_fused_add_12", "aten.add"},
           {"triton_poi_add_12", ""}}) {
    RecordedCall call = kElementwise;
    call.name = name;
    EXPECT_EQ(estimate(call).parameters[0].value.text()->c_str(), std::string(operators)) << name;
  }
}

TEST(Triton, HasNoModelWithoutRecordedSizes) {
  testing::SmallTrace small;
  small.op({.name = "triton_poi_fused_add_0", .start = 0, .duration = 10});
  small.launch("triton_poi_fused_add_0", 1, 1, 5);
  small.op({.name = "triton_poi_fused_add_0",
            .start = 20,
            .duration = 10,
            .arguments = R"("Input Dims": [[4], []], "Input type": ["float", "Scalar"],
                            "Concrete Inputs": ["", "4"])"});
  small.launch("triton_poi_fused_add_0", 1, 21, 4);
  const model::Trace trace = small.read();
  const model::Book book = individual_report(analyze_rank(trace, {}, 0));
  const model::Table* table = book.find("unified_perf_summary");
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->row_count(), 2U);
  const std::size_t modelled = table->columns.size() - 3;
  ASSERT_EQ(table->columns[modelled].name, "has_perf_model");
  EXPECT_EQ(model::text(table->at(0, 1)), "triton");
  EXPECT_EQ(table->at(0, modelled), model::Cell{false});
  EXPECT_EQ(table->at(1, modelled), model::Cell{true});
  EXPECT_TRUE(table->notes.empty());
}

}  // namespace
}  // namespace assay::trace
