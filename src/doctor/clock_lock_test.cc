#include "doctor/clock_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/interrupt.h"
#include "core/process_family.h"
#include "gpu/fake_nvml_test_util.h"

namespace assay::doctor {
namespace {

constexpr const char* kIdleGpus = "count 3\nsm_clock 345\nutilization 0\n";
const gpu::Clocks kClocks{.sm_mhz = 1500, .memory_mhz = 2619};

class ClockLockTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("ASSAY_FAKE_NVML_CALLS", calls_.c_str(), 1); }

  void TearDown() override {
    ::unsetenv("ASSAY_FAKE_NVML_CALLS");
    std::filesystem::remove(calls_);
  }

  [[nodiscard]] std::string calls() const {
    std::ifstream stream(calls_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  // After its process is gone, the keeper takes some time to work.
  [[nodiscard]] std::string calls_within_seconds(const std::string& wanted) const {
    for (int i = 0; i < 500 && calls() != wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return calls();
  }

  static ClockLockOptions options() {
    return {.nvml_library = gpu::FakeNvml::library(), .patience = std::chrono::milliseconds(0)};
  }

  // A process that locks GPU 0 and waits for its end; returns once it has locked.
  [[nodiscard]] pid_t start_holder() const {
    const pid_t holder = ::fork();
    if (holder == 0) {
      core::handle_interrupts();
      auto lock = ClockLock::acquire({0}, {.sm_mhz = 1500}, options());
      while (lock.ok() && !core::interrupted())
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ::_exit(lock.ok() && lock.value().release().ok() ? 0 : 1);
    }
    EXPECT_EQ(calls_within_seconds("0 lock_sm 1500 1500\n"), "0 lock_sm 1500 1500\n");
    return holder;
  }

  std::filesystem::path calls_ = std::filesystem::path(::testing::TempDir()) /
                                 ("assay_clock_calls_" + std::to_string(::getpid()));
};

constexpr const char* kLockedAndUnlocked = "0 lock_sm 1500 1500\n0 unlock_sm\n";

TEST_F(ClockLockTest, LocksTheChosenGpusAndUnlocksThem) {
  const gpu::FakeNvml fake(kIdleGpus);
  auto lock = ClockLock::acquire({0, 2}, kClocks, options());
  ASSERT_TRUE(lock.ok()) << lock.error().message;
  const std::string locked =
      "0 lock_sm 1500 1500\n0 lock_memory 2619 2619\n2 lock_sm 1500 1500\n"
      "2 lock_memory 2619 2619\n";
  EXPECT_EQ(calls(), locked);
  EXPECT_EQ(lock.value().summary(),
            "locked GPUs 0, 2 at 1500 MHz (SM) and 2619 MHz (memory) until the end");
  EXPECT_TRUE(lock.value().release().ok());
  const std::string unlocked =
      locked + "0 unlock_sm\n0 unlock_memory\n2 unlock_sm\n2 unlock_memory\n";
  EXPECT_EQ(calls(), unlocked);
  EXPECT_TRUE(lock.value().release().ok());
  EXPECT_EQ(calls(), unlocked);
}

TEST_F(ClockLockTest, TheDestructorUnlocks) {
  const gpu::FakeNvml fake(kIdleGpus);
  { ASSERT_TRUE(ClockLock::acquire({0}, {.sm_mhz = 1500}, options()).ok()); }
  EXPECT_EQ(calls(), kLockedAndUnlocked);
}

TEST_F(ClockLockTest, AKilledProcessIsOutlivedByItsKeeper) {
  const gpu::FakeNvml fake(kIdleGpus);
  const pid_t holder = start_holder();
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_EQ(calls_within_seconds(kLockedAndUnlocked), kLockedAndUnlocked);
}

TEST_F(ClockLockTest, InterruptsUnlock) {
  const gpu::FakeNvml fake(kIdleGpus);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::filesystem::remove(calls_);
    const pid_t holder = start_holder();
    ::kill(holder, signal);
    ::waitpid(holder, nullptr, 0);
    EXPECT_EQ(calls_within_seconds(kLockedAndUnlocked), kLockedAndUnlocked) << signal;
  }
}

TEST_F(ClockLockTest, AProcessThatEndsWithoutDestructorsUnlocks) {
  const gpu::FakeNvml fake(kIdleGpus);
  const pid_t holder = start_holder();
  ::kill(holder, SIGABRT);
  ::waitpid(holder, nullptr, 0);
  EXPECT_EQ(calls_within_seconds(kLockedAndUnlocked), kLockedAndUnlocked);
}

TEST_F(ClockLockTest, AKillAtAnyMomentLeavesNothingLocked) {
  const gpu::FakeNvml fake(kIdleGpus);
  core::adopt_orphans();
  int locked = 0;
  for (int i = 0; i < 40; ++i) {
    std::filesystem::remove(calls_);
    const pid_t holder = ::fork();
    if (holder == 0) {
      const auto lock = ClockLock::acquire({0}, {.sm_mhz = 1500}, options());
      ::pause();
      ::_exit(lock.ok() ? 0 : 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(i * 250));
    ::kill(holder, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0) {  // the orphaned keeper is a child of this process now
    }
    if (calls().empty()) continue;
    ++locked;
    EXPECT_EQ(calls(), kLockedAndUnlocked) << i;
  }
  EXPECT_GT(locked, 0);
}

TEST_F(ClockLockTest, ReleasesWhileOthersHoldCopiesOfThePipe) {
  const gpu::FakeNvml fake(kIdleGpus);
  auto lock = ClockLock::acquire({0}, {.sm_mhz = 1500}, options());
  ASSERT_TRUE(lock.ok());
  const pid_t other = ::fork();
  if (other == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_TRUE(lock.value().release().ok());
  EXPECT_EQ(calls(), kLockedAndUnlocked);
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0);  // the other process still holds its copy
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

pid_t only_child() {
  std::ifstream stream("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  pid_t child = 0;
  stream >> child;
  return child;
}

TEST_F(ClockLockTest, WithoutItsKeeperTheLockUnlocksItself) {
  const gpu::FakeNvml fake(kIdleGpus);
  auto lock = ClockLock::acquire({0}, {.sm_mhz = 1500}, options());
  ASSERT_TRUE(lock.ok());
  const pid_t keeper = only_child();
  ASSERT_GT(keeper, 0);
  ::kill(keeper, SIGKILL);
  EXPECT_TRUE(lock.value().release().ok());
  EXPECT_EQ(calls(), kLockedAndUnlocked);
}

TEST_F(ClockLockTest, TheKeeperIgnoresWhatTerminalsSend) {
  const gpu::FakeNvml fake(kIdleGpus);
  auto lock = ClockLock::acquire({0}, {.sm_mhz = 1500}, options());
  ASSERT_TRUE(lock.ok());
  const pid_t keeper = only_child();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ::kill(keeper, signal);
  EXPECT_NE(::getpgid(keeper), ::getpgrp());
  EXPECT_EQ(calls(), "0 lock_sm 1500 1500\n");
  EXPECT_TRUE(lock.value().release().ok());
  EXPECT_EQ(calls(), kLockedAndUnlocked);
}

// The refusal of acquire(), which must leave nothing locked and no process behind.
std::string refusal(const std::vector<int>& gpus,
                    const gpu::Clocks& clocks,
                    const ClockLockOptions& options) {
  const auto lock = ClockLock::acquire(gpus, clocks, options);
  EXPECT_FALSE(lock.ok());
  EXPECT_EQ(only_child(), 0);
  return lock.ok() ? "" : lock.error().message;
}

TEST_F(ClockLockTest, WithoutTheRightItNamesTheCommands) {
  const gpu::FakeNvml fake(std::string(kIdleGpus) + "setter_error 4\n");
  EXPECT_EQ(
      refusal({0, 1}, kClocks, options()),
      "cannot lock the SM clock of GPU 0: only root may. Run as root, or lock them yourself:\n"
      "  sudo nvidia-smi -i 0,1 -lgc 1500,1500\n  sudo nvidia-smi -i 0,1 -lmc 2619,2619");
  EXPECT_EQ(calls(), "");
}

TEST_F(ClockLockTest, AFailureHalfWayUndoesTheFirstHalf) {
  const gpu::FakeNvml fake(std::string(kIdleGpus) + "memory_setter_error.1 3\n");
  EXPECT_NE(refusal({0, 1}, kClocks, options()).find("memory clock of GPU 1: fake error 3"),
            std::string::npos);
  EXPECT_EQ(calls(),
            "0 lock_sm 1500 1500\n0 lock_memory 2619 2619\n1 lock_sm 1500 1500\n1 unlock_sm\n"
            "0 unlock_sm\n0 unlock_memory\n");
}

TEST_F(ClockLockTest, ClocksThatSomebodySetAreLeftAlone) {
  const gpu::FakeNvml fake(std::string(kIdleGpus) + "sm_clock.1 1200\n");
  const std::string message = refusal({0, 1}, kClocks, options());
  EXPECT_NE(message.find("GPU 1 seem to be set already: it holds 1200 MHz while idle"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("sudo nvidia-smi -i 0,1 -rgc"), std::string::npos) << message;
  fake.set(std::string(kIdleGpus) + "application_sm_clock 1200\n");
  EXPECT_NE(refusal({0}, kClocks, options()).find("set to 1200 MHz"), std::string::npos);
  fake.set(std::string(kIdleGpus) + "reasons 0x2\n");
  EXPECT_NE(refusal({0}, kClocks, options()).find("a setting limits"), std::string::npos);
  EXPECT_EQ(calls(), "");
}

TEST_F(ClockLockTest, UnlessToldToReplaceThem) {
  const gpu::FakeNvml fake(std::string(kIdleGpus) + "sm_clock 1200\n");
  ClockLockOptions replace = options();
  replace.existing = ClockLockOptions::Existing::kReplace;
  { ASSERT_TRUE(ClockLock::acquire({0}, {.sm_mhz = 1500}, replace).ok()); }
  EXPECT_EQ(calls(), kLockedAndUnlocked);
}

TEST_F(ClockLockTest, ClocksThatFallSoonAreWaitedFor) {
  const gpu::FakeNvml fake(std::string(kIdleGpus) + "sm_clock 1980\nsm_clock_later 300\n");
  EXPECT_THAT(refusal({0}, kClocks, options()), testing::HasSubstr("it holds 1980 MHz while idle"));
  ClockLockOptions patient = options();
  patient.patience = std::chrono::seconds(20);
  EXPECT_TRUE(ClockLock::acquire({0}, {.sm_mhz = 1500}, patient).ok());
}

TEST_F(ClockLockTest, ImpossibleOrdersAreRefused) {
  const gpu::FakeNvml fake(kIdleGpus);
  EXPECT_EQ(refusal({7}, kClocks, options()),
            "there is no GPU 7 to lock the clocks of; this machine has 3");
  EXPECT_NE(refusal({0}, {.sm_mhz = 3201, .memory_mhz = 1980}, options())
                .find("3201 MHz is more than the SM clock of GPU 0 reaches, 1980 MHz"),
            std::string::npos);
  ClockLockOptions nowhere = options();
  nowhere.nvml_library = "/nonexistent/libnvidia-ml.so.1";
  EXPECT_EQ(refusal({0}, kClocks, nowhere),
            "there is no GPU 0 to lock the clocks of; this machine has 0");
  EXPECT_EQ(calls(), "");
}

TEST_F(ClockLockTest, ClocksThatStayLockedAreToldOf) {
  const gpu::FakeNvml fake(kIdleGpus);
  auto lock = ClockLock::acquire({0, 1}, {.sm_mhz = 1500}, options());
  ASSERT_TRUE(lock.ok());
  fake.set(std::string(kIdleGpus) + "setter_error.0 15\n");
  const core::Status released = lock.value().release();
  ASSERT_FALSE(released.ok());
  EXPECT_EQ(released.error().message,
            "clocks stay locked: cannot unlock the SM clock of GPU 0: fake error 15. Unlock them "
            "with:\n  sudo nvidia-smi -i 0 -rgc");
  EXPECT_EQ(calls(), "0 lock_sm 1500 1500\n1 lock_sm 1500 1500\n1 unlock_sm\n");
}

TEST(ParseClocks, TakesOneOrTwoNumbers) {
  EXPECT_EQ(parse_clocks("1980,3201").value().sm_mhz, 1980);
  EXPECT_EQ(parse_clocks("1980,3201").value().memory_mhz, 3201);
  EXPECT_FALSE(parse_clocks("1980").value().memory_mhz.has_value());
  for (const char* wrong : {"", ",", "1980,", ",3201", "1980,x", "-5,1", "0,1", "1.5,2", "1,2,3"})
    EXPECT_FALSE(parse_clocks(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace assay::doctor
