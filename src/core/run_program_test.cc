#include "core/run_program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>

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

}  // namespace
}  // namespace assay::core
