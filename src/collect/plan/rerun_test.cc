#include "collect/plan/rerun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace assay::collect {
namespace {

using store::CaseOutcome;

std::vector<store::StoredCase> cases_of(const std::string& name, int count) {
  std::vector<store::StoredCase> cases;
  for (int i = 0; i < count; ++i)
    cases.push_back({.id = name + std::to_string(i), .operator_name = name});
  return cases;
}

std::vector<std::string> ids_of(const std::vector<store::StoredCase>& cases) {
  std::vector<std::string> ids;
  for (const store::StoredCase& one : cases)
    ids.push_back(one.id);
  return ids;
}

std::vector<store::StoredCase> two_operators() {
  std::vector<store::StoredCase> cases = cases_of("many", 100);
  for (store::StoredCase& one : cases_of("few", 2))
    cases.push_back(std::move(one));
  return cases;
}

TEST(DrawMeasured, TakesAsManyOfEachOperatorWhileItHasThem) {
  std::map<std::string, int> counts;
  for (const store::StoredCase& one : draw_measured(two_operators(), 10, 1))
    ++counts[one.operator_name];
  EXPECT_EQ(counts, (std::map<std::string, int>{{"few", 2}, {"many", 8}}));
}

TEST(DrawMeasured, TheSeedChooses) {
  const auto drawn = ids_of(draw_measured(two_operators(), 10, 1));
  EXPECT_EQ(ids_of(draw_measured(two_operators(), 10, 1)), drawn);
  EXPECT_NE(ids_of(draw_measured(two_operators(), 10, 2)), drawn);
}

TEST(DrawMeasured, TakesNothingThatWasNotMeasured) {
  auto cases = cases_of("gemm", 3);
  cases[0].outcome = CaseOutcome::kSkipped;
  cases[2].outcome = CaseOutcome::kFailed;
  EXPECT_THAT(ids_of(draw_measured(cases, 3, 1)), testing::ElementsAre("gemm1"));
}

TEST(CaseOf, GivesBackTheCaseOfAnId) {
  for (const Operator* op : all_operators()) {
    for (const Case& one : collect::cases_of(*op, Grid::kCoarse, {})) {
      const auto again = case_of(one.id());
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_EQ(&again.value().op(), op);
      EXPECT_EQ(again.value().values(), one.values());
    }
  }
}

TEST(CaseOf, RefusesWhatIsNoCase) {
  for (const char* id :
       {"", "gemm", "gem m=1", "gemm gemm_dtype=bfloat16 m=1 n=32",
        "gemm gemm_dtype=bfloat16 m=x n=32 k=32", "gemm gemm_dtype=word m=1 n=32 k=32",
        "gemm gemm_dtype=bfloat16 m=1 n=32 k=32 more=1"}) {
    EXPECT_FALSE(case_of(id).ok()) << id;
  }
}

}  // namespace
}  // namespace assay::collect
