#include "collect/plan/plan_from_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "collect/plan/run_record.h"
#include "store/database/store_test_util.h"

namespace assay::collect {
namespace {

using store::CaseOutcome;
using testing::ElementsAre;
using testing::IsEmpty;

std::string id_of(std::int64_t m) {
  return "gemm gemm_dtype=bfloat16 m=" + std::to_string(m) + " n=32 k=64";
}

std::string filter_of(std::int64_t m) {
  return "m=" + std::to_string(m) + " ";
}

store::CaseRecord case_at(std::int64_t m, double latency_ms) {
  store::CaseRecord made = store::gemm_case(m, latency_ms);
  made.id = id_of(m);
  return made;
}

// A straight line up to 512, then four times as steep.
double kinked_ms(std::int64_t m) {
  const auto size = static_cast<double>(m);
  return 0.010 + 1e-5 * size + 3e-5 * std::max(0.0, size - 512);
}

class RefineTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    opened_.emplace(open(store::Store::Mode::kCreate));
    first_ = begin();
  }

  std::int64_t begin(const std::string& device = "NVIDIA H200") {
    store::Run run = store::test_run(kCollectRun);
    run.device = device;
    run.facts["device framework"] = "assay";
    auto begun = opened_->begin_run(run);
    EXPECT_TRUE(begun.ok()) << begun.error().message;
    return begun.value();
  }

  void add(std::int64_t run, const store::CaseRecord& record) {
    const auto added = opened_->append(run, record);
    EXPECT_TRUE(added.ok()) << added.error().message;
  }

  void add_kink(std::int64_t run) {
    for (const std::int64_t m : {64, 128, 256, 512, 1024, 2048})
      add(run, case_at(m, kinked_ms(m)));
  }

  Refinement refine(RefineRequest request = {}) {
    if (request.run == 0) request.run = first_;
    if (request.options.operators.empty()) request.options.operators = {find_operator("gemm")};
    auto made = plan_refinement(*opened_, request);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }

