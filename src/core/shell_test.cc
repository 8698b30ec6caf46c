#include "core/shell.h"

#include <gtest/gtest.h>

namespace assay::core {
namespace {

TEST(ShellQuoted, KeepsWordsWhole) {
  EXPECT_EQ(shell_quoted("Qwen/Qwen3-32B"), "Qwen/Qwen3-32B");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace assay::core
