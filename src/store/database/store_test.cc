#include "store/database/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <numeric>
#include <thread>

#include "core/files.h"
#include "core/output_file.h"
#include "core/task.h"
#include "store/database/collection_meta.h"
#include "store/database/store_export.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Mode = Store::Mode;
using Columns = Store::Columns;

const Selection kGemm{.table = "gemm_perf"};

TEST_F(StoreTest, KeepsRunsWithTheirFacts) {
  Store store = open(Mode::kCreate);
  EXPECT_EQ(store.last_run("collect").value(), std::nullopt);
  const std::int64_t first = store.begin_run(test_run()).value();
  const std::int64_t second = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.begin_run(test_run("import")).ok());
  EXPECT_EQ(store.last_run("collect").value(), second);
  const store::Run run = store.run(first).value();
  EXPECT_EQ(run.plan_hash, "p1");
  EXPECT_EQ(run.facts.at("driver"), "580");
  EXPECT_THAT(store.run(99).error().message, HasSubstr("no run 99"));
}

TEST_F(StoreTest, GivesCasesBackAsThePublicTable) {
  Store store = open(Mode::kCreate);
  const std::int64_t run = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.append(run, gemm_case(1, 0.5)).ok());
  ASSERT_TRUE(store.append(run, gemm_case(2, 0.75)).ok());
  const Frame frame = store.table(kGemm, Columns::kPublic).value();
  std::vector<std::string> names;
  for (const FrameColumn& column : frame.columns)
    names.push_back(column.name);
  EXPECT_THAT(names, ElementsAre("framework", "version", "device", "op_name", "kernel_source",
                                 "gemm_dtype", "m", "n", "k", "latency"));
  EXPECT_THAT(latencies(frame), ElementsAre(0.5, 0.75));
  EXPECT_EQ(frame.find("m")->value(1), model::PerfValue(std::int64_t{2}));
  EXPECT_EQ(frame.find("gemm_dtype")->value(0), model::PerfValue(std::string("bfloat16")));
}

TEST_F(StoreTest, GivesStatisticsAndConditionsOnRequest) {
  Store store = open(Mode::kCreate);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), gemm_case(1, 0.5)).ok());
  const Frame frame = store.table(kGemm, Columns::kWithStatistics).value();
  EXPECT_EQ(frame.find("median_ms")->value(0), model::PerfValue(0.5));
  EXPECT_EQ(frame.find("samples")->value(0), model::PerfValue(std::int64_t{2}));
  EXPECT_EQ(frame.find("sm_mhz_before")->value(0), model::PerfValue(std::int64_t{1980}));
  EXPECT_TRUE(frame.find("sm_mhz_after")->is_missing(0));
  EXPECT_EQ(frame.find("slowdowns")->value(0), model::PerfValue(std::string("power cap")));
  EXPECT_EQ(frame.find("throttled")->value(0), model::PerfValue(std::int64_t{1}));
  EXPECT_EQ(frame.find("launch")->value(0), model::PerfValue(std::string("graph")));
}

