#include "core/run_program.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::core
