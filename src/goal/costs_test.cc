#include "goal/costs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "report/test_support.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;
using model::NcclProtocol;

constexpr const char* kCopy = "NPKIT_EVENT_GPU_DIRECT_RECV_COPY_SEND";
constexpr const char* kReduce = "NPKIT_EVENT_GPU_RECV_REDUCE_SEND";

class CostFiles : public ::testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }

  static std::string npkit(const std::string& copy, const std::string& reduce) {
    return std::string("{\"") + kCopy + "\": " + copy + ", \"" + kReduce + "\": " + reduce + "}";
  }

  std::string npkit_error(const std::string& text) {
    const auto costs = read_npkit(file("summary.json", text), std::nullopt);
    return costs.ok() ? "" : costs.error().message;
  }

  std::string line_error(const std::string& text) {
    const auto costs = read_line_costs(file("costs.json", text));
    return costs.ok() ? "" : costs.error().message;
  }

  report::TemporaryFolder folder_;
};

CostCurve three_sizes() {
  return CostCurve({{1000, 30, {10, 20, 60}}, {100, 5, {5}}, {2000, 50, {50, 50, 50}}});
}

TEST(CostCurve, RunsThroughItsPointsAndStraightBetween) {
  const CostCurve curve = three_sizes();
  EXPECT_EQ(curve.duration_ns(100, {}, 0), 5U);
  EXPECT_EQ(curve.duration_ns(1000, {}, 0), 30U);
  EXPECT_EQ(curve.duration_ns(1500, {}, 0), 40U);
  EXPECT_EQ(curve.duration_ns(550, {}, 0), 18U);  // 17.5
}

TEST(CostCurve, IsLevelBelowTheSmallestAndStraightPastTheLargest) {
  const CostCurve curve = three_sizes();
  EXPECT_EQ(curve.duration_ns(0, {}, 0), 5U);
  EXPECT_EQ(curve.duration_ns(12000, {}, 0), 250U);
  const CostCurve falling({{0, 100, {}}, {100, 50, {}}});
  EXPECT_EQ(falling.duration_ns(1000, {}, 0), 0U);
  EXPECT_EQ(CostCurve().duration_ns(1000, {}, 0), 0U);
  EXPECT_EQ(CostCurve({{500, 7, {}}}).duration_ns(1'000'000, {}, 0), 7U);
}

TEST(CostCurve, QuantilesLieBetweenMeasurements) {
  const CostCurve curve = three_sizes();
  const auto at = [&](double quantile) {
    return curve.duration_ns(1000, {CostChoice::Kind::kQuantile, quantile, 0}, 0);
  };
  EXPECT_EQ(at(0), 10U);
  EXPECT_EQ(at(0.5), 20U);
  EXPECT_EQ(at(0.75), 40U);
  EXPECT_EQ(at(1), 60U);
}

TEST(CostCurve, SamplesDependOnSeedAndSliceAlone) {
  const CostCurve curve = three_sizes();
  std::set<std::uint64_t> drawn;
  std::uint64_t sum = 0;
  constexpr std::uint64_t kDraws = 4000;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const CostChoice choice{CostChoice::Kind::kSample, 0.5, 7};
    const std::uint64_t ns = curve.duration_ns(1000, choice, draw);
    EXPECT_EQ(ns, curve.duration_ns(1000, choice, draw));
    EXPECT_GE(ns, 10U);
    EXPECT_LE(ns, 60U);
    drawn.insert(ns);
    sum += ns;
  }
  EXPECT_GT(drawn.size(), 40U);
  // Half of the draws are between 10 and 20, the other half between 20 and 60.
  EXPECT_NEAR(static_cast<double>(sum) / kDraws, 27.5, 1);
  std::size_t same = 0;
  for (std::uint64_t draw = 0; draw < 100; ++draw) {
    const auto with_seed = [&](std::uint64_t seed) {
      return curve.duration_ns(1000, {CostChoice::Kind::kSample, 0.5, seed}, draw);
    };
    same += with_seed(1) == with_seed(2) ? 1 : 0;
  }
  EXPECT_LT(same, 20U);
}

