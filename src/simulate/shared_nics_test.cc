#include "simulate/shared_nics.h"

#include <gtest/gtest.h>

namespace assay::simulate {
namespace {

using Shares = SharedNics::Shares;

constexpr Shares kWhole = {1, 0};
constexpr Shares kHalf = {0.5, 0};
constexpr Shares kOther = {0, 1};

TEST(SharedNics, TwoThatWantAllOfItTakeTurns) {
  SharedNics nics(1, 2);
  nics.add(0, 0, 0, 100, kWhole);
  nics.settle(0);
  EXPECT_EQ(nics.delay_ns(0), 0);
  nics.add(1, 0, 50, 150, kWhole);
  nics.settle(1);
  EXPECT_EQ(nics.delay_ns(0), 50) << "half as fast from 50 on, until 150";
  EXPECT_EQ(nics.delay_ns(1), 50) << "until 200";
}

TEST(SharedNics, WhatFitsBesideEachOtherIsNotDelayed) {
  SharedNics nics(1, 3);
  nics.add(0, 0, 0, 100, kHalf);
  nics.settle(0);
  nics.add(1, 0, 0, 100, kHalf);
  nics.settle(1);
  nics.add(2, 0, 0, 100, kOther);
  nics.settle(2);
  for (const std::uint32_t group : {0U, 1U, 2U})
    EXPECT_EQ(nics.delay_ns(group), 0) << group;
}

TEST(SharedNics, WhatHasEndedDelaysNothing) {
  SharedNics nics(1, 2);
  nics.add(0, 0, 0, 100, kWhole);
  nics.settle(0);
  nics.add(1, 0, 100, 200, kWhole);
  nics.settle(1);
  EXPECT_EQ(nics.delay_ns(0), 0);
  EXPECT_EQ(nics.delay_ns(1), 0);
}

TEST(SharedNics, AGroupIsAsLateAsItsLatestRank) {
  SharedNics nics(3, 3);
  nics.add(0, 0, 0, 100, kWhole);
  nics.settle(0);
  nics.add(1, 1, 0, 100, kHalf);
  nics.settle(1);
  for (const std::uint32_t rank : {0U, 1U, 2U})
    nics.add(2, rank, 40, 140, kWhole);
  nics.settle(2);
  EXPECT_EQ(nics.delay_ns(0), 60);
  EXPECT_EQ(nics.delay_ns(1), 30);
  EXPECT_EQ(nics.delay_ns(2), 60);
}

// The first two have 150 ns left for half of what they want when the third comes.
TEST(SharedNics, WhatIsDelayedWantsLess) {
  SharedNics nics(1, 3);
  for (const std::uint32_t group : {0U, 1U}) {
    nics.add(group, 0, 0, 100, kWhole);
    nics.settle(group);
  }
  EXPECT_EQ(nics.delay_ns(0), 100);
  nics.add(2, 0, 150, 160, kWhole);
  nics.settle(2);
  EXPECT_EQ(nics.delay_ns(0), 105);
  EXPECT_EQ(nics.delay_ns(1), 105);
  EXPECT_EQ(nics.delay_ns(2), 10);
}

}  // namespace
}  // namespace assay::simulate
