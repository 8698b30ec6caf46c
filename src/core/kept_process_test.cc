#include "core/kept_process.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/files.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{20'000};

class KeptProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("kept_process.{}", ::getpid());
    fs::create_directories(folder_);
    static int counter = 0;
    mark_ = fmt::format("{}.{}", ::getpid(), ++counter);
  }

  void TearDown() override { fs::remove_all(folder_); }

  Launch shell(const std::string& script, milliseconds grace = milliseconds(10'000)) {
    return {.arguments = {"sh", "-c", script},
            .log = folder_ / "log",
            .mark = {"ASSAY_TEST_MARK", mark_},
            .grace = grace};
  }

  ProcessFamily marked() { return {-1, "ASSAY_TEST_MARK=" + mark_}; }

  // Waits until `file` exists and is not empty, and returns the number in it.
  pid_t pid_in(const fs::path& file) {
    for (int i = 0; i < 1000; ++i) {
      std::ifstream stream(folder_ / file);
      pid_t pid = 0;
      if (stream >> pid) return pid;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return -1;
  }

  fs::path folder_;
  std::string mark_;
};

bool alive(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  return stat.ok() && stat.value().find(") Z") == std::string::npos;
}

TEST_F(KeptProcessTest, TellsHowTheProgramEnded) {
  auto exits = KeptProcess::start(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(exits.ok());
  const auto end = exits.value().wait(kPatience);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->signal, 0);
  EXPECT_EQ(read_file(folder_ / "log").value(), "out\nerr\n");
  auto dies = KeptProcess::start(shell("kill -SEGV $$"));
  ASSERT_TRUE(dies.ok());
  EXPECT_EQ(dies.value().wait(kPatience)->signal, SIGSEGV);
}

TEST_F(KeptProcessTest, TalksThroughPipes) {
  Launch launch = shell("while read line; do echo \"got $line\"; done; echo err >&2; exit 4");
  launch.streams = Launch::Streams::kPipes;
  auto process = KeptProcess::start(launch);
  ASSERT_TRUE(process.ok());
  ASSERT_EQ(::write(process.value().input(), "word\n", 5), 5);
  std::array<char, 9> answer{};
  ASSERT_EQ(::read(process.value().output(), answer.data(), answer.size()), 9);
  EXPECT_EQ(std::string(answer.data(), answer.size()), "got word\n");
  // The program ends at the end of its input, so nobody else holds the pipe open.
  process.value().close_input();
  const auto end = process.value().wait(kPatience);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 4);
  EXPECT_EQ(::read(process.value().output(), answer.data(), answer.size()), 0);
  EXPECT_EQ(read_file(folder_ / "log").value(), "err\n");
}

TEST_F(KeptProcessTest, SaysThatThereIsNoSuchProgram) {
  Launch launch = shell("");
  launch.arguments = {"/no/such/program"};
  const auto process = KeptProcess::start(launch);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().message, "cannot start '/no/such/program': No such file or directory");
}

TEST_F(KeptProcessTest, TheLogIsNoFifoAndNoFolder) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  fs::create_directory(folder_ / "folder");
  for (const char* name : {"fifo", "folder"}) {
    Launch launch = shell("echo");
    launch.log = folder_ / name;
    EXPECT_EQ(KeptProcess::start(launch).error().message,
              fmt::format("cannot write the log '{}': it is no regular file", launch.log.string()));
  }
}

TEST_F(KeptProcessTest, ChangesTheEnvironmentAsAsked) {
  ::setenv("ASSAY_TEST_INHERITED", "1", 1);
  Launch launch = shell("echo ${ASSAY_TEST_SET-none} ${ASSAY_TEST_INHERITED-none}");
  launch.environment = {{"ASSAY_TEST_SET", "a b"}, {"ASSAY_TEST_INHERITED", std::nullopt}};
  auto process = KeptProcess::start(launch);
  ASSERT_TRUE(process.value().wait(kPatience).has_value());
  EXPECT_EQ(read_file(folder_ / "log").value(), "a b none\n");
  ::unsetenv("ASSAY_TEST_INHERITED");
}