TEST_F(StoreTest, GivesIntervalsAndWhichCertaintyWasAsked) {
  Store store = open(Mode::kCreate);
  CaseRecord known = gemm_case(1, 0.5);
  known.rows[0].timing.low_ms = 0.45;
  known.rows[0].timing.high_ms = 0.51;
  auto asking = test_run();
  asking.facts[kCertaintyFact] = "2";
  asking.facts[kNumRunsFact] = "0";
  ASSERT_TRUE(store.append(store.begin_run(asking).value(), known).ok());
  CaseRecord difference = gemm_case(2, 0.5);  // another latency than the median
  difference.rows[0].row.latency_ms = 0.25;
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), difference).ok());
  CaseRecord none = gemm_case(3, 0.5);
  none.rows[0].timing.low_ms = 0;
  auto fixed = asking;
  fixed.facts[kNumRunsFact] = "5";
  ASSERT_TRUE(store.append(store.begin_run(fixed).value(), {none, gemm_case(4, 0.5)}).ok());
  const Frame frame = store.table(kGemm, Columns::kWithInterval).value();
  EXPECT_EQ(number_at(*frame.find("interval_low_ms"), 0), 0.45);
  EXPECT_EQ(number_at(*frame.find("interval_high_ms"), 0), 0.51);
  EXPECT_EQ(number_at(*frame.find("samples"), 0), 2);
  EXPECT_NEAR(number_at(*frame.find("certainty_reached"), 0), 0.1, 1e-12);
  EXPECT_EQ(number_at(*frame.find("certainty_asked"), 0), 0.02);
  EXPECT_TRUE(frame.find("interval_low_ms")->is_missing(1));
  EXPECT_EQ(number_at(*frame.find("certainty_reached"), 1), 0);
  for (const std::size_t row : {1, 2, 3})
    EXPECT_TRUE(frame.find("certainty_asked")->is_missing(row)) << row;
  EXPECT_TRUE(frame.find("interval_high_ms")->is_missing(2));
  EXPECT_EQ(number_at(*frame.find("interval_high_ms"), 3), 0.5);
}

TEST_F(StoreTest, AGridIsWithoutWhatRefinedIt) {
  Store store = open(Mode::kCreate);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), gemm_case(16, 0.5)).ok());
  auto refining = test_run();
  refining.facts[kRefinesFact] = "1";
  ASSERT_TRUE(store.append(store.begin_run(refining).value(), gemm_case(12, 0.25)).ok());
  Selection selection = kGemm;
  EXPECT_THAT(latencies(store.table(selection, Columns::kPublic).value()), ElementsAre(0.5, 0.25));
  selection.points = Points::kGrid;
  EXPECT_THAT(latencies(store.table(selection, Columns::kPublic).value()), ElementsAre(0.5));
}

TEST_F(StoreTest, ACaseMeasuredAgainInItsRunReplacesTheOldOne) {
  Store store = open(Mode::kCreate);
  const std::int64_t run = store.begin_run(test_run()).value();
  CaseRecord failed = gemm_case(1, 0);
  failed.outcome = CaseOutcome::kFailed;
  failed.error_class = "OutOfMemory";
  failed.rows.clear();
  ASSERT_TRUE(store.append(run, gemm_case(1, 0.5)).ok());
  ASSERT_TRUE(store.append(run, failed).ok());
  EXPECT_EQ(store.table(kGemm, Columns::kPublic).value().num_rows(), 0U);
  EXPECT_EQ(store.cases(run).value().front().outcome, CaseOutcome::kFailed);
  ASSERT_TRUE(store.append(run, gemm_case(1, 0.25)).ok());
  EXPECT_THAT(latencies(store.table(kGemm, Columns::kPublic).value()), ElementsAre(0.25));
  EXPECT_EQ(store.cases(run).value().size(), 1U);
  EXPECT_THAT(query(file_, "SELECT count(*) FROM timing"), ElementsAre("1"));
}

TEST_F(StoreTest, FactsAreAddedToARunThatWasBegun) {
  Store store = open(Mode::kCreate);
  const std::int64_t run = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.set_facts(run, {{"driver", "590"}, {"resumed", "yes"}}).ok());
  EXPECT_THAT(store.run(run).value().facts,
              ElementsAre(testing::Pair("driver", "590"), testing::Pair("resumed", "yes")));
  EXPECT_FALSE(store.set_facts(run + 1, {{"driver", "590"}}).ok());
}

TEST_F(StoreTest, TellsTheColumnsOfATableWithoutItsRows) {
  Store store = open(Mode::kCreate);
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1}, {3})).ok());
  query(file_, "UPDATE measurement SET key = x''");
  EXPECT_THAT(store.columns("gemm_perf").value(),
              ElementsAre("framework", "version", "device", "op_name", "kernel_source",
                          "gemm_dtype", "m", "latency", "power", "power_limit"));
  EXPECT_TRUE(store.columns("moe_perf").value().empty());
}

