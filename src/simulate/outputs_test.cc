#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "core/files.h"
#include "core/output_file.h"
#include "simulate/network.h"
#include "simulate/schedules_test_util.h"
#include "simulate/summary.h"
#include "simulate/timeline.h"

namespace assay::simulate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / name;
}

core::Result<ParametersFile> read(const std::string& json, std::size_t num_ranks) {
  const auto path = scratch("simulate_parameters.json");
  core::write_file(path, json).value();
  return read_parameters(path, num_ranks);
}

TEST(ParametersFile, ComesBackAsWritten) {
  LogGops link;
  link.gap_ns_per_byte = 0.123;
  link.rendezvous_bytes = 8192;
  const auto path = scratch("simulate_written.json");
  write_parameters(path, {.inter = link}).value();
  const ParametersFile file = read_parameters(path, 4).value();
  EXPECT_EQ(file.inter->gap_ns_per_byte, 0.123);
  EXPECT_EQ(file.inter->rendezvous_bytes, 8192);
  EXPECT_FALSE(file.intra.has_value());
}

TEST(ParametersFile, IntraBeginsWithInter) {
  const auto file = read(R"({"inter": {"L": 9}, "intra": {"o": 3}, "ranks_per_node": 2})", 5);
  EXPECT_EQ(file.value().intra->latency_ns, 9);
  EXPECT_EQ(file.value().intra->overhead_ns, 3);
  EXPECT_THAT(file.value().node_of_rank, ElementsAre(0, 0, 1, 1, 2));
}

TEST(ParametersFile, NodesNameEveryRankOnce) {
  EXPECT_THAT(read(R"({"nodes": [[0, 2], [1]]})", 3).value().node_of_rank, ElementsAre(0, 1, 0));
  EXPECT_THAT(read(R"({"nodes": [[0, 2]]})", 3).error().message, HasSubstr("leaves out rank 1"));
  EXPECT_THAT(read(R"({"nodes": [[0, 0]]})", 1).error().message, HasSubstr("rank 0 twice"));
  EXPECT_THAT(read(R"({"nodes": [[0, 7]]})", 2).error().message, HasSubstr("7, which is no rank"));
}

TEST(ParametersFile, SaysWhatItDoesNotKnow) {
  EXPECT_THAT(read("{", 1).error().message, HasSubstr("no JSON"));
  EXPECT_THAT(read(R"({"outer": 1})", 1).error().message, HasSubstr("\"outer\""));
  EXPECT_THAT(read(R"({"inter": {"l": 1}})", 1).error().message, HasSubstr("\"l\""));
  EXPECT_THAT(read(R"({"inter": {"L": -1}})", 1).error().message, HasSubstr("L of \"inter\""));
}

TEST(Timeline, HasASliceForEveryOperationAndAnArrowForEveryMessage) {
  const auto schedule = testing::all_to_all(3, 100);
  const Outcome outcome = simulate(schedule, {}).value();
  const auto path = scratch("simulate_timeline.json");
  const auto count = [&](const std::vector<std::uint32_t>& ranks, const std::string& kind) {
    EXPECT_TRUE(write_timeline(outcome, ranks, path).ok());
    const auto json = nlohmann::json::parse(core::read_file(path).value());
    return std::count_if(json["traceEvents"].begin(), json["traceEvents"].end(),
                         [&](const nlohmann::json& event) { return event["ph"] == kind; });
  };
  EXPECT_EQ(count({}, "X"), 12);
  EXPECT_EQ(count({}, "s"), 6);
  EXPECT_EQ(count({}, "f"), 6);
  EXPECT_EQ(count({0, 2}, "X"), 8);
  EXPECT_EQ(count({0, 2}, "s"), 2);
  EXPECT_FALSE(write_timeline(outcome, {3}, path).ok());
}

TEST(CollectiveTimes, LastFromTheFirstStartToTheLastEnd) {
  const auto schedule = testing::ring({.num_ranks = 2, .steps = 2, .bytes = 1});
  const Outcome outcome = simulate(schedule, {}).value();
  model::ScheduleNotes notes;
  notes.operations.resize(2);
  notes.ranks.resize(2);
  notes.spans = {{{.operation = 0, .first_op = 0, .num_ops = 2},
                  {.operation = 1, .first_op = 2, .num_ops = 2}},
                 {{.operation = 0, .first_op = 0, .num_ops = 2}}};
  const auto times = collective_times(outcome, notes).value();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].start_ns, 0);
  EXPECT_EQ(times[0].end_ns, 4105);
  EXPECT_EQ(times[1].start_ns, 4105);
  EXPECT_FALSE(times[0].measured);
  notes.spans[0][0].measured_start_ns = 100;
  notes.spans[0][0].measured_end_ns = 300;
  notes.spans[1][0].measured_start_ns = 50;
  notes.spans[1][0].measured_end_ns = 290;
  const auto compared = collective_times(outcome, notes).value();
  EXPECT_TRUE(compared[0].measured);
  EXPECT_EQ(compared[0].measured_start_ns, 50);
  EXPECT_EQ(compared[0].measured_end_ns, 300);
  notes.ranks[1].clock = 1;
  EXPECT_FALSE(collective_times(outcome, notes).value()[0].measured);
  notes.spans[1][0].num_ops = 5;
  EXPECT_THAT(collective_times(outcome, notes).error().message, HasSubstr("rank 1"));
}

}  // namespace
}  // namespace assay::simulate
