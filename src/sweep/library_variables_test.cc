#include "sweep/library_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::sweep {
namespace {

using ::testing::ElementsAre;

VariableNames names_in(std::string_view piece) {
  VariableNames names;
  add_variable_names(piece, names);
  return names;
}

TEST(LibraryVariables, AreWordsOfTheTexts) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kTexts =
      "NCCL_ALGO\0use NCCL_P2P_LEVEL=NVL, RCCL_X1\0TORCH_NCCL_DEBUG\0NCCL version\0CCL_A\0"sv;
  EXPECT_THAT(names_in(kTexts), ElementsAre("NCCL_ALGO", "NCCL_P2P_LEVEL", "RCCL_X1"));
}

// The next piece has the name again, whole.
TEST(LibraryVariables, AreNotCutByTheEndOfAPiece) {
  EXPECT_THAT(names_in("NCCL_ALGO NCCL_MAX_CT"), ElementsAre("NCCL_ALGO"));
}

TEST(LibraryVariables, OfALibraryHoldWhatEveryVersionReads) {
  EXPECT_TRUE(are_of_a_library({"NCCL_ALGO", "NCCL_BUFFSIZE"}));
  EXPECT_FALSE(are_of_a_library({"NCCL_ALGO", "NCCL_DEBUG"}));
}

TEST(LibraryVariables, OfOthersBeginAlike) {
  EXPECT_TRUE(is_own_variable("RCCL_UNROLL_FACTOR"));
  EXPECT_FALSE(is_own_variable("NCCL_BLOCKING_WAIT"));
  EXPECT_FALSE(is_own_variable("TORCH_NCCL_BLOCKING_WAIT"));
  EXPECT_FALSE(is_own_variable("NCCL_TESTS_SPLIT_MASK"));
}

}  // namespace
}  // namespace assay::sweep
