#include "trace/run.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/output_file.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/rank_part.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

class RunTest : public ::testing::Test {
 protected:
  RunTest() : folder_(fs::temp_directory_path() / fmt::format("assay_run_test_{}", ::getpid())) {
    fs::remove_all(folder_);
  }

  ~RunTest() override { fs::remove_all(folder_); }

  void put(const std::string& name, std::optional<int> rank, int world_size = 2) {
    const std::string info =
        rank ? fmt::format(R"("distributedInfo": {{"rank": {}, "world_size": {}}}, )", *rank,
                           world_size)
             : "";
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(core::write_file(folder_ / name, "{" + info + R"("traceEvents": []})").ok());
  }

  core::Result<trace::Run> read() {
    const std::vector<RankFile> files = ASSAY_TRY(find_rank_files(folder_, warnings_));
    trace::Run run = ASSAY_TRY(read_run(files, 2));
    std::vector<RankFacts> facts;
    for (const RankTrace& rank : run.ranks)
      facts.push_back({.rank = rank.rank, .world_size = rank.trace.world_size.value_or(0)});
    warn_of_missing_ranks(facts, run.unread, run.warnings);
    warn_of_unlike_jobs(facts, run.warnings);
    return run;
  }

  static std::vector<int> ranks_of(const trace::Run& run) {
    std::vector<int> ranks;
    for (const RankTrace& rank : run.ranks)
      ranks.push_back(rank.rank);
    return ranks;
  }

  fs::path folder_;
  model::Warnings warnings_;
};

TEST_F(RunTest, TellsTwoTracesOfOneRankByTheirHeads) {
  put("rank0/trace.json", 3);
  put("rank1/trace.json", 3);
  const auto files = find_rank_files(folder_, warnings_);
  const core::Status checked = check_heads(files.value());
  ASSERT_FALSE(checked.ok());
  EXPECT_THAT(checked.error().message, ::testing::HasSubstr("are both of rank 3"));
}

TEST_F(RunTest, HeadsWithoutARankTellNothing) {
  put("a/rank0/trace.json", std::nullopt);
  put("b/rank0/trace.json", std::nullopt);
  const std::vector<RankFile> files = {{0, folder_ / "a/rank0/trace.json"},
                                       {0, folder_ / "b/rank0/trace.json"}};
  EXPECT_TRUE(check_heads(files).ok());
  EXPECT_FALSE(read_run(files, 2).ok());
}

TEST_F(RunTest, AFileThatCannotBeReadLeavesTheOthers) {
  put("rank0/trace.json", 0);
  std::vector<RankFile> files = {{0, folder_ / "rank0/trace.json"},
                                 {1, folder_ / "rank1/trace.json"}};
  EXPECT_TRUE(check_heads(files).ok());
  const auto run = read_run(files, 2);
  ASSERT_TRUE(run.ok());
  EXPECT_THAT(ranks_of(run.value()), ::testing::ElementsAre(0));
  ASSERT_EQ(run.value().unread.size(), 1U);
  EXPECT_EQ(run.value().unread[0].file.rank, 1);
  files.erase(files.begin());
  EXPECT_FALSE(read_run(files, 2).ok());
}

TEST_F(RunTest, ATraceOfSeveralProcessesIsNotThatOfARank) {
  put("rank0/trace.json", 0);
  ASSERT_TRUE(core::write_file(folder_ / "rank1.json", R"({"traceEvents": [
      {"ph": "X", "cat": "cuda_runtime", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
      {"ph": "X", "cat": "cuda_runtime", "name": "f", "pid": 2, "tid": 1, "ts": 1, "dur": 1}]})")
                  .ok());
  const std::vector<RankFile> files = {{1, folder_ / "rank1.json"}};
  const auto run = read_run(files, 1);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, ::testing::HasSubstr("holds the calls of 2 processes"));
  EXPECT_TRUE(read_run(files, 1, {.processes = Processes::kAny}).ok());
  EXPECT_FALSE(read_rank(files[0], 0, reading_of({})).ok());
  EXPECT_TRUE(read_rank(files[0], 0, reading_of({.compat = Compat::kTraceLens})).ok());
}

