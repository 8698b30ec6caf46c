#include "collect/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace assay::collect {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Axis integer_axis(const std::string& column, std::int64_t count) {
  Axis axis{.column = column, .option = "", .help = "", .unit = "", .common = {}};
  for (std::int64_t value = 1; value <= count; ++value)
    axis.common.emplace_back(value);
  return axis;
}

// 10 tokens and 20 widths: 200 cases.
Operator product() {
  return {.name = "product",
          .summary = "",
          .table = "product_perf",
          .axes = {integer_axis("m", 10), integer_axis("n", 20)},
          .cost = nullptr,
          .parts = nullptr};
}

// Numbers of ranks and a type: 3 cases.
Operator exchange() {
  Operator op{.name = "exchange",
              .summary = "",
              .table = "exchange_perf",
              .axes = {{.column = "dtype",
                        .option = "",
                        .help = "",
                        .unit = "",
                        .common = {std::string("half")}},
                       integer_axis("num_gpus", 3)},
              .cost = nullptr,
              .parts = nullptr};
  op.ranks_axis = 1;
  return op;
}

std::vector<std::string> ids(const Plan& plan) {
  std::vector<std::string> found;
  for (const PlannedCase& one : plan.cases)
    found.push_back(one.id);
  return found;
}

std::vector<std::string> sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words;
}

TEST(CollectPlan, HasEveryCaseOnce) {
  const Operator op = product();
  const Plan plan = make_plan({.operators = {&op}});
  const auto found = ids(plan);
  EXPECT_THAT(found, SizeIs(200));
  EXPECT_THAT(std::set<std::string>(found.begin(), found.end()), SizeIs(200));
}

TEST(CollectPlan, AnOperatorNamedTwiceIsMeasuredOnce) {
  const Operator op = product();
  EXPECT_THAT(make_plan({.operators = {&op, &op}}).cases, SizeIs(200));
}

TEST(CollectPlan, CasesAreJsonForTheirWorker) {
  const Operator op = exchange();
  const Plan plan = make_plan({.operators = {&op}});
  ASSERT_THAT(plan.cases, SizeIs(3));
  EXPECT_EQ(plan.cases.front().json, R"({"dtype":"half","num_gpus":3})");
  EXPECT_EQ(plan.cases.front().id, "exchange dtype=half num_gpus=3");
}

TEST(CollectPlan, CasesWithRanksNeedAllGpus) {
  const Operator alone = product();
  const Operator together = exchange();
  const Plan plan = make_plan({.operators = {&alone, &together}});
  ASSERT_THAT(plan.cases, SizeIs(203));
  EXPECT_EQ(plan.cases[0].devices, Devices::kOne);
  EXPECT_EQ(plan.cases[199].devices, Devices::kOne);
  EXPECT_EQ(plan.cases[200].devices, Devices::kAll);
  EXPECT_THAT(ids(plan).back(), HasSubstr("num_gpus="));
}

TEST(CollectPlan, AnMpiJobMeasuresCollectivesAlone) {
  const Operator alone = product();
  const Operator together = exchange();
  std::vector<const Operator*> operators = {&alone, &together};
  const core::Status refused = keep_collectives(operators, Chosen::kByName);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("start 'product' without them"));
  EXPECT_TRUE(keep_collectives(operators, Chosen::kAll).ok());
  EXPECT_THAT(operators, ElementsAre(&together));
  EXPECT_TRUE(keep_collectives(operators, Chosen::kByName).ok());
}

// Each half of the mixed list has large and small cases, and so has each quarter.
TEST(CollectPlan, LargeAndSmallCasesTakeTurns) {
  const Operator op = product();
  const auto in_order = ids(make_plan({.operators = {&op}}));
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const auto begin = in_order.begin() + static_cast<std::ptrdiff_t>(quarter * 50);
    const auto large = std::count_if(begin, begin + 50, [](const std::string& id) {
      return id.find("m=10 ") != std::string::npos || id.find("m=9 ") != std::string::npos ||
             id.find("m=8 ") != std::string::npos || id.find("m=7 ") != std::string::npos ||
             id.find("m=6 ") != std::string::npos;
    });
    EXPECT_NEAR(static_cast<double>(large), 25, 3) << quarter;
  }
}

TEST(CollectPlan, ALimitHoldsForEachOperator) {
  const Operator first = product();
  const Operator second = exchange();
  const Plan plan = make_plan({.operators = {&first, &second}, .limit = 2});
  EXPECT_THAT(ids(plan),
              ElementsAre("product m=10 n=20", "product m=10 n=19",
                          "exchange dtype=half num_gpus=3", "exchange dtype=half num_gpus=2"));
  EXPECT_THAT(make_plan({.operators = {&second}, .limit = 99}).cases, SizeIs(3));
}

