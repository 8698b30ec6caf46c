#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "core/files.h"
#include "core/output_file.h"
#include "simulate/network.h"
#include "simulate/operations.h"
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
  LinkValues links;
  give(link, "", links);
  links["intra-o"] = 7;
  write_parameters(path, links).value();
  EXPECT_EQ(read_parameters(path, 4).value().links, links);
}

TEST(ParametersFile, GivesWhatItHasAndNothingElse) {
  const auto file = read(R"({"inter": {"L": 9}, "intra": {"o": 3}, "ranks_per_node": 2})", 5);
  EXPECT_EQ(file.value().links, (LinkValues{{"L", 9}, {"intra-o", 3}}));
  const LogGops before{.latency_ns = 1, .overhead_ns = 2, .rendezvous_bytes = 5};
  const LogGops inter = with(file.value().links, "", before);
  EXPECT_EQ(inter.latency_ns, 9);
  EXPECT_EQ(inter.overhead_ns, 2);
  EXPECT_EQ(inter.rendezvous_bytes, 5);
  EXPECT_EQ(with(file.value().links, "intra-", before).overhead_ns, 3);
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

TEST(UnequalSizes, OfReceivesThatNameTheirMessageAreTold) {
  const auto sizes_of = [](std::uint64_t receives, std::uint32_t tag) {
    const auto schedule =
        testing::make_schedule(2, [&](std::uint32_t rank, model::RankBuilder& builder) {
          if (rank == 0) builder.send(16, 1, 5, {});
          if (rank == 1) builder.receive(receives, 0, tag, {});
        });
    return unequal_sizes(simulate(schedule, {}).value());
  };
  EXPECT_EQ(sizes_of(16, 5), "");
  EXPECT_EQ(sizes_of(64, model::kAnyTag), "");
  EXPECT_THAT(sizes_of(8, 5), HasSubstr("1 receive is for another size than the message that "
                                        "arrives, whose size counts: operation 0 of rank 1, a "
                                        "receive of 8 bytes from rank 0 with tag 5, got 16 bytes"));
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

TEST(LaunchTimes, LastFromTheFirstStartToTheLastEnd) {
  const auto schedule = testing::ring({.num_ranks = 2, .steps = 3, .bytes = 1});
  const Outcome outcome = simulate(schedule, {}).value();
  model::ScheduleNotes notes;
  notes.operations.resize(2);
  notes.ranks.resize(2);
  // Rank 0 does something between the operations.
  notes.spans = {{{.operation = 0, .first_op = 0, .num_ops = 2},
                  {.operation = 1, .first_op = 4, .num_ops = 2}},
                 {{.operation = 0, .first_op = 0, .num_ops = 2}}};
  const auto times = launch_times(outcome, notes).value();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].start_ns, 0);
  EXPECT_EQ(times[0].end_ns, 4105);
  EXPECT_EQ(times[0].num_ranks, 2U);
  EXPECT_EQ(times[1].start_ns, 8210);
  EXPECT_EQ(times[0].measured, Measured::kNoTimes);
  notes.spans[0][0].measured_start_ns = 100;
  notes.spans[0][0].measured_end_ns = 300;
  notes.spans[1][0].measured_start_ns = 50;
  notes.spans[1][0].measured_end_ns = 290;
  const auto compared = launch_times(outcome, notes).value();
  EXPECT_EQ(compared[0].measured, Measured::kYes);
  EXPECT_EQ(compared[0].measured_start_ns, 50);
  EXPECT_EQ(compared[0].measured_last_start_ns, 100);
  EXPECT_EQ(compared[0].last_start_ns, 0);
  EXPECT_EQ(compared[0].measured_end_ns, 300);
  notes.ranks[1].clock = 1;
  EXPECT_EQ(launch_times(outcome, notes).value()[0].measured, Measured::kSeveralClocks);
  notes.spans[1][0].num_ops = 7;
  EXPECT_THAT(launch_times(outcome, notes).error().message, HasSubstr("rank 1"));
}