TEST_F(RunTest, WarnsOfRanksThatDisagreeAboutTheirNumber) {
  for (int rank = 0; rank < 4; ++rank)
    put(fmt::format("rank{}/trace.json", rank), rank, rank < 3 ? 3 : 4);
  const auto run = read();
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_EQ(run.value().warnings.all().size(), 1U);
  EXPECT_EQ(run.value().warnings.all()[0].example, "of 3: ranks 0, 1 and 2; of 4: rank 3");
}

TEST_F(RunTest, FindsEverySpellingOfARankFolder) {
  put("torch_profiler/rank0/trace.json", 0, 3);
  put("torch_profiler/rank_1/host_12.pt.trace.json", 1, 3);
  put("torch_profiler/rank_02/trace_step6.json", 2, 3);
  const auto run = read();
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_THAT(ranks_of(run.value()), ::testing::ElementsAre(0, 1, 2));
  EXPECT_TRUE(run.value().warnings.empty());
}

TEST_F(RunTest, TheTraceKnowsItsRankBetterThanTheFolder) {
  put("rank0/t.json", 1);
  put("rank1/t.json", 0);
  const auto run = read();
  ASSERT_TRUE(run.ok());
  EXPECT_THAT(ranks_of(run.value()), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(run.value().ranks[0].trace.path, ::testing::HasSubstr("rank1"));
  EXPECT_THAT(run.value().ranks[0].trace.warnings.all()[0].reason,
              ::testing::HasSubstr("the trace says rank 0, its name says rank 1"));
}

std::string collective(int rank, int group_size, const char* name) {
  return fmt::format(
      R"({{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":1,
           "args":{{"Rank":{},"Group size":{},"Collective name":"{}"}}}})",
      rank, group_size, name);
}

TEST_F(RunTest, ARankWithinASmallerGroupIsNoContradiction) {
  const auto put_events =
      [&](const std::string& name, const std::string& events) {
        fs::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name)
            << R"({"distributedInfo": {"rank": 3, "world_size": 4}, "traceEvents": [)" << events
            << "]}";
      };
  put_events("rank3/t.json", collective(1, 2, "wait") + "," + collective(0, 2, "send"));
  EXPECT_TRUE(read().value().ranks[0].trace.warnings.empty());
  put_events("rank3/t.json", collective(1, 2, "allreduce") + "," + collective(3, 4, "allreduce"));
  EXPECT_TRUE(read().value().ranks[0].trace.warnings.empty());
  put_events("rank3/t.json", collective(2, 4, "allreduce") + "," + collective(3, 2, "allreduce"));
  EXPECT_FALSE(read().value().ranks[0].trace.warnings.empty());
}

TEST_F(RunTest, WithoutARankInTheTraceTheNameTellsIt) {
  put("rank5_trace.json", std::nullopt);
  put("rank7_trace.json", std::nullopt);
  const auto run = read();
  ASSERT_TRUE(run.ok());
  EXPECT_THAT(ranks_of(run.value()), ::testing::ElementsAre(5, 7));
}

TEST_F(RunTest, MissingRanksAreCounted) {
  put("rank0/t.json", 0, 4);
  put("rank3/t.json", 3, 4);
  const auto run = read();
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run.value().warnings.all().size(), 1U);
  EXPECT_EQ(run.value().warnings.all()[0].count, 2);
  EXPECT_EQ(run.value().warnings.all()[0].example, "rank 1");
}

TEST_F(RunTest, TwoTracesOfOneRankAreAnError) {
  put("rank0/t.json", 0);
  put("rank1/t.json", 0);
  const auto run = read();
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, ::testing::HasSubstr("both of rank 0"));
}

TEST_F(RunTest, OfSeveralTracesTheLastIsUsedAndSaid) {
  put("rank0/trace_step2.json", 0, 1);
  put("rank0/trace_step6.json", 0, 1);
  const auto run = read();
  ASSERT_TRUE(run.ok());
  EXPECT_THAT(run.value().ranks[0].trace.path, ::testing::HasSubstr("step6"));
  ASSERT_FALSE(warnings_.empty());
}