TEST_F(StoreTest, TheLatestRunWinsAndOlderOnesStayInTheFile) {
  Store store = open(Mode::kCreate);
  const std::int64_t old = store.begin_run(test_run()).value();
  const std::int64_t recent = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.append(recent, gemm_case(1, 0.5)).ok());
  ASSERT_TRUE(store.append(old, gemm_case(1, 0.75)).ok());
  ASSERT_TRUE(store.append(old, gemm_case(2, 1.0)).ok());
  EXPECT_THAT(latencies(store.table(kGemm, Columns::kPublic).value()), ElementsAre(0.5, 1.0));
  EXPECT_THAT(query(file_, "SELECT latency FROM gemm_perf ORDER BY m"), ElementsAre("0.5", "1.0"));
  EXPECT_THAT(query(file_, "SELECT count(*) FROM measurement"), ElementsAre("3"));
  const std::vector<StoredRun> runs = store.runs().value();
  EXPECT_EQ(runs[0].rows, 2);
  EXPECT_EQ(runs[0].measured, 2);
}

CaseRecord gemm_case_by(const std::string& kernel, std::int64_t m, double latency_ms) {
  CaseRecord made = gemm_case(m, latency_ms);
  made.rows[0].row.kernel_source = kernel;
  return made;
}

TEST_F(StoreTest, ACaseWhoseFastestKernelIsAnotherHidesTheOldRow) {
  Store store = open(Mode::kCreate);
  const std::int64_t old = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.append(old, gemm_case_by("cublaslt", 1, 0.5)).ok());
  ASSERT_TRUE(store.append(old, gemm_case_by("cublaslt", 2, 0.75)).ok());
  const std::int64_t recent = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.append(recent, gemm_case_by("assay", 1, 0.25)).ok());
  EXPECT_THAT(latencies(store.table(kGemm, Columns::kPublic).value()), ElementsAre(0.75, 0.25));
  EXPECT_THAT(query(file_, "SELECT latency FROM gemm_perf ORDER BY m"),
              ElementsAre("0.25", "0.75"));
  EXPECT_EQ(store.list().value().front().rows, 2);
  Selection before = kGemm;
  before.last_run = old;
  EXPECT_THAT(latencies(store.table(before, Columns::kPublic).value()), ElementsAre(0.5, 0.75));
}

TEST_F(StoreTest, KernelsOfOneRunAndOfFilesStayBesideEachOther) {
  Store store = open(Mode::kCreate);
  const std::int64_t run = store.begin_run(test_run()).value();
  CaseRecord both = gemm_case_by("assay", 1, 0.25);
  both.rows.push_back(gemm_case_by("cublaslt", 1, 0.5).rows[0]);
  ASSERT_TRUE(store.append(run, both).ok());
  EXPECT_THAT(latencies(store.table(kGemm, Columns::kPublic).value()), ElementsAre(0.25, 0.5));
  Frame other = gemm_frame({1}, {4});
  other.columns[4].values = same_text("other", 1);
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1}, {3})).ok());
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", other).ok());
  EXPECT_THAT(latencies(store.table(kGemm, Columns::kPublic).value()),
              ElementsAre(0.25, 0.5, 3, 4));
  EXPECT_THAT(query(file_, "SELECT latency FROM gemm_perf ORDER BY latency"),
              ElementsAre("0.25", "0.5", "3.0", "4.0"));
}

TEST_F(StoreTest, ViewsOfAnEarlierVersionAreMadeAnewForWhoWrites) {
  ASSERT_TRUE(
      open(Mode::kCreate).append(test_run("import"), "gemm_perf", gemm_frame({1}, {3})).ok());
  query(file_, "DROP VIEW gemm_perf; CREATE VIEW gemm_perf AS SELECT 7 AS latency");
  open(Mode::kRead);
  EXPECT_THAT(query(file_, "SELECT latency FROM gemm_perf"), ElementsAre("7"));
  open(Mode::kWrite);
  EXPECT_THAT(query(file_, "SELECT latency FROM gemm_perf"), ElementsAre("3.0"));
}

