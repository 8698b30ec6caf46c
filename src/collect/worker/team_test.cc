#include "collect/worker/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace assay::collect {
namespace {

// A rank takes 1 ms more than the rank before it. Some ranks fail at an order.
class FakeRank final : public TeamRank {
 public:
  struct Script {
    std::string unsupported = {};
    std::string fails_to_watch = {};
    double wrong = 0;
    bool is_lost = false;
  };

  FakeRank(int rank, Script script) : rank_(rank), script_(std::move(script)) {}

  core::Result<std::optional<Unsupported>> make(const CollectiveSpec& /*spec*/) override {
    if (script_.unsupported.empty()) return std::optional<Unsupported>();
    return std::optional(Unsupported{script_.unsupported});
  }

  core::Status launch() override { return {}; }

  core::Status finish() override { return {}; }

  core::Result<Accuracy> check() override {
    return Accuracy{.worst = script_.wrong, .compared = 10, .where = "output[3]"};
  }

  core::Status watch(const StopwatchRequest& /*request*/) override {
    if (script_.fails_to_watch.empty()) return {};
    return core::Error{script_.fails_to_watch};
  }

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    return std::vector<double>(static_cast<std::size_t>(count), 1.0 + rank_);
  }

  void forget() override {}

  [[nodiscard]] std::string kernel_source(const CollectiveSpec& /*spec*/) const override {
    return "fake";
  }

  [[nodiscard]] bool is_lost() const override { return script_.is_lost; }

 private:
  int rank_;
  Script script_;
};

std::unique_ptr<Device> team_of(std::vector<FakeRank::Script> scripts) {
  std::vector<std::unique_ptr<TeamRank>> ranks;
  for (FakeRank::Script& script : scripts) {
    const int rank = static_cast<int>(ranks.size());
    ranks.push_back(std::make_unique<FakeRank>(rank, std::move(script)));
  }
  return make_team_device(make_thread_team(std::move(ranks)), {});
}

std::unique_ptr<Work> work_of(Device& device, int ranks) {
  auto made = device.make(CollectiveSpec{.elements = 64, .ranks = ranks}, model::L2State::kHot);
  EXPECT_TRUE(made.ok());
  return std::move(std::get<std::unique_ptr<Work>>(made.value()));
}

TEST(Team, TheSlowestRankCountsAndTheSkewIsKept) {
  const auto device = team_of({{}, {}, {}, {}});
  EXPECT_EQ(device->facts().count, 4);
  const auto work = work_of(*device, 4);
  const auto watch = device->stopwatch(*work, {});
  ASSERT_TRUE(watch.ok());
  const auto samples = watch.value()->sample(2 * kMostTeamSamples + 5);
  ASSERT_TRUE(samples.ok());
  EXPECT_EQ(samples.value().size(), static_cast<std::size_t>(2 * kMostTeamSamples + 5));
  EXPECT_DOUBLE_EQ(*std::max_element(samples.value().begin(), samples.value().end()), 4);
  EXPECT_DOUBLE_EQ(*std::min_element(samples.value().begin(), samples.value().end()), 4);
  EXPECT_DOUBLE_EQ(watch.value()->skew_ms().value(), 3);
}

TEST(Team, RanksBeyondThoseAskedForRest) {
  const auto device = team_of({{}, {}, {.wrong = 9}});
  const auto work = work_of(*device, 2);
  const auto accuracy = work->check();
  ASSERT_TRUE(accuracy.ok());
  EXPECT_DOUBLE_EQ(accuracy.value().worst, 0);
  EXPECT_EQ(accuracy.value().compared, 20);
}

TEST(Team, WhatIsWrongNamesItsRank) {
  const auto device = team_of({{}, {.fails_to_watch = "no graph", .wrong = 5}});
  const auto work = work_of(*device, 2);
  EXPECT_EQ(work->check().value().where, "rank 1: output[3]");
  const auto watch = device->stopwatch(*work, {});
  ASSERT_FALSE(watch.ok());
  EXPECT_EQ(watch.error().message, "rank 1: no graph");
  EXPECT_FALSE(device->is_lost());
}

TEST(Team, OneRankThatCannotIsASkipAndOneThatIsLostLosesTheDevice) {
  const auto device = team_of({{}, {.unsupported = "no such type"}});
  const auto made = device->make(CollectiveSpec{.ranks = 2}, model::L2State::kHot);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(std::get<Unsupported>(made.value()).reason, "no such type");
  const auto lost = team_of({{}, {.is_lost = true}});
  const auto work = work_of(*lost, 2);
  EXPECT_TRUE(lost->is_lost());
}

TEST(Team, MakesCollectivesOfItsSizeOnly) {
  const auto device = team_of({{}, {}});
  EXPECT_TRUE(
      std::holds_alternative<Unsupported>(device->make(GemmSpec{}, model::L2State::kHot).value()));
  EXPECT_TRUE(std::holds_alternative<Unsupported>(
      device->make(CollectiveSpec{.ranks = 3}, model::L2State::kHot).value()));
}

}  // namespace
}  // namespace assay::collect