TEST(CollectPlan, AnyOfTheFiltersKeepsACase) {
  const Operator op = product();
  const Plan plan = make_plan({.operators = {&op}, .case_filters = {"m=1 n=2", "n=7"}});
  const auto found = ids(plan);
  EXPECT_THAT(found, SizeIs(12));  // n=2 and n=20 with m=1, and n=7 with all 10 m
  EXPECT_THAT(make_plan({.operators = {&op}, .case_filters = {"m=11"}}).cases, SizeIs(0));
}

TEST(CollectPlan, WhatIsMeasuredIsLeftOut) {
  const Operator op = product();
  const auto all = ids(make_plan({.operators = {&op}}));
  const auto rest = ids(make_plan({.operators = {&op}, .measured = {.ids = {all[0], all[5]}}}));
  EXPECT_THAT(rest, SizeIs(all.size() - 2));
  EXPECT_EQ(std::count(rest.begin(), rest.end(), all[5]), 0);
}

TEST(CollectPlan, FiltersComeBeforeTheLimit) {
  const Operator op = product();
  const Plan plan = make_plan({.operators = {&op}, .case_filters = {"m=3 "}, .limit = 1});
  EXPECT_THAT(ids(plan), ElementsAre("product m=3 n=20"));
}

TEST(CollectPlan, AShuffleIsTheSameForTheSameSeed) {
  const Operator op = product();
  const auto shuffled = [&](std::uint64_t seed) {
    return make_plan({.operators = {&op}, .order = Order::kShuffled, .seed = seed});
  };
  const Plan declared = make_plan({.operators = {&op}});
  EXPECT_EQ(ids(shuffled(1)), ids(shuffled(1)));
  EXPECT_NE(ids(shuffled(1)), ids(shuffled(2)));
  EXPECT_NE(ids(shuffled(1)), ids(declared));
  EXPECT_EQ(sorted(ids(shuffled(1))), sorted(ids(declared)));
}

TEST(CollectPlan, ASmokeTestIsASampleNotTheFirstCases) {
  const Operator op = product();
  const Plan smoke = make_plan({.operators = {&op}, .limit = 4, .order = Order::kShuffled});
  const Plan first = make_plan({.operators = {&op}, .limit = 4});
  EXPECT_THAT(smoke.cases, SizeIs(4));
  EXPECT_NE(sorted(ids(smoke)), sorted(ids(first)));
}

TEST(CollectPlan, ItsHashIsOfItsCasesWhateverTheirOrder) {
  const Operator op = product();
  const Plan declared = make_plan({.operators = {&op}});
  const Plan shuffled = make_plan({.operators = {&op}, .order = Order::kShuffled});
  EXPECT_EQ(declared.hash, shuffled.hash);
  EXPECT_THAT(declared.hash, SizeIs(16));
  EXPECT_NE(make_plan({.operators = {&op}, .limit = 199}).hash, declared.hash);
  // The hash also depends on where an id ends.
  EXPECT_NE(plan_hash({{.operator_name = "a", .id = "ab", .json = ""},
                       {.operator_name = "a", .id = "c", .json = ""}}),
            plan_hash({{.operator_name = "a", .id = "a", .json = ""},
                       {.operator_name = "a", .id = "bc", .json = ""}}));
}

TEST(CollectPlan, TheFirstThreeAndEveryNthAreChecked) {
  const Operator op = product();
  const auto checked = [&](std::int64_t every) {
    std::vector<std::size_t> places;
    const Plan plan = make_plan({.operators = {&op}, .check_every = every});
    for (std::size_t i = 0; i < plan.cases.size(); ++i) {
      if (plan.cases[i].check) places.push_back(i);
    }
    return places;
  };
  EXPECT_THAT(checked(100), ElementsAre(0, 1, 2, 100));
  EXPECT_THAT(checked(0), ElementsAre());
  EXPECT_THAT(checked(1), SizeIs(200));
}

TEST(CollectPlan, OverridesGoToItsCases) {
  const Operator op = product();
  const Plan plan =
      make_plan({.operators = {&op},
                 .overrides = {{.column = "m", .values = {std::int64_t{77}}},
                               {.column = "n", .values = {std::int64_t{5}, std::int64_t{5}}}}});
  EXPECT_THAT(ids(plan), ElementsAre(AllOf(HasSubstr("m=77"), HasSubstr("n=5"))));
}

}  // namespace
}  // namespace assay::collect