CaseRecord gemm_case_in(model::L2State l2, std::int64_t m, double latency_ms) {
  CaseRecord made = gemm_case(m, latency_ms);
  made.rows[0].timing.l2 = l2;
  return made;
}

TEST_F(StoreTest, RowsAsEnginesFindTheCacheComeFirstUnlessToldOtherwise) {
  using model::L2State;
  Store store = open(Mode::kCreate);
  const auto append = [&](const CaseRecord& one) {
    ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), one).ok());
  };
  append(gemm_case_in(L2State::kEngine, 1, 0.25));
  append(gemm_case_in(L2State::kEngine, 1, 0.5));
  append(gemm_case_in(L2State::kHot, 1, 0.125));
  append(gemm_case_in(L2State::kCold, 2, 1.0));
  append(gemm_case_in(L2State::kHot, 2, 0.75));
  const auto of = [&](std::optional<L2State> l2) {
    Selection selection = kGemm;
    selection.l2 = l2;
    return latencies(store.table(selection, Columns::kPublic).value());
  };
  EXPECT_THAT(of({}), ElementsAre(0.5, 0.75));
  EXPECT_THAT(query(file_, "SELECT latency FROM gemm_perf ORDER BY m"), ElementsAre("0.5", "0.75"));
  EXPECT_THAT(of(L2State::kEngine), ElementsAre(0.5));
  EXPECT_THAT(of(L2State::kCold), ElementsAre(1.0));
  EXPECT_THAT(of(L2State::kHot), ElementsAre(0.125, 0.75));
}

TEST_F(StoreTest, AnImportedTableKeepsItsOwnDuplicates) {
  Store store = open(Mode::kCreate);
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1, 1, 2}, {3, 4, 5})).ok());
  EXPECT_THAT(latencies(store.table(kGemm, Columns::kPublic).value()), ElementsAre(3, 4, 5));
}

TEST_F(StoreTest, AViewJoinsTablesWhoseColumnsDiffer) {
  Store store = open(Mode::kCreate);
  Frame windowed = gemm_frame({7}, {0.5}, "2.0");
  windowed.columns.push_back(
      {.name = "window", .values = std::vector<std::int64_t>{128}, .missing = {}});
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1}, {3})).ok());
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", windowed).ok());
  EXPECT_THAT(query(file_, "SELECT m, \"window\" FROM gemm_perf ORDER BY m"),
              ElementsAre("1", "NULL", "7", "128"));
  const Frame both = store.table(kGemm, Columns::kPublic).value();
  EXPECT_TRUE(both.find("window")->is_missing(0));
  EXPECT_EQ(both.find("window")->value(1), model::PerfValue(std::int64_t{128}));
  Selection only_old = kGemm;
  only_old.version = "1.0";
  EXPECT_EQ(store.table(only_old, Columns::kPublic).value().find("window"), nullptr);
}

TEST_F(StoreTest, KeepsWordsThatJsonEscapesAndMissingValues) {
  Store store = open(Mode::kCreate);
  Frame frame = gemm_frame({1, 2}, {3, 4});
  frame.columns[5].values = TextColumn{.codes = {0, 1}, .words = {"a\"b\\c\n", "é"}};
  frame.columns[6].missing = {false, true};
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", frame).ok());
  const Frame back = store.table(kGemm, Columns::kPublic).value();
  EXPECT_EQ(back.find("gemm_dtype")->value(0), model::PerfValue(std::string("a\"b\\c\n")));
  EXPECT_EQ(back.find("gemm_dtype")->value(1), model::PerfValue(std::string("é")));
  EXPECT_TRUE(back.find("m")->is_missing(1));
}

