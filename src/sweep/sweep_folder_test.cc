#include "sweep/sweep_folder.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/files.h"
#include "core/output_file.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

class SweepFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(::testing::TempDir()) / fmt::format("sweep_folder.{}", ::getpid());
  }

  void TearDown() override { fs::remove_all(path_); }

  static Plan plan() {
    return {.id = "1", .command = {"true"}, .config = "", .settings = {{"a", {}}, {"b", {}}}};
  }

  static RunRecord record(RunStatus status) {
    RunRecord record{.setting = "a", .position = 1, .status = status, .detail = "why"};
    record.duration_s = 1.5;
    record.traces = {1, 2, "rank 1: cut off"};
    record.seen.facts = {{.item = "driver", .value = std::string("580")}};
    record.seen.warnings = {"doubtful"};
    record.seen.not_applied = {"NCCL_ALGO"};
    return record;
  }

  // Begins the run "a" as a command would that says something.
  static RunFiles begin(const SweepFolder& folder) {
    RunFiles files = folder.begin_run("a").value();
    EXPECT_TRUE(core::write_file(files.log, "words").ok());
    return files;
  }

  fs::path path_;
};

TEST_F(SweepFolderTest, GoodRunsKeepTheirName) {
  const SweepFolder folder = SweepFolder::create(path_, plan()).value();
  begin(folder);
  RunRecord made = record(RunStatus::kOk);
  ASSERT_TRUE(folder.end_run("a", made).ok());
  EXPECT_EQ(made.folder, path_ / "a");
  EXPECT_EQ(core::read_file(path_ / "a" / kOutputLog).value(), "words");
  EXPECT_FALSE(fs::exists(path_ / "a.log"));
  const auto records = read_records(path_, plan());
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].setting, "a");
  EXPECT_DOUBLE_EQ(records[0].duration_s, 1.5);
  EXPECT_EQ(records[0].traces.problem, "rank 1: cut off");
  EXPECT_EQ(records[0].seen.warnings, std::vector<std::string>{"doubtful"});
  EXPECT_EQ(records[0].seen.not_applied, std::vector<std::string>{"NCCL_ALGO"});
  EXPECT_EQ(records[0].seen.facts[0].item, "driver");
}

TEST_F(SweepFolderTest, FailedRunsGetAnotherAndTheNewestCounts) {
  const SweepFolder folder = SweepFolder::create(path_, plan()).value();
  for (const RunStatus status : {RunStatus::kFailed, RunStatus::kHung}) {
    ASSERT_TRUE(folder.begin_run("a").ok());
    RunRecord made = record(status);
    ASSERT_TRUE(folder.end_run("a", made).ok());
    EXPECT_FALSE(fs::exists(path_ / "a"));
    const auto records = read_records(path_, plan());
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].status, status);
  }
  EXPECT_TRUE(fs::exists(path_ / "a.failed2"));
}

TEST_F(SweepFolderTest, AFolderIsMendedWhateverTheCommandDidToIt) {
  const SweepFolder folder = SweepFolder::create(path_, plan()).value();
  const RunFiles files = begin(folder);
  EXPECT_EQ(folder.mend_run("a").value(), "");
  fs::remove_all(files.folder);
  EXPECT_EQ(folder.mend_run("a").value(), "the command removed its folder");
  fs::remove_all(files.folder);
  ASSERT_TRUE(core::write_file(files.folder, "x").ok());
  EXPECT_EQ(folder.mend_run("a").value(), "the command put a file in the place of its folder");
  EXPECT_EQ(core::read_file(path_ / "a.file").value(), "x");
  fs::permissions(files.folder, fs::perms::none);
  EXPECT_EQ(folder.mend_run("a").value(), "");
  EXPECT_EQ(fs::status(files.folder).permissions(), fs::perms::owner_all);
}

TEST_F(SweepFolderTest, WhatTheCommandCallsLikeOurFilesIsKept) {
  const SweepFolder folder = SweepFolder::create(path_, plan()).value();
  const RunFiles files = begin(folder);
  ASSERT_TRUE(core::write_file(path_ / "precious", "old").ok());
  ASSERT_TRUE(core::write_file(files.folder / kOutputLog, "own").ok());
  fs::create_symlink(path_ / "precious", files.folder / model::kRunRecordFile);
  RunRecord made = record(RunStatus::kOk);
  ASSERT_TRUE(folder.end_run("a", made).ok());
  EXPECT_EQ(core::read_file(files.folder / "run_output.log.own").value(), "own");
  EXPECT_EQ(core::read_file(path_ / "precious").value(), "old");
  EXPECT_EQ(read_records(path_, plan()).size(), 1U);
}

TEST_F(SweepFolderTest, WhatWasCutOffIsSetAside) {
  const SweepFolder folder = SweepFolder::create(path_, plan()).value();
  ASSERT_TRUE(core::write_file(begin(folder).folder / "half", "x").ok());
  ASSERT_TRUE(folder.begin_run("a").ok());
  EXPECT_TRUE(fs::exists(path_ / "a.unfinished" / "half"));
  EXPECT_TRUE(fs::exists(path_ / "a.unfinished" / kOutputLog));
  EXPECT_FALSE(fs::exists(path_ / "a" / "half"));
  EXPECT_TRUE(read_records(path_, plan()).empty());
}

TEST_F(SweepFolderTest, ADamagedRecordIsNoRecord) {
  const SweepFolder folder = SweepFolder::create(path_, plan()).value();
  const fs::path run = folder.begin_run("a").value().folder;
  ASSERT_TRUE(core::write_file(run / model::kRunRecordFile, "{\"format\":").ok());
  EXPECT_TRUE(read_records(path_, plan()).empty());
}

TEST_F(SweepFolderTest, OneSweepAtATime) {
  const SweepFolder folder = SweepFolder::create(path_, plan()).value();
  EXPECT_FALSE(SweepFolder::create(path_, plan()).ok());
  EXPECT_FALSE(core::FileLock::acquire(path_ / ".sweep.lock", std::chrono::milliseconds(50)).ok());
}

TEST_F(SweepFolderTest, SaysWhoHoldsTheFolderAndWaits) {
  std::optional<SweepFolder> holder = SweepFolder::create(path_, plan()).value();
  std::string said;
  const auto on_wait = [&](const std::string& words) {
    said = words;
    holder.reset();
  };
  EXPECT_TRUE(SweepFolder::reopen(path_, on_wait).ok());
  EXPECT_EQ(said.find(fmt::format("process {} on ", ::getpid())), 0U) << said;
  said.clear();
  EXPECT_TRUE(SweepFolder::reopen(path_, on_wait).ok());
  EXPECT_EQ(said, "");
}

// A sweep that was killed while it wrote its first file leaves only that behind.
TEST_F(SweepFolderTest, AFolderWithAnAbandonedFirstFileIsNew) {
  fs::create_directories(path_);
  std::ofstream(path_ / ".assay-0aaae1dfe9eb7714.tmp") << "{";
  const auto made = SweepFolder::create(path_, plan());
  ASSERT_TRUE(made.ok()) << made.error().message;
}

TEST_F(SweepFolderTest, RefusesForeignFolders) {
  fs::create_directories(path_);
  ASSERT_TRUE(core::write_file(path_ / "thesis", "x").ok());
  const auto refused = SweepFolder::create(path_, plan());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is not empty"), std::string::npos);
  EXPECT_FALSE(SweepFolder::reopen(path_).ok());
}

}  // namespace
}  // namespace assay::sweep
