#include "collect/operator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace assay::collect {
namespace {

std::int64_t count(const char* name,
                   const std::function<bool(const Case&)>& wanted = nullptr,
                   Grid grid = Grid::kCommon) {
  const std::vector<Case> cases = cases_of(*find_operator(name), grid, {});
  if (!wanted) return static_cast<std::int64_t>(cases.size());
  return std::count_if(cases.begin(), cases.end(), wanted);
}

bool is_gemm_of(const Case& of, const char* type) {
  return of.text("gemm_dtype") == type;
}

TEST(Operators, GemmTakesAsManyCasesAsThePublicCollector) {
  EXPECT_EQ(count("gemm", [](const Case& of) { return is_gemm_of(of, "bfloat16"); }), 9240);
  EXPECT_EQ(count("gemm", [](const Case& of) { return is_gemm_of(of, "fp8"); }), 9240);
  EXPECT_EQ(count("gemm", [](const Case& of) { return is_gemm_of(of, "fp8_block"); }), 7560);
}

TEST(Operators, ContextAttentionTakesAsManyCasesAsThePublicCollector) {
  const auto has_public_heads = [](const Case& of) { return of.integer("head_dim") <= 128; };
  EXPECT_EQ(count("context_attention", has_public_heads), 50643);
}

}  // namespace
}  // namespace assay::collect