TEST_F(StoreTest, ListsWhatItHolds) {
  Store store = open(Mode::kCreate);
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1, 2}, {3, 4})).ok());
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), gemm_case(1, 0.5)).ok());
  const std::vector<Content> contents = store.list().value();
  ASSERT_EQ(contents.size(), 2U);
  EXPECT_EQ(contents[0].framework, "VLLM");
  EXPECT_EQ(contents[0].rows, 2);
  EXPECT_EQ(contents[0].first_at, "2026-01-02T03:04:05Z");
  EXPECT_EQ(contents[1].framework, "assay");
  EXPECT_EQ(contents[1].op_name, "gemm");
}

TEST_F(StoreTest, NamesTheTablesThereAre) {
  Store store = open(Mode::kCreate);
  EXPECT_THAT(store.table(kGemm, Columns::kPublic).error().message, HasSubstr("no rows yet"));
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1}, {3})).ok());
  EXPECT_THAT(store.table({.table = "gem_perf"}, Columns::kPublic).error().message,
              HasSubstr("did you mean 'gemm_perf'?"));
}

TEST(CollectionMeta, SaysWhatIsTrueOfATable) {
  const auto facts = parse_collection_meta(
      "runtime: {image: &i x}\ntables:\n  a_perf: {rows: 2, image: *i}\n  b_perf: {rows: 3}\n",
      "it", "a_perf");
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_THAT(facts.value(),
              testing::UnorderedElementsAre(testing::Pair("runtime.image", "x"),
                                            testing::Pair("tables.a_perf.rows", "2"),
                                            testing::Pair("tables.a_perf.image", "x")));
}

TEST(CollectionMeta, NeedNotNameTheTable) {
  const auto facts =
      parse_collection_meta("runtime: {version: 1}\ntables: {b_perf: {rows: 3}}\n", "it", "a_perf");
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_THAT(facts.value(), testing::ElementsAre(testing::Pair("runtime.version", "1")));
}

TEST(CollectionMeta, RefusesAliasesThatHoldThemselvesOrTooMuch) {
  const auto problem = [](const std::string& text) {
    const auto facts = parse_collection_meta(text, "it", "a_perf");
    return facts.ok() ? "" : facts.error().message;
  };
  EXPECT_EQ(problem("a: &a\n  b: *a\n"), "it: more values than a description of tables has");
  std::string billions = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 30; ++i)
    billions += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {x: *a" +
                std::to_string(i - 1) + ", y: *a" + std::to_string(i - 1) + "}\n";
  EXPECT_EQ(problem(billions), "it: more values than a description of tables has");
}

TEST(StoreExport, ATableGoesToTheFolderOfItsDeclaration) {
  EXPECT_EQ(family_of("gemm_perf"), "gemm");
  EXPECT_EQ(family_of("mla_bmm_perf"), "mla_bmm");
  EXPECT_EQ(family_of("trtllm_alltoall_perf"), "comm");
  EXPECT_EQ(family_of("moe_a2a_perf"), "comm");
  EXPECT_EQ(family_of("memory_op_perf"), "memory_op");
}

TEST_F(StoreTest, RefusesATableWithTheNameOfItsOwn) {
  Store store = open(Mode::kCreate);
  const auto status = store.append(test_run("import"), "run", gemm_frame({1}, {3}));
  EXPECT_THAT(status.error().message, HasSubstr("cannot have the name 'run'"));
  EXPECT_TRUE(store.runs().value().empty());
}

TEST_F(StoreTest, RefusesWhatIsNoStore) {
  EXPECT_THAT(Store::open(file_, Mode::kRead).error().message, HasSubstr("no such store"));
  EXPECT_THAT(Store::open(folder_, Mode::kRead).error().message, HasSubstr("a folder"));
  std::ofstream(file_) << "framework,version,device\n" << std::string(2000, 'x');
  EXPECT_THAT(Store::open(file_, Mode::kCreate).error().message, HasSubstr("no SQLite file"));
  std::filesystem::remove(file_);
  query(file_, "CREATE TABLE other(x)");
  EXPECT_THAT(Store::open(file_, Mode::kCreate).error().message, HasSubstr("another program's"));
  std::filesystem::remove(file_);
  std::ofstream(file_).close();
  EXPECT_THAT(Store::open(file_, Mode::kRead).error().message, HasSubstr("an empty file"));
}

