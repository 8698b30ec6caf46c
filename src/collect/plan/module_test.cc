#include "collect/plan/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "core/output_file.h"

namespace assay::collect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A script of the shell stands for Python and prints what a module lists.
class ListModule : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("assay-module-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  core::Result<ModuleListing> list(const std::string& output) {
    const std::filesystem::path script = folder_ / "list.sh";
    EXPECT_TRUE(core::write_file(script, "cat <<'END'\n" + output + "\nEND\n").ok());
    return list_module(
        {.python = "/bin/sh", .script = script, .engine = {}, .module = "collect_x.py"});
  }

  std::string problem(const std::string& output) {
    const auto listed = list(output);
    return listed.ok() ? "" : listed.error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(ListModule, ReadsOperatorsAfterWhatTheModulePrints) {
  const auto listed = list(
      "loading\n"
      R"({"operators":[{"name":"x_context","cases":[[1,"a"],[2,"a"]]}]})");
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  ASSERT_EQ(listed.value().operators.size(), 1U);
  EXPECT_EQ(listed.value().operators[0].name, "x_context");
  EXPECT_THAT(listed.value().operators[0].cases, ElementsAre(R"([1,"a"])", R"([2,"a"])"));
}

TEST_F(ListModule, NamesTheFieldThatIsOfAnotherKind) {
  EXPECT_EQ(problem(R"({"operators":5})"),
            "collect_x.py: what the module lists has a field 'operators' that is not a list: 5");
  EXPECT_THAT(problem(R"({"operators":[5]})"), HasSubstr("'operators' that is not a list of obj"));
  EXPECT_THAT(problem(R"({"operators":[{"name":7,"cases":[]}]})"),
              HasSubstr("'name' that is not a text: 7"));
  EXPECT_THAT(problem(R"({"operators":[{"cases":[]}]})"),
              HasSubstr("'name' that is not a text: null"));
  EXPECT_THAT(problem(R"({"operators":[{"name":"x"}]})"), HasSubstr("'cases' that is not a list"));
  EXPECT_THAT(problem(R"({"operators":[{"name":"x","cases":[1]}]})"),
              HasSubstr("'cases' that is not a list of lists: 1"));
  EXPECT_THAT(problem(R"({"fatal":{"a":1}})"), HasSubstr("'fatal' that is not a text"));
}

TEST_F(ListModule, TellsOfOperatorsThatAreLeftOut) {
  const auto listed = list(R"({"operators":[],"notes":["left out: y: no torch"]})");
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  EXPECT_THAT(listed.value().notes, ElementsAre("left out: y: no torch"));
  EXPECT_THAT(problem(R"({"operators":[],"notes":[1]})"), HasSubstr("'notes' that is not a list"));
}

TEST_F(ListModule, SaysWhatTheProgramSaidInstead) {
  EXPECT_EQ(problem(R"json({"fatal":"collect_x has no run_x()"})json"), "collect_x has no run_x()");
  EXPECT_THAT(problem("no JSON"), HasSubstr("ended with exit code 0: no JSON"));
}

}  // namespace
}  // namespace assay::collect
