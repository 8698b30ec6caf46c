#include "sweep/conditions.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

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

  // A clock of files may be slow to go on, so that each end of a run is clearly between others.
  void end_run() const {
    constexpr std::chrono::milliseconds kClearly{50};
    std::this_thread::sleep_for(kClearly);
    const fs::path record = path_ / "sweep/a/repeat1" / model::kRunRecordFile;
    ASSERT_TRUE(core::write_file(record, "{}").ok());
    std::this_thread::sleep_for(kClearly);
  }

  [[nodiscard]] std::vector<std::string> changed(const std::vector<std::string>& files,
                                                 const Conditions& stored,
                                                 const std::vector<std::string>& told = {}) const {
    return differences(stored, without_files_of_runs(present_conditions(files, {}), stored,
                                                     path_ / "sweep", told));
  }

  static std::string is_told(const std::string& file) {
    return "file " + file + " has changed since the sweep began";
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
  write("job.log", "run 1", 0);
  end_run();
  write("train.py", "2", 0);
  write("sweep/sweep_report.json", "{}", 30);  // a report is no run
  EXPECT_THAT(changed({log, script}, stored), ElementsAre(is_told(script)));
}

TEST_F(ConditionFiles, ThatWereMovedOrCopiedHereWithAnOldTimeAreTold) {
  const std::string script = write("train.py", "1", 0);
  const Conditions stored = present_conditions({script}, {});
  end_run();
  fs::rename(write("other.py", "2", -1000), script);
  EXPECT_THAT(changed({script}, stored), ElementsAre(is_told(script)));
}

// The runs after a change are no excuse for it.
TEST_F(ConditionFiles, ThatWereToldStayTold) {
  const std::string log = write("job.log", "", 0);
  const std::string script = write("train.py", "1", 0);
  const Conditions stored = present_conditions({log, script}, {});
  write("job.log", "run 1", 0);
  write("train.py", "2", 0);
  end_run();
  EXPECT_THAT(changed({log, script}, stored), IsEmpty());
  EXPECT_THAT(changed({log, script}, stored, {"another warning", is_told(script)}),
              ElementsAre(is_told(script)));
  write("train.py", "1", 0);
  EXPECT_THAT(changed({log, script}, stored, {is_told(script)}), IsEmpty());
}

}  // namespace
}  // namespace assay::sweep
