#include "sweep/conditions.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/output_file.h"
#include "model/facts.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Conditions, ChangedFilesAndVariablesAreTold) {
  const std::string file = ::testing::TempDir() + fmt::format("conditions.{}.yaml", ::getpid());
  ASSERT_TRUE(core::write_file(file, "batch: 1").ok());
  ::setenv("NCCL_ASSAY_TEST", "1", 1);
  ::setenv("NCCL_ASSAY_SWEPT", "1", 1);
  const Settings settings = {{"a", {{"NCCL_ASSAY_SWEPT", "2"}}}};
  const std::vector<std::string> files = {"train", file, ""};
  const Conditions before = present_conditions(files, settings);
  EXPECT_EQ(before.count("NCCL_ASSAY_SWEPT"), 0U);
  EXPECT_THAT(differences(before, present_conditions(files, settings)), IsEmpty());
  ASSERT_TRUE(core::write_file(file, "batch: 2").ok());
  ::unsetenv("NCCL_ASSAY_TEST");
  ::unsetenv("NCCL_ASSAY_SWEPT");
  const Conditions after = present_conditions(files, settings);
  EXPECT_THAT(differences(before, after),
              ElementsAre("NCCL_ASSAY_TEST was '1' when the sweep began and is not set",
                          "file " + file + " has changed since the sweep began"));
  EXPECT_THAT(differences({}, after), IsEmpty());
  std::filesystem::remove(file);
}

class ConditionFiles : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(path_ / "sweep/a/repeat1"); }

  void TearDown() override { fs::remove_all(path_); }

  // Writes a file and gives it a time, in seconds from a fixed one.
  std::string write(const std::string& name, const std::string& text, int seconds) const {
    const fs::path file = path_ / name;
    EXPECT_TRUE(core::write_file(file, text).ok());
    fs::last_write_time(file, start_ + std::chrono::seconds(seconds));
    return file.string();
  }

  fs::path path_ = fs::path(::testing::TempDir()) / fmt::format("conditions.{}", ::getpid());
  fs::file_time_type start_ = fs::file_time_type::clock::now();
};

TEST_F(ConditionFiles, LargeOnesAreToldApartBySizeAndTimeAlone) {
  const std::string large((1 << 20) + 1, 'x');
  const std::string file = write("data.bin", large, 0);
  const Conditions before = present_conditions({file}, {});
  EXPECT_EQ(before.begin()->second.find(fmt::format("{} bytes of time ", large.size())), 0U);
  write("data.bin", std::string(large.size(), 'y'), 0);
  EXPECT_EQ(present_conditions({file}, {}), before);
  write("data.bin", large, 1);
  EXPECT_NE(present_conditions({file}, {}), before);
}

TEST_F(ConditionFiles, WhatWasWrittenWhileTheSweepRanIsNotTold) {
  const std::string log = write("job.log", "", 0);
  const std::string script = write("train.py", "1", 0);
  const Conditions stored = present_conditions({log, script}, {});
  write("job.log", "run 1", 5);
  write("train.py", "2", 20);
  write(std::string("sweep/a/repeat1/") + model::kRunRecordFile, "{}", 10);
  write("sweep/sweep_report.json", "{}", 30);  // a report is no run
  const Conditions present =
      without_files_of_runs(present_conditions({log, script}, {}), stored, path_ / "sweep");
  EXPECT_THAT(differences(stored, present),
              ElementsAre("file " + script + " has changed since the sweep began"));
}

}  // namespace
}  // namespace assay::sweep