TEST_F(StoreTest, RefusesAStoreOfANewerVersion) {
  open(Mode::kCreate);
  query(file_, "PRAGMA user_version = 2");
  for (const Mode mode : {Mode::kRead, Mode::kWrite, Mode::kCreate})
    EXPECT_THAT(Store::open(file_, mode).error().message, HasSubstr("a newer assay wrote"));
}

TEST_F(StoreTest, TellsADamagedFile) {
  {
    Store store = open(Mode::kCreate);
    std::vector<std::int64_t> m(5000);
    ASSERT_TRUE(store
                    .append(test_run("import"), "gemm_perf",
                            gemm_frame(m, std::vector<double>(m.size(), 1.0)))
                    .ok());
  }
  const auto size = std::filesystem::file_size(file_);
  std::string bytes = core::read_file(file_).value();
  bytes.replace(20'000, 100'000, std::string(100'000, '\x5A'));
  ASSERT_TRUE(core::write_file(file_, bytes).ok());
  const auto overwritten = Store::open(file_, Mode::kRead);
  const auto rows = overwritten.ok() ? overwritten.value().table(kGemm, Columns::kPublic)
                                     : core::Result<Frame>(overwritten.error());
  ASSERT_FALSE(rows.ok());
  EXPECT_THAT(rows.error().message, HasSubstr("damaged"));
  std::filesystem::resize_file(file_, size / 2);
  EXPECT_THAT(Store::open(file_, Mode::kRead).error().message, HasSubstr("damaged"));
}

// SQLite gives a zero-length blob as a null pointer.
TEST_F(StoreTest, ARowWithAnEmptyKeyIsDamage) {
  Store store = open(Mode::kCreate);
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1}, {3})).ok());
  query(file_, "UPDATE measurement SET key = x''");
  EXPECT_THAT(store.table(kGemm, Columns::kPublic).error().message,
              HasSubstr("damaged: a row's key is ''"));
}

TEST_F(StoreTest, ReadingLeavesNothingBesideTheFile) {
  {
    Store store = open(Mode::kCreate);
    ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({1}, {3})).ok());
  }
  const std::string before = core::read_file(file_).value();
  {
    Store store = open(Mode::kRead);
    EXPECT_EQ(store.table(kGemm, Columns::kPublic).value().num_rows(), 1U);
    EXPECT_FALSE(store.begin_run(test_run()).ok());
  }
  EXPECT_EQ(core::list_directory(folder_).value().size(), 1U);
  EXPECT_EQ(core::read_file(file_).value(), before);
}

TEST_F(StoreTest, ReadersSeeWhatIsCommittedWhileOneWrites) {
  Store writer = open(Mode::kCreate);
  const std::int64_t run = writer.begin_run(test_run()).value();
  ASSERT_TRUE(writer.append(run, gemm_case(1, 0.5)).ok());
  Store reader = open(Mode::kRead);
  EXPECT_EQ(reader.table(kGemm, Columns::kPublic).value().num_rows(), 1U);
  ASSERT_TRUE(writer.append(run, gemm_case(2, 0.5)).ok());
  EXPECT_EQ(reader.table(kGemm, Columns::kPublic).value().num_rows(), 2U);
}

// Appends until the process is killed, and tells through the pipe what is committed.
[[noreturn]] void append_for_ever(const std::filesystem::path& file, int pipe) {
  auto store = Store::open(file, Mode::kCreate);
  const auto run = store.value().begin_run(test_run());
  for (std::int64_t m = 1;; ++m) {
    if (!store.value().append(run.value(), gemm_case(m, 1.0)).ok()) ::_exit(1);
    if (::write(pipe, &m, sizeof(m)) != sizeof(m)) ::_exit(1);
  }
}