  static std::vector<std::string> ids_of(const Refinement& refinement) {
    std::vector<std::string> ids;
    for (const PlannedCase& one : refinement.plan.cases)
      ids.push_back(one.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  std::optional<store::Store> opened_;
  std::int64_t first_ = 0;
};

TEST(MiddleOf, IsAlignedAsBothSidesAre) {
  EXPECT_EQ(middle_of(64, 128), 96);
  EXPECT_EQ(middle_of(2048, 4096), 3072);
  EXPECT_EQ(middle_of(1024, 8192), 3072);
  EXPECT_EQ(middle_of(4096, 5120), 4608);
  EXPECT_EQ(middle_of(1, 4), 2);
  EXPECT_EQ(middle_of(2, 4), 3);
  EXPECT_EQ(middle_of(7, 9), 8);
  EXPECT_EQ(middle_of(3, 300), 30);
  EXPECT_EQ(middle_of(7168, 18432), 11264);
}

TEST(MiddleOf, LiesBetweenOrIsNothing) {
  for (std::int64_t low = 1; low < 70; ++low) {
    for (std::int64_t high = low + 1; high < 140; ++high) {
      const auto middle = middle_of(low, high);
      ASSERT_EQ(middle.has_value(), high - low > 1) << low << " " << high;
      if (!middle) continue;
      ASSERT_GT(*middle, low);
      ASSERT_LT(*middle, high);
    }
  }
  EXPECT_FALSE(middle_of(0, 8));
}

TEST_F(RefineTest, PlansTheMiddlesAroundAKinkAndNowhereElse) {
  add_kink(first_);
  const Refinement made = refine();
  EXPECT_EQ(made.tested, 4);
  EXPECT_EQ(made.beyond, 1);
  EXPECT_THAT(ids_of(made), ElementsAre(id_of(384), id_of(768)));
  EXPECT_EQ(made.plan.hash, plan_hash(made.plan.cases));
}

TEST_F(RefineTest, TheLimitDecides) {
  add_kink(first_);
  EXPECT_EQ(refine({.limit = 0.3}).beyond, 1);
  const Refinement none = refine({.limit = 1});
  EXPECT_EQ(none.beyond, 0);
  EXPECT_EQ(none.tested, 4);
  EXPECT_THAT(ids_of(none), IsEmpty());
  EXPECT_EQ(why_nothing_to_refine(none, 1),
            "nothing to refine: each of 4 predictions is within 100 %");
}

TEST(Refinement, SaysWhyItHasNoCase) {
  EXPECT_EQ(why_nothing_to_refine({.plan = {}}, 0.05),
            "nothing to refine: no point of these operators has two neighbours along a size");
  EXPECT_EQ(
      why_nothing_to_refine({.plan = {}, .tested = 4, .beyond = 2}, 0.05),
      "nothing to refine: 2 of 4 predictions are off by more than 5 %, and no case is left to "
      "measure beside them");
}

TEST_F(RefineTest, TakesTheWorstFirst) {
  // 2048 is predicted from a spike.
  for (const std::int64_t m : {64, 128, 256, 512, 1024, 2048, 4096})
    add(first_, case_at(m, m == 128 ? 0.012 : m == 1024 ? 0.050 : 0.010));
  RefineRequest request;
  request.options.operators = {find_operator("gemm")};
  request.options.limit = 2;
  EXPECT_THAT(ids_of(refine(request)), ElementsAre(id_of(1536), id_of(3072)));
}

TEST_F(RefineTest, WhatAnyRunHadIsNotPlannedAgain) {
  add_kink(first_);
  store::CaseRecord failed = case_at(384, 0);
  failed.outcome = CaseOutcome::kFailed;
  failed.rows.clear();
  add(first_, failed);
  EXPECT_THAT(ids_of(refine()), ElementsAre(id_of(768)));
  const std::int64_t second = begin();
  add(second, case_at(768, kinked_ms(768)));
  EXPECT_THAT(ids_of(refine({.run = second})), testing::Not(testing::Contains(id_of(768))));
  // This is the plan when the second run, which measures the cases, is resumed.
  EXPECT_THAT(ids_of(refine({.run = first_})), ElementsAre(id_of(768)));
}

TEST_F(RefineTest, OtherDevicesDoNotCount) {
  add_kink(first_);
  const std::int64_t other = begin("AMD MI300X");
  for (const std::int64_t m : {64, 384, 768}) {
    store::CaseRecord record = case_at(m, 0.01);
    record.rows.front().row.device = "AMD MI300X";
    add(other, record);
  }
  const std::int64_t last = begin();
  add(last, case_at(64, kinked_ms(64)));
  EXPECT_THAT(ids_of(refine({.run = last})), ElementsAre(id_of(384), id_of(768)));
}

TEST_F(RefineTest, OnlyTheOperatorsThatAreWantedAndWhatTheFilterTakes) {
  add_kink(first_);
  RefineRequest request;
  request.options.operators = {find_operator("moe")};
  EXPECT_EQ(refine(request).tested, 0);
  request.options.operators = {find_operator("gemm")};
  request.options.case_filters = {filter_of(768)};
  EXPECT_THAT(ids_of(refine(request)), ElementsAre(id_of(768)));
}

// Operators of one table differ in op_name.
TEST_F(RefineTest, AKinkOfOneOperatorIsNotAnothers) {
  const auto add_rows = [&](const char* name, double kink) {
    for (const std::int64_t rows : {64, 128, 256, 512, 1024}) {
      store::CaseRecord made = store::gemm_case(rows, rows > 256 ? kink : 0.01);
      made.operator_name = name;
      made.id = std::string(name) + " dtype=bfloat16 rows=" + std::to_string(rows) +
                " columns=512 vocabulary=0";
      ASSERT_TRUE(case_of(made.id).ok()) << case_of(made.id).error().message;
      model::PerfRow& row = made.rows.front().row;
      row.table = "memory_op_perf";
      row.op_name = name;
      row.key = {{"dtype", std::string("bfloat16")},
                 {"rows", rows},
                 {"columns", std::int64_t{512}},
                 {"vocabulary", std::int64_t{0}}};
      add(first_, made);
    }
  };
  add_rows("add", 0.05);
  add_rows("copy", 0.01);
  RefineRequest request;
  request.options.operators = {find_operator("add"), find_operator("copy")};
  for (const std::string& id : ids_of(refine(request)))
    EXPECT_EQ(id.substr(0, 4), "add ") << id;
  EXPECT_EQ(refine(request).plan.cases.size(), 3U);
}

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