TEST_F(CostFiles, ReadsNpkitByProtocolAndWork) {
  const auto simple =
      file("simple.json", npkit(R"({"1024": [10, 30], "2048": [40]})", R"({"1024": [100]})"));
  const auto ll = file("ll.json", npkit(R"({"8": [1]})", R"({"8": [2]})"));
  const auto read = read_npkit(simple, ll);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Costs& costs = read.value();
  EXPECT_EQ(costs.duration_ns(NcclProtocol::kSimple, {.work = Work::kCopy}, 1024, 0), 20U);
  EXPECT_EQ(costs.duration_ns(NcclProtocol::kSimple, {.work = Work::kCopy}, 2048, 0), 40U);
  EXPECT_EQ(costs.duration_ns(NcclProtocol::kSimple, {.work = Work::kReduce}, 1024, 0), 100U);
  EXPECT_EQ(costs.duration_ns(NcclProtocol::kSimple, {.work = Work::kReduceCopy}, 1024, 0), 100U);
  EXPECT_EQ(costs.duration_ns(NcclProtocol::kLl, {.work = Work::kReduce}, 8, 0), 2U);
  EXPECT_EQ(costs.duration_ns(NcclProtocol::kLl128, {.work = Work::kReduce}, 8, 0), 2U);
  EXPECT_EQ(costs.source, "simple.json, ll.json");
  const auto alone = read_npkit(std::nullopt, ll);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone.value().source, "ll.json; Simple fitted on H200 with NVLink");
  EXPECT_EQ(read_npkit(simple, std::nullopt).value().source,
            "simple.json; LL and LL128 fitted on H200 with NVLink");
  EXPECT_EQ(alone.value().duration_ns(NcclProtocol::kSimple, {.work = Work::kCopy}, 1 << 20, 0),
            costs_from_lines(default_costs(), "")
                .duration_ns(NcclProtocol::kSimple, {.work = Work::kCopy}, 1 << 20, 0));
}

TEST_F(CostFiles, NpkitErrorsNameFileEventAndSize) {
  const std::string good = R"({"8": [1]})";
  EXPECT_NE(npkit_error("hello").find("summary.json: not JSON"), std::string::npos);
  EXPECT_NE(npkit_error("[]").find(std::string("summary.json: ") + kCopy + ": missing"),
            std::string::npos);
  EXPECT_NE(npkit_error(npkit("[[1], [2]]", good)).find("no object of sizes"), std::string::npos);
  EXPECT_NE(npkit_error(npkit("3", good)).find("no object of sizes"), std::string::npos);
  EXPECT_NE(npkit_error(npkit("{}", good)).find("no sizes"), std::string::npos);
  EXPECT_NE(npkit_error(npkit(R"({"8k": [1]})", good)).find("'8k' is no size"), std::string::npos);
  EXPECT_NE(npkit_error(npkit(R"({"": [1]})", good)).find("'' is no size"), std::string::npos);
  EXPECT_NE(npkit_error(npkit(R"({"nan": [1]})", good)).find("'nan' is no size"),
            std::string::npos);
  EXPECT_NE(npkit_error(npkit(R"({"-8": [1]})", good)).find("'-8' is no size"), std::string::npos);
  EXPECT_NE(npkit_error(npkit(R"({"8": []})", good)).find("'8' is no size"), std::string::npos);
  EXPECT_NE(npkit_error(npkit(good, R"({"8": ["x"]})")).find("size 8: \"x\" is no duration"),
            std::string::npos);
  EXPECT_NE(npkit_error(npkit(good, R"({"8": [-4]})")).find("size 8: -4 is no duration"),
            std::string::npos);
  EXPECT_NE(npkit_error(npkit(good, R"({"8": [1], "8.0": [2]})")).find("size 8: twice"),
            std::string::npos);
  const auto missing = read_npkit(folder_.path() / "none.json", std::nullopt);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("none.json"), std::string::npos);
}

TEST_F(CostFiles, LinesComeBackFromTheirFile) {
  LineCosts costs;
  costs.launch_ns = {1234.5, 2345.25, 3456.75};
  double number = 1;
  for (auto& works : costs.lines) {
    for (LineCost& line : works) {
      line.latency_ns = number;
      line.ns_per_byte = number / 1000;
      number += 1.25;
    }
  }
  for (LineCost& line : costs.two_way)
    line = {.latency_ns = number += 1.25, .ns_per_byte = number / 1000};
  const auto path = file("costs.json", "{\"costs\": " + line_costs_json(costs) + "}");
  const auto read = read_line_costs(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().launch_ns, costs.launch_ns);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t work = 0; work < 3; ++work) {
      EXPECT_DOUBLE_EQ(read.value().lines[row][work].latency_ns, costs.lines[row][work].latency_ns);
      EXPECT_NEAR(read.value().lines[row][work].ns_per_byte, costs.lines[row][work].ns_per_byte,
                  1e-8);
    }
    EXPECT_DOUBLE_EQ(read.value().two_way[row].latency_ns, costs.two_way[row].latency_ns);
    EXPECT_NEAR(read.value().two_way[row].ns_per_byte, costs.two_way[row].ns_per_byte, 1e-8);
  }
}

