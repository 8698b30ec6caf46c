#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "core/files.h"
#include "trace/run.h"
#include "trace/run_folders.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

class FindRankFiles : public testing::Test {
 protected:
  FindRankFiles()
      : folder_(fs::temp_directory_path() /
                ("assay_run_discovery_test_" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
  }

  ~FindRankFiles() override { fs::remove_all(folder_); }

  void add(const fs::path& file) const {
    fs::create_directories((folder_ / file).parent_path());
    ASSERT_TRUE(core::write_file(folder_ / file, R"({"traceEvents":[]})").ok());
  }

  // "0:rank0/a.json 1:…", or the error.
  std::string found() {
    const auto files = find_rank_files(folder_, warnings_);
    if (!files.ok()) return files.error().message;
    std::string text;
    for (const RankFile& file : files.value()) {
      text += text.empty() ? "" : " ";
      text += file.rank ? std::to_string(*file.rank) : "?";
      text += ":" + fs::relative(file.path, folder_).string();
    }
    return text;
  }

  fs::path folder_;
  model::Warnings warnings_;
};

TEST_F(FindRankFiles, TakesTheUsualFolderNames) {
  add("torch_profiler/rank0/a.json");
  add("torch_profiler/rank_1/b.json.gz");
  add("torch_profiler/rank_02/c.pt.trace.json");
  EXPECT_EQ(found(),
            "0:torch_profiler/rank0/a.json 2:torch_profiler/rank_02/c.pt.trace.json "
            "1:torch_profiler/rank_1/b.json.gz");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(FindRankFiles, CountsFoldersWithoutATrace) {
  add("rank0/a.json");
  fs::create_directories(folder_ / "rank1/b.json");
  EXPECT_EQ(found(), "0:rank0/a.json");
  ASSERT_EQ(warnings_.all().size(), 1U);
  EXPECT_THAT(warnings_.all()[0].example, testing::EndsWith("rank1"));
}

TEST_F(FindRankFiles, LinksThatLeadNowhereAreNoTraces) {
  add("rank0/a.json");
  fs::create_symlink("rank7", folder_ / "rank7");
  fs::create_symlink("b.json", folder_ / "rank0/b.json");
  fs::create_symlink("nowhere", folder_ / "rank0/c.json");
  EXPECT_EQ(found(), "0:rank0/a.json");
  EXPECT_TRUE(warnings_.empty());

  const auto loop = find_rank_files(folder_ / "rank7", warnings_);
  ASSERT_FALSE(loop.ok());
  EXPECT_THAT(loop.error().message, testing::HasSubstr("symbolic links"));
}

TEST_F(FindRankFiles, NumbersBeyondAnyRunAreNoRanks) {
  add("rank2147483647.json");
  EXPECT_EQ(found(), "?:rank2147483647.json");
}

// `-o` may name the folder of the input.
TEST_F(FindRankFiles, OwnReportsAreNoTraces) {
  add("rank0/a.json");
  add("rank0/rank0_individual_report.json");
  add("rank0_individual_report_csvs/gpu_timeline.csv");
  EXPECT_EQ(found(), "0:rank0/a.json");
  EXPECT_TRUE(warnings_.empty());
}

// A sweep's record lies beside torch_profiler, or beside loose traces.
TEST_F(FindRankFiles, RecordsOfRunsAreNoTraces) {
  add("rank0.json");
  add("sweep_run.json");
  EXPECT_EQ(found(), "0:rank0.json");
}

TEST_F(FindRankFiles, RepeatsAreTold) {
  for (const char* run : {"repeat10", "repeat2", "repeat1.failed", "repeat03"})
    add(fs::path(run) / "torch_profiler/rank0/a.json");
  EXPECT_THAT(found(), testing::HasSubstr("holds repeated runs: name one of them"));
  const std::vector<RunFolder> runs = find_run_folders(folder_);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].repeat, 2);
  EXPECT_EQ(runs[1].path.filename(), "repeat10");
  EXPECT_FALSE(runs_to_analyze(folder_, Compat::kTraceLens, warnings_).ok());

  add("torch_profiler/rank0/a.json");
  EXPECT_EQ(found(), "0:torch_profiler/rank0/a.json");
  EXPECT_EQ(runs_to_analyze(folder_, Compat::kNone, warnings_).value().size(), 1U);
  EXPECT_EQ(warnings_.all().size(), 1U);
}

}  // namespace
}  // namespace assay::trace
