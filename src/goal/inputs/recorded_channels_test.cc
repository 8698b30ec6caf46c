// Timers of channels: those that came with the wrong kernel, and those that are missing.
#include <gtest/gtest.h>

#include "goal/inputs/recording.h"

namespace assay::goal {
namespace {

namespace rec = model::recording;

// The GPU's timer is so far behind CLOCK_REALTIME.
constexpr std::int64_t kBehindNs = 5'000'000'000;
constexpr std::int64_t kLaunchNs = 50'000'000'000;
constexpr std::int64_t kEveryNs = 1'000'000;
constexpr std::int64_t kLatencyNs = 10'000;
constexpr std::int64_t kDurationNs = 40'000;
constexpr std::int64_t kUntimedNs = 4'500;  // what timers leave out at a kernel's start

// AllReduces in one communicator, launched every millisecond.
class Timers {
 public:
  explicit Timers(std::uint32_t kernels) {
    process_.communicators.push_back({1, {}});
    process_.communicators.back().record.device = 3;
    for (std::uint32_t i = 0; i < kernels; ++i) {
      rec::Plan plan;
      plan.event.start_ns = kLaunchNs + i * kEveryNs;
      plan.event.communicator = 1;
      process_.plans.push_back({plan_number(i), plan});
      rec::Coll coll;
      coll.event = plan.event;
      coll.plan = plan_number(i);
      process_.colls.push_back({plan_number(i) + 1, coll});
    }
  }

  // Channel `channel` of kernel `claimed` is said to have run when kernel `real` did.
  Timers& say(std::uint32_t channel, std::uint32_t claimed, std::uint32_t real) {
    rec::KernelChannel record;
    record.event.parent = plan_number(claimed) + 1;
    record.event.communicator = 1;
    record.channel = channel;
    const std::int64_t start_ns = kLaunchNs + real * kEveryNs + kLatencyNs;
    record.start_timer = static_cast<std::uint64_t>(start_ns - kBehindNs);
    record.end_timer = record.start_timer + kDurationNs;
    record.event.start_ns = kLaunchNs + std::max(claimed, real) * kEveryNs + kLatencyNs;
    process_.kernel_channels.push_back(
        {1000 + static_cast<std::uint32_t>(process_.kernel_channels.size()), record});
    return *this;
  }

  KernelMatch match() {
    process_.clocks = clocks_of(process_.kernel_channels);
    return match_kernels(process_);
  }

 private:
  static std::uint32_t plan_number(std::uint32_t kernel) { return 10 + 2 * kernel; }

  RecordedProcess process_;
};

void expect_own_times(const KernelMatch& match) {
  for (std::size_t i = 0; i < match.plans.size(); ++i) {
    ASSERT_NE(match.plans[i].kernel, nullptr) << i;
    const KernelRun& kernel = *match.plans[i].kernel;
    const std::int64_t start_ns = kLaunchNs + static_cast<std::int64_t>(i) * kEveryNs + kLatencyNs;
    EXPECT_EQ(kernel.start_ns, start_ns - kUntimedNs);
    EXPECT_EQ(kernel.end_ns, start_ns + kDurationNs);
    EXPECT_EQ(kernel.device, 3);
  }
}

TEST(RecordedChannels, TellWhenKernelsRan) {
  Timers timers(3);
  for (std::uint32_t i = 0; i < 3; ++i)
    timers.say(0, i, i).say(1, i, i);
  expect_own_times(timers.match());
}

TEST(RecordedChannels, TimersOfOtherKernelsFindTheirsBetweenNeighbours) {
  Timers timers(5);
  // Channel 1 is right. Channel 0, which alone tells of kernel 2, lags by a kernel from there on.
  timers.say(1, 0, 0).say(1, 1, 1).say(1, 3, 3).say(1, 4, 4);
  timers.say(0, 0, 0).say(0, 1, 1).say(0, 2, 1).say(0, 3, 2).say(0, 4, 3);
  expect_own_times(timers.match());
}

TEST(RecordedChannels, ImpossibleTimersDoNotCount) {
  Timers timers(4);
  for (std::uint32_t i = 0; i < 4; ++i)
    timers.say(0, i, i);
  // Kernels 1 and 3 cannot have run before their launch.
  timers.say(1, 0, 0).say(1, 1, 0).say(1, 2, 2).say(1, 3, 2);
  expect_own_times(timers.match());
}

TEST(RecordedChannels, KernelsWithoutTimersHaveNoTimes) {
  Timers timers(2);
  timers.say(0, 0, 0);
  const KernelMatch match = timers.match();
  EXPECT_NE(match.plans[0].kernel, nullptr);
  EXPECT_EQ(match.plans[1].kernel, nullptr);
  EXPECT_EQ(match.by_correlation, 1U);
}

}  // namespace
}  // namespace assay::goal
