#include "simulate/compat_atlahs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/schedules_test_util.h"

namespace assay::simulate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kAllEager = 1 << 30;

std::vector<std::int64_t> ends(const model::Schedule& schedule, double rendezvous_bytes) {
  LogGops link;
  link.rendezvous_bytes = rendezvous_bytes;
  const auto outcome = simulate_atlahs(schedule, link);
  EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome.value().finished);
  return outcome.value().finish_ns;
}

// The times are those that ATLAHS' program tells of the same schedules (commit 8837294);
// tests/simulate/atlahs_test.py runs it where it is on PATH.
TEST(CompatAtlahs, EndsWhenAtlahsSays) {
  const auto exchange = testing::all_to_all(4, 1000);
  EXPECT_THAT(ends(exchange, 0), ElementsAre(4759, 4964, 4554, 4964));
  EXPECT_THAT(ends(exchange, kAllEager), ElementsAre(4554, 4554, 4554, 4754));
  const auto steps = testing::dissemination(5, 1000);
  EXPECT_THAT(ends(steps, 0), ElementsAre(12842, 12637, 12637, 12637, 12842));
  EXPECT_THAT(ends(steps, kAllEager), ElementsAre(12432, 12432, 12432, 12432, 12432));
  const auto ring =
      testing::ring({.num_ranks = 3, .steps = 2, .bytes = 1000, .channels = 2, .calc_ns = 70});
  EXPECT_THAT(ends(ring, 0), ElementsAre(8677, 8677, 8633));
  EXPECT_THAT(ends(ring, kAllEager), ElementsAre(8472, 8472, 8472));
}

TEST(CompatAtlahs, WhatFollowsAStartBeginsInThePast) {
  const auto schedule =
      testing::make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
        const std::uint32_t calc = builder.calc(rank == 0 ? 100 : 500, {});
        const std::uint32_t message =
            rank == 0 ? builder.send(10, 1, 0, {}) : builder.receive(10, 0, 0, {});
        builder.require_start(message, calc);
      });
  EXPECT_THAT(ends(schedule, kAllEager), ElementsAre(300, 4205));
}

TEST(CompatAtlahs, AbortsWhereAtlahsDoes) {
  const auto schedule =
      testing::make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
        if (rank == 0) {
          builder.send(10, 1, 0, {});
          return;
        }
        const std::uint32_t before = builder.calc(5000, {});
        const std::uint32_t calc = builder.calc(100, {});
        builder.require_finish(calc, before);
        builder.require_start(builder.receive(10, 0, 0, {}), calc);
      });
  EXPECT_THAT(simulate_atlahs(schedule, {}).error().message, HasSubstr("operation 2 of rank 1"));
}

TEST(CompatAtlahs, TellsTimesOfWhatNeverEnds) {
  const auto schedule =
      testing::make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
        if (rank == 0) builder.send(10, 1, 0, {});
        if (rank == 1) builder.calc(5000, {});
      });
  const Outcome outcome = simulate_atlahs(schedule, {}).value();
  EXPECT_FALSE(outcome.finished);
  EXPECT_THAT(outcome.finish_ns, ElementsAre(200, 5000));
}

}  // namespace
}  // namespace assay::simulate