// A tree's block works up and down at once. NPKit's summaries have what it takes.
TEST_F(CostFiles, StepsOfTwoWaysTakeMoreUnlessTheyWereMeasured) {
  const Costs costs = costs_from_lines(default_costs(), "");
  const auto simple = NcclProtocol::kSimple;
  const Step one{.work = Work::kReduce};
  const Step both{.work = Work::kReduce, .two_way = true};
  constexpr std::uint64_t kBytes = 100'000;
  EXPECT_EQ(costs.duration_ns(simple, both, kBytes, 0) - costs.duration_ns(simple, one, kBytes, 0),
            542 + 910U);  // 0.0091 ns a byte
  const auto measured = read_npkit(
      file("summary.json", npkit(R"({"1024": [700]})", R"({"1024": [900]})")), std::nullopt);
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(measured.value().duration_ns(simple, both, kBytes, 0), 900U);
}

TEST_F(CostFiles, WhatALineFileLeavesOutStaysTheDefault) {
  const auto path =
      file("costs.json", R"({"costs": {"LL": {"copy": {"latency_ns": 5, "ns_per_byte": 2}}}})");
  const auto read = read_line_costs(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto ll = static_cast<std::size_t>(NcclProtocol::kLl);
  EXPECT_EQ(read.value().lines[ll][0].latency_ns, 5);
  EXPECT_EQ(read.value().lines[ll][1].latency_ns, default_costs().lines[ll][1].latency_ns);
  EXPECT_EQ(read.value().launch_ns, default_costs().launch_ns);
}

TEST_F(CostFiles, ALaunchOfAllIsThatOfProtocolsWithoutOneOfTheirOwn) {
  const auto path = file("costs.json", R"({"costs": {"launch_ns": 7, "LL128": {"launch_ns": 9}}})");
  const auto read = read_line_costs(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().launch_ns, (std::array<double, 3>{7, 9, 7}));
  EXPECT_EQ(costs_from_lines(read.value(), "").launch_of(NcclProtocol::kLl128), 9U);
  EXPECT_NE(line_error(R"({"costs": {"LL": {"launch_ns": -1}}})").find("launch_ns"),
            std::string::npos);
}

// Threads that do not wait at a slice have no latency there.
TEST_F(CostFiles, SlicesThatFollowTakeWhatTheirBytesTake) {
  const Costs costs = costs_from_lines(default_costs(), "");
  const Step step{.work = Work::kCopy};
  const std::uint64_t first = costs.duration_ns(NcclProtocol::kLl128, step, 100'000, 0);
  EXPECT_EQ(first, 1032U + 7420U);
  EXPECT_EQ(costs.following_ns(NcclProtocol::kLl128, step, true, 100'000, 0), first);
  EXPECT_EQ(costs.following_ns(NcclProtocol::kLl128, step, false, 100'000, 0), 7420U);
}

TEST_F(CostFiles, LineErrorsNameFileAndField) {
  EXPECT_NE(line_error("{}").find("costs.json: has no \"costs\""), std::string::npos);
  EXPECT_NE(line_error(R"({"costs": 3})").find("costs.json"), std::string::npos);
  EXPECT_NE(line_error(R"({"costs": {"launch_ns": -1}})").find("launch_ns"), std::string::npos);
  EXPECT_NE(line_error(R"({"costs": {"NVLS": {}}})").find("'NVLS' is no protocol"),
            std::string::npos);
  EXPECT_NE(line_error(R"({"costs": {"LL": {"copy": {"latency_ns": 5}}}})").find("LL copy"),
            std::string::npos);
  EXPECT_NE(line_error(R"({"costs": {"LL": {"copi": {"latency_ns": 5, "ns_per_byte": 1}}}})")
                .find("'copi'"),
            std::string::npos);
}

TEST(Costs, AnyNumberOfAFileIsADurationOfASchedule) {
  EXPECT_EQ(CostCurve::line(1e300, 1e300).duration_ns(1 << 20, {}, 0), 1'000'000'000'000'000U);
}

}  // namespace
}  // namespace assay::goal
