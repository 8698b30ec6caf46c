#include "core/run_program.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>

#include "core/task.h"

namespace assay::core {
namespace {

TEST(RunTool, GivesInputAndReturnsWhatTheProgramSays) {
  const auto end = run_tool({"sh", "-c", "cat; echo said >&2; exit 3"}, "given\n");
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end.value().output, "given\nsaid\n");
  EXPECT_EQ(end.value().exit_code, 3);
}

TEST(RunTool, TakesMoreThanAPipeHolds) {
  const std::string input(1'000'000, 'x');
  const auto end = run_tool({"cat"}, input);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end.value().output, input);
}

TEST(RunTool, NamesASignalAsAShellDoes) {
  EXPECT_EQ(run_tool({"sh", "-c", "kill -9 $$"}, "").value().exit_code, 128 + 9);
}

TEST(RunTool, FailsForAProgramThatIsNotThere) {
  const auto end = run_tool({"no-such-program-of-assay"}, "");
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().message,
            "cannot start 'no-such-program-of-assay': No such file or directory");
}

class OfACaller : public testing::Test {
 protected:
  // Stops the work when it is asked first.
  Task stopped_{[](const std::string&, std::uint64_t, std::uint64_t) { return false; }};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  void expect_soon() const {
    EXPECT_LT(std::chrono::steady_clock::now() - start_, std::chrono::seconds(20));
  }
};

TEST_F(OfACaller, AToolEndsWithTheWork) {
  const WorkingFor working(&stopped_);
  EXPECT_EQ(run_tool({"sleep", "60"}, "").value().exit_code, 128 + SIGTERM);
  expect_soon();
}

TEST_F(OfACaller, AProgramEndsWithTheWork) {
  const WorkingFor working(&stopped_);
  const ForegroundEnd end = run_in_foreground({.arguments = {"sleep", "60"},
                                               .environment = {{"ASSAY_TEST_MARK", "foreground"}},
                                               .mark = "ASSAY_TEST_MARK=foreground"});
  EXPECT_EQ(end.exit_code, 128 + SIGTERM);
  expect_soon();
}

volatile std::sig_atomic_t heard_signal = 0;

TEST_F(OfACaller, SignalsAreTheCallers) {
  Task task;
  auto* before = std::signal(SIGINT, [](int) { heard_signal = 1; });
  const WorkingFor working(&task);
  const ForegroundEnd end =
      run_in_foreground({.arguments = {"sh", "-c", "kill -INT $PPID; exit 3"}});
  std::signal(SIGINT, before);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(heard_signal, 1);
}

// A caller's other threads may set variables at any time, and a fork copies their lock.
TEST_F(OfACaller, AProgramStartsWhileAnotherThreadSetsVariables) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int i = 0; !done; ++i)
      ::setenv("ASSAY_TEST_OTHER", std::to_string(i % 2).c_str(), 1);
  });
  const auto until = start_ + std::chrono::seconds(15);
  Task task([&](const std::string&, std::uint64_t, std::uint64_t) {
    return std::chrono::steady_clock::now() < until;
  });
  const WorkingFor working(&task);
  int started = 0;
  constexpr int kTimes = 200;
  while (started < kTimes &&
         run_in_foreground({.arguments = {"true"}, .environment = {{"ASSAY_TEST_SET", "a"}}})
                 .exit_code == 0)
    ++started;
  done = true;
  other.join();
  EXPECT_EQ(started, kTimes);
}

std::atomic<bool> other_forks{false};
std::atomic<pid_t> other_child{0};

// A child of another thread that is forked at the worst moment holds all that we have open.
void fork_for_another() {
  constexpr unsigned kSeconds = 30;
  if (!other_forks.exchange(false)) return;
  other_child = ::_Fork();
  if (other_child != 0) return;
  ::sleep(kSeconds);
  ::_exit(0);
}

TEST_F(OfACaller, AProgramEndsWithTheWorkWhileAnotherThreadsChildLives) {
  static const int handled = ::pthread_atfork(nullptr, fork_for_another, nullptr);
  ASSERT_EQ(handled, 0);
  const WorkingFor working(&stopped_);
  other_forks = true;
  const ForegroundEnd end = run_in_foreground({.arguments = {"sleep", "60"}});
  ::kill(other_child, SIGKILL);
  ::waitpid(other_child, nullptr, 0);
  EXPECT_EQ(end.exit_code, 128 + SIGTERM);
  EXPECT_EQ(end.not_started, "");
  expect_soon();
}

TEST(RunInForeground, TellsHowTheProgramEndedWhereSigchldIsIgnored) {
  auto* before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run_in_foreground({.arguments = {"sh", "-c", "exit 7"}}).exit_code, 7);
  EXPECT_EQ(std::signal(SIGCHLD, before), SIG_IGN) << "it is ignored again";
}

TEST(RunInForeground, LooksForTheProgramInItsOwnPath) {
  const ForegroundEnd end =
      run_in_foreground({.arguments = {"true"}, .environment = {{"PATH", "/no/such/folder"}}});
  EXPECT_EQ(end.exit_code, 127);
  EXPECT_EQ(end.not_started, "cannot start 'true': No such file or directory");
}

TEST(RunInForeground, ChangesTheEnvironmentOfTheProgramAlone) {
  ::setenv("ASSAY_TEST_INHERITED", "old", 1);
  const std::string wanted =
      "test \"$ASSAY_TEST_SET-${ASSAY_TEST_INHERITED-none}-${HOME+home}\" = 'last-none-home'";
  const ForegroundEnd end = run_in_foreground(
      {.arguments = {"sh", "-c", wanted},
       .environment = {
           {"ASSAY_TEST_SET", "first"}, {"ASSAY_TEST_SET", "last"}, {"ASSAY_TEST_INHERITED", {}}}});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_STREQ(::getenv("ASSAY_TEST_INHERITED"), "old");
  ::unsetenv("ASSAY_TEST_INHERITED");
}

}  // namespace
}  // namespace assay::core