TEST_F(RunTest, AFolderWithoutTracesSaysWhatWasExpected) {
  fs::create_directories(folder_ / "rank0");
  const auto run = read();
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, ::testing::HasSubstr("expected folders rank0"));
}

class FindRankFiles : public ::testing::Test {
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

TEST_F(FindRankFiles, TakesTheLastIterationOfTorchtitan) {
  for (const char* iteration : {"iteration_10", "iteration_100", "iteration_20"})
    for (const char* file : {"rank0_trace.json", "rank1_trace.json"})
      add(fs::path("profile_traces") / iteration / file);
  EXPECT_EQ(found(),
            "0:profile_traces/iteration_100/rank0_trace.json "
            "1:profile_traces/iteration_100/rank1_trace.json");
  ASSERT_EQ(warnings_.all().size(), 1U);
  EXPECT_EQ(warnings_.all()[0].count, 3);
  EXPECT_THAT(warnings_.all()[0].example, ::testing::EndsWith("iteration_100"));
}

TEST_F(FindRankFiles, IterationsWithoutTracesAreSkipped) {
  add("iteration_10/rank0_trace.json.gz");
  fs::create_directories(folder_ / "iteration_20");
  fs::create_directories(folder_ / "iteration_x");
  EXPECT_EQ(found(), "0:iteration_10/rank0_trace.json.gz");
}

TEST_F(FindRankFiles, TakesTheLastRecordingOfVllm) {
  add("dp0_pp0_tp0_dcp0_ep0_rank0.1784000000000000001.pt.trace.json.gz");
  add("dp0_pp0_tp0_dcp0_ep0_rank0.1785000000000000002.pt.trace.json.gz");
  add("dp0_pp0_tp1_dcp0_ep1_rank1.1784000000000000003.pt.trace.json.gz");
  add("dp0_pp0_tp1_dcp0_ep1_rank1.1785000000000000004.pt.trace.json.gz");
  add("node-a_77.async_llm.1785000000000000000.pt.trace.json.gz");
  EXPECT_EQ(found(),
            "0:dp0_pp0_tp0_dcp0_ep0_rank0.1785000000000000002.pt.trace.json.gz "
            "1:dp0_pp0_tp1_dcp0_ep1_rank1.1785000000000000004.pt.trace.json.gz");
  ASSERT_EQ(warnings_.all().size(), 2U);
}

TEST_F(FindRankFiles, ReadsTheRanksOfSglang) {
  add("1757000000.12-TP-0.trace.json.gz");
  add("1757000000.12-TP-1.trace.json.gz");
  add("merged-1757000000.12.trace.json.gz");
  EXPECT_EQ(found(), "0:1757000000.12-TP-0.trace.json.gz 1:1757000000.12-TP-1.trace.json.gz");
  EXPECT_EQ(warnings_.all().size(), 1U);
}

TEST_F(FindRankFiles, SeveralStagesOfSglangHaveNoRankInTheirNames) {
  add("9-TP-0-DP-0-PP-0-EP-0-DECODE.trace.json.gz");
  add("9-TP-0-DP-0-PP-1-EP-0-DECODE.trace.json.gz");
  EXPECT_EQ(found(),
            "0:9-TP-0-DP-0-PP-0-EP-0-DECODE.trace.json.gz "
            "?:9-TP-0-DP-0-PP-1-EP-0-DECODE.trace.json.gz");
}

TEST_F(FindRankFiles, TellsThatARankMayLackTheLastRun) {
  add("rank0/1.json");
  add("rank1/1.json");
  add("rank1/2.json");
  EXPECT_EQ(found(), "0:rank0/1.json 1:rank1/2.json");
  ASSERT_EQ(warnings_.all().size(), 2U);
  EXPECT_EQ(warnings_.all()[1].reason, "ranks with unequally many traces");
  EXPECT_THAT(warnings_.all()[1].example, ::testing::StartsWith("1 up to '"));
}

TEST_F(FindRankFiles, CountsFoldersWithoutATrace) {
  add("rank0/a.json");
  fs::create_directories(folder_ / "rank1/b.json");
  EXPECT_EQ(found(), "0:rank0/a.json");
  ASSERT_EQ(warnings_.all().size(), 1U);
  EXPECT_THAT(warnings_.all()[0].example, ::testing::EndsWith("rank1"));
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
  EXPECT_THAT(loop.error().message, ::testing::HasSubstr("symbolic links"));
}

TEST_F(FindRankFiles, HostsMayHaveARankInTheirNames) {
  add("rank0_frankfurt-7.pt.trace.json");
  add("rank1_frankfurt-7.pt.trace.json");
  EXPECT_EQ(found(), "0:rank0_frankfurt-7.pt.trace.json 1:rank1_frankfurt-7.pt.trace.json");
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

// A sweep writes its record beside torch_profiler, or beside traces without a folder.
TEST_F(FindRankFiles, RecordsOfRunsAreNoTraces) {
  add("rank0.json");
  add("sweep_run.json");
  EXPECT_EQ(found(), "0:rank0.json");
}

// Slurm and the like leave the choice of folders to the job, which often names them by host.
TEST_F(FindRankFiles, TakesTheFoldersOfHosts) {
  add("node-1/rank0/a.json");
  add("node-1/rank1/a.json");
  add("node-2/rank2/a.json");
  add("node-2/rank3/a.json");
  add("slurm-77.out/notes.txt");
  EXPECT_EQ(found(),
            "0:node-1/rank0/a.json 1:node-1/rank1/a.json 2:node-2/rank2/a.json "
            "3:node-2/rank3/a.json");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(RunTest, OnHostsThatCountFromZeroTheTraceKnowsItsRank) {
  for (int rank = 0; rank < 4; ++rank)
    put(fmt::format("host{}/rank{}.json", rank / 2, rank % 2), rank, 4);
  const auto run = read();
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_THAT(ranks_of(run.value()), ::testing::ElementsAre(0, 1, 2, 3));
}

// Two runs side by side, of which each has a rank 0, are not hosts of one.
TEST_F(FindRankFiles, FoldersThatAreNotOfOneJobAreNoHosts) {
  add("a/rank0.json");
  add("b/rank0.json");
  EXPECT_THAT(found(), ::testing::StartsWith("no traces in"));
}

TEST_F(FindRankFiles, ASweepIsTold) {
  add("sweep.json");
  EXPECT_THAT(found(), ::testing::HasSubstr("is a sweep: 'assay sweep report"));
}

// `sweep run` writes the record when a run has ended well.
TEST_F(FindRankFiles, RunsThatASweepHasNotEndedAreLeftOut) {
  const fs::path setting = folder_ / "8cta";
  for (const char* run : {"repeat1", "repeat2", "repeat3"})
    add(fs::path("8cta") / run / "torch_profiler/rank0/a.json");
  EXPECT_EQ(runs_to_analyze(setting, Compat::kNone, warnings_).value().size(), 3U);
  ASSERT_TRUE(core::write_file(folder_ / "sweep.json", "{}").ok());
  EXPECT_THAT(runs_to_analyze(setting, Compat::kNone, warnings_).error().message,
              ::testing::HasSubstr("has ended well"));
  ASSERT_TRUE(core::write_file(setting / "repeat1/sweep_run.json",
                               R"({"format":"assay-book","version":1,"title":"","tables":[]})")
                  .ok());
  ASSERT_TRUE(core::write_file(setting / "repeat3/sweep_run.json", "garbage").ok());
  warnings_ = {};
  const auto runs = runs_to_analyze(setting, Compat::kNone, warnings_).value();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].repeat, 1);
  ASSERT_EQ(warnings_.all().size(), 1U);
  EXPECT_EQ(warnings_.all()[0].count, 2);
}

TEST_F(FindRankFiles, RepeatsAreTold) {
  for (const char* run : {"repeat10", "repeat2", "repeat1.failed", "repeat03"})
    add(fs::path(run) / "torch_profiler/rank0/a.json");
  EXPECT_THAT(found(), ::testing::HasSubstr("holds repeated runs: name one of them"));
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