TEST_F(StoreTest, TakesTheRunsOfAnotherStore) {
  Store other = Store::open(folder_ / "other.db", Mode::kCreate).value();
  const std::int64_t first = other.begin_run(test_run()).value();
  ASSERT_TRUE(other.append(first, gemm_case(1, 0.5)).ok());
  store::Run refining = test_run();
  refining.started_at = "2026-01-03T03:04:05Z";
  refining.facts[kRefinesFact] = std::to_string(first);
  const std::int64_t second = other.begin_run(refining).value();
  ASSERT_TRUE(other.append(second, gemm_case(2, 0.75)).ok());
  Store store = open(Mode::kCreate);
  store::Run own = test_run();
  own.started_at = "2025-12-31T03:04:05Z";
  ASSERT_TRUE(store.append(store.begin_run(own).value(), gemm_case(3, 1)).ok());

  const std::vector<MergedRun> merged = store.merge(other, {}).value();
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].rows, 1);
  const Frame frame = store.table(kGemm, Columns::kWithStatistics).value();
  EXPECT_THAT(latencies(frame), testing::UnorderedElementsAre(0.5, 0.75, 1));
  EXPECT_EQ(frame.find("samples")->value(1), model::PerfValue(std::int64_t{2}));
  const std::vector<StoredRun> runs = store.runs().value();
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[2].run.facts.at(kRefinesFact), std::to_string(runs[1].id));
  EXPECT_EQ(runs[2].measured, 1);

  for (const MergedRun& again : store.merge(other, {}).value())
    EXPECT_TRUE(again.is_known);
  EXPECT_EQ(store.runs().value().size(), 3U);
}

TEST_F(StoreTest, TakesARunOnceThoughTwoTakeItAtTheSameTime) {
  {
    Store other = Store::open(folder_ / "other.db", Mode::kCreate).value();
    const std::int64_t run = other.begin_run(test_run()).value();
    std::vector<CaseRecord> records;
    for (std::int64_t m = 1; m <= 2000; ++m)
      records.push_back(gemm_case(m, 0.5));
    ASSERT_TRUE(other.append(run, records).ok());
  }
  open(Mode::kCreate);
  const auto merge = [&] {
    const Store other = Store::open(folder_ / "other.db", Mode::kRead).value();
    Store store = Store::open(file_, Mode::kWrite).value();
    EXPECT_TRUE(store.merge(other, {}).ok());
  };
  std::thread first(merge);
  std::thread second(merge);
  first.join();
  second.join();
  EXPECT_EQ(open(Mode::kRead).runs().value().size(), 1U);
}

// Work for a task that is to stop from the beginning.
class StoppedWork {
 private:
  std::int32_t stop_ = 1;
  core::Task task_{nullptr, &stop_};
  core::WorkingFor working_{&task_};
};

Frame many_rows() {
  std::vector<std::int64_t> m(20'000);
  std::iota(m.begin(), m.end(), 1);
  return gemm_frame(m, std::vector<double>(m.size(), 1));
}

TEST_F(StoreTest, WorkThatIsToStopEndsBeforeItsRowsDo) {
  Store store = open(Mode::kCreate);
  ASSERT_TRUE(store.append(test_run("import"), "gemm_perf", many_rows()).ok());
  Store other = Store::in_memory().value();
  {
    const StoppedWork stopped;
    EXPECT_EQ(store.list().error().message, "interrupted");
    EXPECT_EQ(store.table(kGemm, Columns::kPublic).error().message, "interrupted");
    EXPECT_EQ(store.append(test_run("import"), "gemm_perf", many_rows()).error().message,
              "interrupted");
    EXPECT_EQ(other.merge(store, {}).error().message, "interrupted");
  }
  EXPECT_EQ(store.runs().value().size(), 1U);
  EXPECT_TRUE(other.runs().value().empty());
  EXPECT_EQ(store.table(kGemm, Columns::kPublic).value().num_rows(), 20'000U);
  EXPECT_EQ(other.merge(store, {}).value().front().rows, 20'000);
}

TEST_F(StoreTest, WhatWasMeasuredIsKeptThoughTheWorkIsToStop) {
  Store store = open(Mode::kCreate);
  const std::int64_t run = store.begin_run(test_run()).value();
  std::vector<CaseRecord> records;
  for (std::int64_t m = 1; m <= 2000; ++m)
    records.push_back(gemm_case(m, 1));
  const StoppedWork stopped;
  EXPECT_TRUE(store.append(run, records).ok());
}

// While one exists, root writes to no more than other users do: to what permissions allow.
class WithinPermissions {
 public:
  WithinPermissions() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_.data()), 0);
    Rights fewer = before_;
    fewer[0].effective &= ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
    EXPECT_EQ(::syscall(SYS_capset, &header_, fewer.data()), 0);
  }

  WithinPermissions(const WithinPermissions&) = delete;
  WithinPermissions& operator=(const WithinPermissions&) = delete;

  ~WithinPermissions() { EXPECT_EQ(::syscall(SYS_capset, &header_, before_.data()), 0); }

 private:
  using Rights = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  Rights before_{};
};

