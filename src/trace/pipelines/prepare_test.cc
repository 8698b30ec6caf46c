#include "trace/pipelines/prepare.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "core/output_file.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kWhole = R"({"traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1}]})";
constexpr const char* kCut = R"({"traceEvents": [{"ph": "X", "cat": "ker)";

class FindInputFiles : public ::testing::Test {
 protected:
  FindInputFiles()
      : folder_(fs::temp_directory_path() /
                fmt::format("assay_prepare_test_{}_{}",
                            ::getpid(),
                            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(folder_);
  }

  ~FindInputFiles() override { fs::remove_all(folder_); }

  void add(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(core::write_file(folder_ / name, text).ok());
  }

  [[nodiscard]] InputFiles found(Compat compat = Compat::kNone) const {
    return find_input_files(std::vector{folder_}, compat).value();
  }

  fs::path folder_;
};

TEST_F(FindInputFiles, ABrokenTraceOfTheOnlyRankGivesWayToTheOneBeforeIt) {
  add("rank0/1.json", kCut);
  add("rank0/2.json", kWhole);
  add("rank0/3.json", "");
  add("rank0/4.json", kCut);
  const InputFiles files = found();
  ASSERT_EQ(files.files.size(), 1U);
  EXPECT_THAT(files.files[0].path.string(), EndsWith("rank0/2.json"));
  ASSERT_EQ(files.warnings.all().size(), 2U);
  const model::Warning& warning = files.warnings.all()[1];
  EXPECT_EQ(warning.count, 2);
  EXPECT_THAT(warning.example, HasSubstr("rank0/4.json': cut off"));
  EXPECT_THAT(warning.example, EndsWith("; used is '2.json'"));
}

TEST_F(FindInputFiles, TheLastTraceStaysWhereNoneIsWhole) {
  add("rank0/1.json", kCut);
  add("rank0/2.json", kCut);
  EXPECT_THAT(found().files[0].path.string(), EndsWith("rank0/2.json"));
  EXPECT_EQ(found().warnings.all().size(), 1U);
}

TEST_F(FindInputFiles, RunsOfTwoTimesAreNotMixed) {
  add("rank0/1.json", kWhole);
  add("rank0/2.json", kCut);
  add("rank1/1.json", kWhole);
  add("rank1/2.json", kWhole);
  EXPECT_THAT(found().files[0].path.string(), EndsWith("rank0/2.json"));
  EXPECT_THAT(found().files[1].path.string(), EndsWith("rank1/2.json"));
}

TEST_F(FindInputFiles, ThePublicToolTakesTheLastWhateverItIs) {
  add("rank0/1.json", kWhole);
  add("rank0/2.json", kCut);
  EXPECT_THAT(found(Compat::kTraceLens).files[0].path.string(), EndsWith("rank0/2.json"));
}

}  // namespace
}  // namespace assay::trace
