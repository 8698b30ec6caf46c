#include "collect/plan/operator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::collect {
namespace {

using Values = std::vector<model::PerfValue>;

Values numbers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

// Like gemm, but small: 2 types, 3 numbers of tokens, and a group of 2 shapes.
Operator small_operator() {
  return {
      .name = "small",
      .summary = "",
      .table = "small_perf",
      .axes = {{.column = "dtype",
                .option = "",
                .help = "",
                .unit = "",
                .common = {std::string("bfloat16"), std::string("half")}},
               {.column = "m",
                .option = "",
                .help = "",
                .unit = "",
                .common = numbers({1, 2, 4}),
                .coarse = numbers({4}),
                .nesting = Nesting::kInner},
               {.column = "n", .option = "", .help = "", .unit = "", .common = numbers({8, 16})},
               {.column = "k", .option = "", .help = "", .unit = "", .common = numbers({3, 5})}},
      .takes = [](const Case& point) { return point.integer("m") < 4 || point.integer("n") < 16; },
      .cost = nullptr,
      .parts = nullptr,
      .groups = {{.columns = {"n", "k"}, .common = {numbers({8, 5}), numbers({16, 3})}}}};
}

std::vector<std::string> ids(const Operator& op,
                             const std::vector<AxisOverride>& overrides,
                             Grid grid = Grid::kCommon) {
  std::vector<std::string> made;
  for (const Case& point : cases_of(op, grid, overrides))
    made.push_back(point.id());
  return made;
}

using Ids = std::vector<std::string>;

const AxisOverride kHalf{"dtype", {std::string("half")}};

// 2 types and 12 x 3 sizes; a byte and a million operations for each unit of m.
Operator costed_operator() {
  Operator op = small_operator();
  op.takes = nullptr;
  op.groups.clear();
  op.axes[1].common.clear();
  op.axes[1].coarse.clear();
  for (std::int64_t m = 1; m <= 2048; m *= 2)
    op.axes[1].coarse.emplace_back(m);
  op.axes[1].common = op.axes[1].coarse;
  op.axes[2].common = numbers({8, 16, 32});
  op.cost = [](const Case& point) {
    return Cost{.bytes = 1, .flops = 1e6 * static_cast<double>(point.integer("m"))};
  };
  return op;
}

TEST(Cases, OfACpuAreQuick) {
  Operator op = costed_operator();
  op.axes[3].common = numbers({3});
  EXPECT_EQ(cases_of(op, Grid::kCoarse, {}).size(), 2U * 12 * 3);
  // 1024 and 2048 million operations are too many.
  EXPECT_EQ(cases_of(op, Grid::kCpu, {}).size(), 2U * 10 * 3);
  op.cost = [](const Case&) { return Cost{.bytes = 1e9}; };
  EXPECT_TRUE(cases_of(op, Grid::kCpu, {}).empty());
  EXPECT_EQ(cases_of(op, Grid::kCpu, {kHalf, {"m", numbers({2048})}, {"n", numbers({8})}}).size(),
            1U);
  op.cost = [](const Case&) { return Cost{.type = DataType::kFp8}; };
  EXPECT_TRUE(cases_of(op, Grid::kCpu, {}).empty());
}

TEST(Cases, OfACpuAreFew) {
  Operator op = costed_operator();
  op.axes[3].common = numbers({1, 2, 3, 4});
  // 2 x 10 x 3 x 4 and 2 x 5 x 3 x 4 are too many; m then has 1, 16 and 256.
  const std::vector<Case> cases = cases_of(op, Grid::kCpu, {});
  EXPECT_EQ(cases.size(), 2U * 3 * 3 * 4);
  EXPECT_EQ(cases.back().id(), "small dtype=half m=1 n=8 k=1");
  // Values that the user gave stay.
  EXPECT_EQ(cases_of(op, Grid::kCpu, {kHalf, {"k", op.axes[3].common}}).size(), 5U * 3 * 4);
}

TEST(Cases, WithEqualWeightsFollowEachOtherLargeOnesFirst) {
  const Operator op = small_operator();
  EXPECT_EQ(ids(op, {kHalf}), (Ids{"small dtype=half m=2 n=16 k=3", "small dtype=half m=1 n=16 k=3",
                                   "small dtype=half m=4 n=8 k=5", "small dtype=half m=2 n=8 k=5",
                                   "small dtype=half m=1 n=8 k=5"}));
  EXPECT_EQ(ids(op, {}).size(), 10U);
  EXPECT_EQ(ids(op, {kHalf}, Grid::kCoarse), (Ids{"small dtype=half m=4 n=8 k=5"}));
  EXPECT_EQ(ids(op, {kHalf}, Grid::kFine).size(), 5U);
}

TEST(Cases, OfMostGpusComeFirst) {
  Operator op = small_operator();
  op.ranks_axis = 1;
  op.takes = nullptr;
  const Ids found = ids(op, {});
  EXPECT_EQ(found.front(), "small dtype=bfloat16 m=4 n=16 k=3");
  EXPECT_EQ(found[3], "small dtype=half m=4 n=8 k=5");
  EXPECT_EQ(found.back(), "small dtype=half m=1 n=8 k=5");
}

TEST(Cases, OverriddenInAllAxesAreJustThose) {
  const Operator op = small_operator();
  EXPECT_EQ(ids(op, {kHalf, {"m", numbers({4})}, {"n", numbers({99, 16})}, {"k", numbers({7})}}),
            (Ids{"small dtype=half m=4 n=99 k=7", "small dtype=half m=4 n=16 k=7"}));
}

TEST(Cases, AnAxisWithOneValueNeedNotBeOverridden) {
  Operator op = small_operator();
  op.axes[0].common = {std::string("half")};
  op.takes = [](const Case&) { return false; };
  EXPECT_EQ(ids(op, {{"m", numbers({4})}, {"n", numbers({9})}, {"k", numbers({7})}}),
            (Ids{"small dtype=half m=4 n=9 k=7"}));
  EXPECT_EQ(ids(op, {{"m", numbers({4})}, {"n", numbers({9})}}), Ids{});
}

TEST(Cases, AnOverrideOfAGroupPicksRowsOrReplacesTheirValue) {
  const Operator op = small_operator();
  const AxisOverride one_token{"m", numbers({1})};
  EXPECT_EQ(ids(op, {kHalf, one_token, {"n", numbers({16})}}),
            (Ids{"small dtype=half m=1 n=16 k=3"}));
  EXPECT_EQ(ids(op, {kHalf, one_token, {"n", numbers({20})}}),
            (Ids{"small dtype=half m=1 n=20 k=5", "small dtype=half m=1 n=20 k=3"}));
}

TEST(Cases, SpellTypesAsTheirAxisDoes) {
  const Operator op = small_operator();
  const AxisOverride types{"dtype",
                           {std::string("bf16"), std::string("float16"), std::string("float")}};
  EXPECT_EQ(ids(op, {types, {"m", numbers({1})}, {"n", numbers({8})}, {"k", numbers({5})}}),
            (Ids{"small dtype=bfloat16 m=1 n=8 k=5", "small dtype=half m=1 n=8 k=5",
                 "small dtype=float32 m=1 n=8 k=5"}));
}

TEST(Cases, GivenTwiceAreTakenOnce) {
  EXPECT_EQ(ids(small_operator(), {kHalf, {"m", numbers({1, 1})}, {"n", numbers({8, 8})}}),
            (Ids{"small dtype=half m=1 n=8 k=5"}));
}

TEST(Cases, TellTheirValuesByColumn) {
  const Operator op = small_operator();
  const Case made(op, {std::string("half"), std::int64_t{1}, std::int64_t{2}, std::int64_t{3}});
  EXPECT_EQ(made.integer("n"), 2);
  EXPECT_EQ(made.text("dtype"), "half");
  EXPECT_EQ(made.type("dtype"), DataType::kFloat16);
}

std::string refusal(const AxisOverride& given) {
  const core::Status status = check_override(small_operator(), given);
  return status.ok() ? "" : status.error().message;
}

TEST(Overrides, AreCheckedBeforeTheyAreUsed) {
  EXPECT_EQ(refusal(kHalf), "");
  EXPECT_EQ(refusal({"dtype", {std::string("fp8")}}), "");
  EXPECT_EQ(refusal({"dtype", {std::string("fp9")}}),
            "dtype of small cannot be 'fp9': it is a data type: float32, float16, bfloat16, fp8, "
            "fp8_block, int8");
  EXPECT_EQ(refusal({"p", numbers({1})}), "small has no axis p");
  EXPECT_EQ(refusal({"m", numbers({1, 0})}),
            "m of small cannot be '0': it is an integer from 1 to 2147483647");
  EXPECT_EQ(refusal({"m", {std::string("x")}}),
            "m of small cannot be 'x': it is an integer from 1 to 2147483647");
  EXPECT_EQ(refusal({"m", {1.5}}),
            "m of small cannot be '1.5': it is an integer from 1 to 2147483647");
}

TEST(Overrides, AreParsedFromTheWordsOfACommandLine) {
  const Operator small = small_operator();
  const auto parsed = parse_override(small, small.axes[1], {"4", "99"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed.value().column, "m");
  EXPECT_EQ(parsed.value().values, numbers({4, 99}));
  EXPECT_EQ(parse_override(small, small.axes[1], {"4x"}).error().message,
            "--m: m of small cannot be '4x': it is an integer from 1 to 2147483647");
  EXPECT_EQ(parse_override(small, small.axes[0], {"bfloat17"}).error().message,
            "--dtype: dtype of small cannot be 'bfloat17': it is a data type: float32, float16, "
            "bfloat16, fp8, fp8_block, int8; did you mean 'bfloat16'?");
}

TEST(Axes, HaveTheirColumnAsOptionUnlessTheyNameOne) {
  Axis axis = small_operator().axes[0];
  axis.column = "gemm_dtype";
  EXPECT_EQ(option_name(axis), "gemm-dtype");
  axis.option = "dtype";
  EXPECT_EQ(option_name(axis), "dtype");
}

}  // namespace
}  // namespace assay::collect
