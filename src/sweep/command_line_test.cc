#include "sweep/command_line.h"

#include <gtest/gtest.h>

namespace assay::sweep {
namespace {

using Words = std::vector<std::string>;

TEST(CommandLine, FillsInWhatItKnowsAndNothingElse) {
  const Setting setting{"ring_ll", {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", ""}}};
  const RunPlace place{setting, 2, "/runs/ring_ll", "c.yaml"};
  EXPECT_EQ(
      filled_in({"{dir}/{setting}", "r{repeat}", "{config}", "-x", "A={NCCL_ALGO}{NCCL_PROTO}"},
                place),
      (Words{"/runs/ring_ll/ring_ll", "r2", "c.yaml", "-x", "A=Ring"}));
  const Words untouched{"", "{", "}", "{}", "{{", "{other}", "{\"a\": {}}", "{dir", "--", "[a,b]"};
  EXPECT_EQ(filled_in(untouched, place), untouched);
  EXPECT_EQ(filled_in({"{{dir}}", "{a{dir}"}, place),
            (Words{"{/runs/ring_ll}", "{a/runs/ring_ll"}));
}

TEST(CommandLine, AValueIsNotFilledInAgain) {
  const Setting setting{"s", {{"A", "{dir}"}}};
  EXPECT_EQ(filled_in({"{A}"}, {setting, 1, "/d", ""}), Words{"{dir}"});
}

TEST(CommandLine, IsShownAsOneWouldTypeIt) {
  EXPECT_EQ(shell_text({"python", "train.py", "--a=b", "", "it's", "{dir}"}),
            "python train.py --a=b '' 'it'\\''s' '{dir}'");
}

TEST(Placeholders, AreWhatLooksLikeAName) {
  EXPECT_EQ(placeholders({"{dir}/x{setting}", "${SHELL}", "{\"a\": {}}", "{{jinja}}", "{ x }",
                          "{1}", "{dir}", "{open"}),
            (std::vector<std::string>{"dir", "setting"}));
}

TEST(Placeholders, AreWarnedOfWhereTheyMeanNothing) {
  const Setting setting{"a", {{"X", ""}}};
  const RunPlace place{setting, 1, "/run", ""};
  EXPECT_EQ(placeholder_warnings({"train", "{dir}", "{X}", "{setting}", "{repeat}"}, place).size(),
            0U);
  EXPECT_EQ(placeholder_warnings({"sh", "-c", "train $ASSAY_RUN_DIR"}, place).size(), 0U);
  const auto warnings = placeholder_warnings({"train", "{dri}", "{dri}", "{config}"}, place);
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_NE(warnings[0].find("no {dir}"), std::string::npos);
  EXPECT_NE(warnings[1].find("{dri}"), std::string::npos);
  EXPECT_NE(warnings[2].find("--config"), std::string::npos);
}

}  // namespace
}  // namespace assay::sweep