TEST_F(StoreTest, ALogThatCannotBeReadIsNamed) {
  Store writing = open(Mode::kCreate);
  ASSERT_TRUE(writing.append(test_run("import"), "gemm_perf", gemm_frame({1}, {1})).ok());
  const fs::path folder = folder_ / "copied";
  const fs::path store = folder / "test.db";
  fs::create_directories(folder);
  fs::copy_file(file_, store);
  fs::copy_file(file_.string() + "-wal", store.string() + "-wal");
  fs::permissions(folder, fs::perms(0555));
  {
    const WithinPermissions reader;
    const auto read = Store::open(store, Mode::kRead);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message,
                HasSubstr(store.string() + ": its last rows are in " + store.string() + "-wal"));
    EXPECT_THAT(read.error().message, HasSubstr("copy both files to a folder of your own"));
  }
  fs::permissions(folder, fs::perms(0755));
  EXPECT_EQ(
      Store::open(store, Mode::kRead).value().table(kGemm, Columns::kPublic).value().num_rows(),
      1U);
}

TEST_F(StoreTest, TakesOnlyTheTablesThatAreNamed) {
  Store other = Store::open(folder_ / "other.db", Mode::kCreate).value();
  ASSERT_TRUE(other.append(other.begin_run(test_run()).value(), gemm_case(1, 0.5)).ok());
  Store store = open(Mode::kCreate);
  EXPECT_TRUE(store.merge(other, {"nccl_perf"}).value().empty());
  EXPECT_TRUE(store.runs().value().empty());
  EXPECT_EQ(store.merge(other, {"nccl_perf", "gemm_perf"}).value().front().rows, 1);
}

TEST_F(StoreTest, AKillLosesNothingThatWasCommitted) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) append_for_ever(file_, ends[1]);
  ::close(ends[1]);
  std::int64_t last = 0;
  std::int64_t next = 0;
  // Waits for the first commit, which a busy machine delays.
  ASSERT_EQ(::read(ends[0], &last, sizeof(last)), static_cast<::ssize_t>(sizeof(last)));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (::read(ends[0], &next, sizeof(next)) == sizeof(next))
    last = next;
  ::close(ends[0]);
  ASSERT_GT(last, 0);
  Store store = open(Mode::kWrite);
  const std::int64_t run = store.last_run("collect").value().value();
  const auto cases = static_cast<std::int64_t>(store.cases(run).value().size());
  EXPECT_GE(cases, last);
  EXPECT_LE(cases, last + 1);
  EXPECT_EQ(store.table(kGemm, Columns::kPublic).value().num_rows(),
            static_cast<std::size_t>(cases));
  EXPECT_THAT(query(file_, "PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(query(file_, "PRAGMA foreign_key_check"), ElementsAre());
}

}  // namespace
}  // namespace assay::store
