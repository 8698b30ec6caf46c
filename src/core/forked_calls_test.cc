#include "core/forked_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <new>
#include <thread>

namespace assay::core {
namespace {

using ::testing::HasSubstr;

std::map<std::size_t, CallEnd> ends_of(ForkedCalls& calls) {
  std::map<std::size_t, CallEnd> ends;
  while (calls.running() > 0) {
    if (auto end = calls.wait(std::chrono::seconds(10))) ends[end->id] = std::move(*end);
  }
  return ends;
}

TEST(ForkedCalls, AnswerWhatTheFunctionsReturn) {
  ForkedCalls calls;
  std::string large(1'000'000, 'x');  // more than a pipe holds
  ASSERT_TRUE(calls.start(7, [&] { return large; }).ok());
  ASSERT_TRUE(calls.start(8, [] { return std::to_string(::getppid()); }).ok());
  ASSERT_TRUE(calls.start(9, [] { return ""; }).ok());
  const auto ends = ends_of(calls);
  EXPECT_EQ(ends.at(7).answer, large);
  EXPECT_EQ(ends.at(8).answer, std::to_string(::getpid()));
  EXPECT_EQ(ends.at(9).answer, "");
  for (const auto& [id, end] : ends) {
    EXPECT_EQ(end.problem, "");
    EXPECT_GT(end.peak_mb, 0.1);
    EXPECT_LT(end.seconds, 60);
  }
}

TEST(ForkedCalls, TellWhatEndedThem) {
  ForkedCalls calls;
  const auto dies = [](int signal) {
    std::signal(signal, SIG_DFL);
    ::raise(signal);
    return std::string();
  };
  ASSERT_TRUE(calls.start(0, [&] { return dies(SIGKILL); }).ok());
  ASSERT_TRUE(calls.start(1, [&] { return dies(SIGTERM); }).ok());
  ASSERT_TRUE(calls.start(2, []() -> std::string { throw std::bad_alloc(); }).ok());
  ASSERT_TRUE(calls.start(3, []() -> std::string { ::_exit(5); }).ok());
  const auto ends = ends_of(calls);
  EXPECT_THAT(ends.at(0).problem, HasSubstr("too little memory?"));
  EXPECT_THAT(ends.at(1).problem, HasSubstr("ended by signal 15"));
  EXPECT_EQ(ends.at(2).problem, "memory ran out");
  EXPECT_EQ(ends.at(3).problem, "ended with exit code 5");
}

TEST(ForkedCalls, TellWhatTheyTook) {
  ForkedCalls calls;
  const auto work = [] {
    const auto start = std::clock();
    while (std::clock() - start < CLOCKS_PER_SEC / 10) {
    }
    return std::string();
  };
  ASSERT_TRUE(calls.start(0, work).ok());
  EXPECT_GE(ends_of(calls).at(0).cpu_seconds, 0.09);
}

TEST(ForkedCalls, AreWaitedForOnlySoLongAndEndWithTheirOwner) {
  const auto start = std::chrono::steady_clock::now();
  {
    ForkedCalls calls;
    ASSERT_TRUE(calls
                    .start(0,
                           [] {
                             std::this_thread::sleep_for(std::chrono::seconds(60));
                             return std::string();
                           })
                    .ok());
    EXPECT_FALSE(calls.wait(std::chrono::milliseconds(10)).has_value());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace assay::core