TEST_F(KeptProcessTest, EndsSessionsOrphansAndStoppedProcesses) {
  // A worker in its own session, an orphan whose parent is gone, one that is stopped.
  auto process = KeptProcess::start(
      shell(fmt::format("cd {}; setsid sh -c 'echo $$ > worker; sleep 60' & "
                        "(setsid sh -c 'echo $$ > orphan; sleep 60' &) ; "
                        "sh -c 'echo $$ > stopped; kill -STOP $$; sleep 60' & wait",
                        folder_.string())));
  ASSERT_TRUE(process.ok());
  const pid_t pids[] = {pid_in("worker"), pid_in("orphan"), pid_in("stopped")};
  EXPECT_FALSE(process.value().wait(milliseconds(50)).has_value());
  EXPECT_GE(process.value().processes().size(), 4U);
  process.value().end();
  const auto end = process.value().wait(kPatience);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->rest.forced, 0);
  EXPECT_EQ(end->rest.remaining, 0);
  for (const pid_t pid : pids)
    EXPECT_FALSE(alive(pid)) << pid;
}

TEST_F(KeptProcessTest, KillsWhatIgnoresSigterm) {
  auto process = KeptProcess::start(shell(
      fmt::format("trap '' TERM; echo $$ > {}/pid; while :; do sleep 0.1; done", folder_.string()),
      milliseconds(200)));
  const pid_t pid = pid_in("pid");
  process.value().end();
  const auto end = process.value().wait(kPatience);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->signal, SIGKILL);
  EXPECT_GE(end->rest.forced, 1);
  EXPECT_FALSE(alive(pid));
}

TEST_F(KeptProcessTest, WhatAProgramLeavesBehindEndsWithIt) {
  auto process = KeptProcess::start(shell(
      fmt::format("setsid sh -c 'echo $$ > {}/left; sleep 60' & sleep 0.3", folder_.string())));
  const pid_t left = pid_in("left");
  const auto end = process.value().wait(kPatience);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_GE(end->rest.asked, 1);
  EXPECT_FALSE(alive(left));
}

TEST_F(KeptProcessTest, TheFamilyEndsWhenItsKeeperIsKilled) {
  auto process =
      KeptProcess::start(shell(fmt::format("echo $PPID > {}/keeper; sleep 60", folder_.string())));
  ::kill(pid_in("keeper"), SIGKILL);
  const auto end = process.value().wait(kPatience);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->signal, SIGKILL);
  EXPECT_TRUE(members(marked()).empty());
}

TEST_F(KeptProcessTest, TheFamilyEndsWhenItsStarterIsKilledWithItsWholeGroup) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    ::setpgid(0, 0);
    auto process =
        KeptProcess::start(shell(fmt::format("echo $$ > {}/program; sleep 60", folder_.string())));
    while (process.ok())
      process.value().wait(kPatience);
    ::_exit(1);
  }
  const pid_t program = pid_in("program");
  ASSERT_TRUE(alive(program));
  ::kill(-starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  for (int i = 0; i < 1000 && alive(program); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_FALSE(alive(program));
}

TEST_F(KeptProcessTest, OthersAreLeftAlone) {
  const pid_t bystander = ::fork();
  if (bystander == 0) {
    ::execlp("sleep", "sleep", "60", nullptr);
    ::_exit(1);
  }
  {
    auto process = KeptProcess::start(shell("sleep 60"));
    ASSERT_TRUE(process.ok());
  }
  EXPECT_TRUE(members(marked()).empty());
  EXPECT_TRUE(alive(bystander));
  ::kill(bystander, SIGKILL);
  ::waitpid(bystander, nullptr, 0);
}

}  // namespace
}  // namespace assay::core