// The kernel that receives has begun, even if the message comes late.
TEST(LaunchTimes, AReceiveBeginsWithItsLaunch) {
  const auto schedule =
      testing::make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
        const std::uint32_t launch = builder.calc(50, {});
        builder.require_finish(rank == 0 ? builder.send(1, 1, 0, {}) : builder.receive(1, 0, 0, {}),
                               launch);
      });
  const Outcome outcome = simulate(schedule, {}).value();
  model::ScheduleNotes notes;
  notes.operations.resize(1);
  notes.operations[0].function = model::NcclFunction::kSendRecv;
  notes.ranks.resize(2);
  notes.spans = {{{.first_op = 1, .num_ops = 1}}, {{.first_op = 1, .num_ops = 1}}};
  const LaunchTime time = launch_times(outcome, notes).value().at(0);
  EXPECT_EQ(time.start_ns, 50);
  EXPECT_EQ(time.last_start_ns, 50);
  EXPECT_EQ(time.destination, 1);
}

// A kernel runs a whole group: its time is no time of one of its pairs.
TEST(LaunchTimes, AGroupIsOneRowAndAPairHasItsEnds) {
  const auto schedule = testing::ring({.num_ranks = 2, .steps = 4, .bytes = 1});
  const Outcome outcome = simulate(schedule, {}).value();
  model::ScheduleNotes notes;
  model::ScheduleOperation pair;
  pair.function = model::NcclFunction::kSendRecv;
  pair.bytes = 10;
  notes.operations = {pair, pair, pair};
  notes.ranks.resize(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    // The operations are send, receive, send, receive …
    notes.spans.push_back({{.operation = rank, .first_op = 0, .num_ops = 1},
                           {.operation = 1 - rank, .first_op = 1, .num_ops = 1},
                           {.operation = 2, .first_op = 6 + rank, .num_ops = 1}});
    for (model::OperationSpan& span : notes.spans[rank])
      span.measured_end_ns = 100;
  }
  const auto times = launch_times(outcome, notes).value();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_THAT(times[0].operations, ElementsAre(0, 1));
  EXPECT_EQ(times[0].bytes, 20U);
  EXPECT_EQ(times[0].source, -1);
  EXPECT_EQ(times[1].source, 0);
  EXPECT_EQ(times[1].destination, 1);
  const model::Table table = operation_table(times, notes);
  EXPECT_EQ(table.row_count(), 2U);
  EXPECT_EQ(std::get<std::int64_t>(table.at(0, 6)), 2);
  EXPECT_EQ(collective_table(times, notes).row_count(), 1U);
}

// Each of eight ranks sends 1 MB to rank 0, side by side: 8 ms at 1 ns a byte.
TEST(Summary, TellsRanksThatReceiveMoreThanTheirNicLetsPass) {
  const auto gather =
      testing::make_schedule(9, [](std::uint32_t rank, model::RankBuilder& builder) {
        for (std::uint32_t other = 1; other < 9; ++other) {
          if (rank == 0) builder.receive(1'000'000, other, 0, {});
        }
        if (rank > 0) builder.send(1'000'000, 0, 0, {});
      });
  Options options;
  options.inter.gap_ns_per_byte = 1;
  const std::string told = overfull_receivers(simulate(gather, options).value());
  EXPECT_THAT(told, HasSubstr("1 rank receives more than a NIC lets pass: NIC 0 of rank 0 gets "
                              "8000000 bytes until "));
  EXPECT_THAT(told, HasSubstr("which take 8000.0 us at G"));
  const auto ring = testing::ring({.num_ranks = 4, .steps = 8, .bytes = 1'000'000});
  EXPECT_EQ(overfull_receivers(simulate(ring, options).value()), "");
}

}  // namespace
}  // namespace assay::simulate
