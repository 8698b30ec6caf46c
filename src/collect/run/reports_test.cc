#include "collect/run/reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "core/files.h"
#include "report/test_support.h"

namespace assay::collect {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using store::CaseOutcome;
using testing::HasSubstr;
using testing::MatchesRegex;

const PlannedCase kCase{.operator_name = "gemm", .id = "gemm m=1 n=2", .json = R"({"m":1,"n":2})"};

FinishedCase failure(const std::string& device_id = "3") {
  return {.planned = &kCase,
          .outcome = CaseOutcome::kFailed,
          .reason = "no end within 60 s",
          .error_class = "CaseTimeout",
          .traceback = "line 1\nline 2",
          .doing = "time",
          .device_id = device_id};
}

store::StoredCase stored(const store::CaseRecord& record) {
  return {.id = record.id,
          .outcome = record.outcome,
          .operator_name = record.operator_name,
          .reason = record.reason,
          .error_class = record.error_class,
          .detail = record.detail};
}

Tally tally_of(const std::vector<store::StoredCase>& cases) {
  Plan plan;
  for (const store::StoredCase& one : cases)
    plan.cases.push_back({.operator_name = one.operator_name, .id = one.id, .json = "{}"});
  Tally tally(plan);
  for (const store::StoredCase& one : cases)
    tally.add(one);
  return tally;
}

json read(const fs::path& file) {
  constexpr bool kThrow = false;
  return json::parse(core::read_file(file).value(), nullptr, kThrow);
}

TEST(CollectReports, AFailureHasThePublicCollectorsFields) {
  const auto record = record_of(failure(), "assay");
  const json detail = json::parse(record.detail);
  EXPECT_EQ(detail["module"], "assay.gemm");
  EXPECT_EQ(detail["device_id"], 3);
  EXPECT_EQ(detail["task_id"], "gemm m=1 n=2");
  EXPECT_EQ(detail["task_params"], json::parse(R"({"m":1,"n":2})"));
  EXPECT_EQ(detail["error_type"], "CaseTimeout");
  EXPECT_EQ(detail["error_message"], "no end within 60 s");
  EXPECT_EQ(detail["traceback"], "line 1\nline 2");
  EXPECT_EQ(detail["doing"], "time");
  EXPECT_THAT(detail["timestamp"].get<std::string>(), MatchesRegex("....-..-..T..:..:.."));
}

TEST(CollectReports, SeveralGpusAndTheCpuAreNamesNotNumbers) {
  EXPECT_EQ(json::parse(record_of(failure("0,1"), "assay").detail)["device_id"], "0,1");
  EXPECT_EQ(json::parse(record_of(failure("cpu"), "assay").detail)["device_id"], "cpu");
}

TEST(CollectReports, WordsThatAreNoUtf8DoNotBreakTheFile) {
  FinishedCase broken = failure();
  broken.reason = "bad \xff byte";
  const json detail = json::parse(record_of(broken, "assay").detail);
  EXPECT_THAT(detail["error_message"].get<std::string>(), HasSubstr("bad \xEF\xBF\xBD byte"));
}

TEST(CollectReports, OnlyFailuresHaveADetail) {
  FinishedCase skipped{.planned = &kCase, .outcome = CaseOutcome::kSkipped, .reason = "no FP8"};
  const auto record = record_of(skipped, "assay");
  EXPECT_EQ(record.detail, "");
  EXPECT_EQ(record.reason, "no FP8");
}

TEST(CollectReports, SummaryAndErrorsAreFiles) {
  const report::TemporaryFolder folder;
  const store::StoredCase failed = stored(record_of(failure(), "assay"));
  const Tally tally =
      tally_of({failed,
                {.id = "moe 1", .outcome = CaseOutcome::kMeasured, .operator_name = "moe"},
                {.id = "moe 2",
                 .outcome = CaseOutcome::kSkipped,
                 .operator_name = "moe",
                 .reason = "no FP8"}});
  const ReportHeading heading{.backend = "assay", .version = "0.1.0"};
  ASSERT_TRUE(write_reports(
                  folder.path(), heading, tally,
                  time_use({{.operator_name = "gemm", .wall_ms = 10, .parts = {.kernels_ms = 8}}}))
                  .ok());
  const json summary = read(folder.path() / "collection_summary_assay.json");
  EXPECT_EQ(summary["summary"]["total_errors"], 1);
  EXPECT_EQ(summary["summary"]["errors_by_module"], json::parse(R"({"assay.gemm":1})"));
  EXPECT_EQ(summary["summary"]["errors_by_type"], json::parse(R"({"CaseTimeout":1})"));
  EXPECT_EQ(summary["summary"]["skipped_by_reason"], json::parse(R"({"moe":{"no FP8":1}})"));
  EXPECT_EQ(summary["summary"]["operators"]["moe"]["skipped"], 1);
  EXPECT_EQ(summary["errors"].size(), 1U);
  EXPECT_EQ(read(folder.path() / "errors_assay.gemm.json")[0]["task_id"], "gemm m=1 n=2");
  EXPECT_FALSE(fs::exists(folder.path() / "errors_assay.moe.json"));
}

TEST(CollectReports, ADamagedDetailStillTellsTheCase) {
  const report::TemporaryFolder folder;
  store::StoredCase failed = stored(record_of(failure(), "assay"));
  failed.detail = "{";
  ASSERT_TRUE(
      write_reports(folder.path(), {.backend = "assay", .version = ""}, tally_of({failed}), {})
          .ok());
  const json error = read(folder.path() / "errors_assay.gemm.json")[0];
  EXPECT_EQ(error["task_id"], "gemm m=1 n=2");
  EXPECT_EQ(error["error_type"], "CaseTimeout");
}

TEST(CollectReports, FoldersOfOneSecondDiffer) {
  const report::TemporaryFolder folder;
  const fs::path first = make_report_folder(folder.path(), {"gemm", "moe"}).value();
  const fs::path second = make_report_folder(folder.path(), {"gemm", "moe"}).value();
  EXPECT_NE(first, second);
  EXPECT_THAT(first.filename().string(), MatchesRegex("gemm\\+moe_........_......"));
  EXPECT_TRUE(fs::is_directory(first));
  link_latest(first);
  link_latest(second);
  EXPECT_TRUE(fs::equivalent(folder.path() / "reports" / "latest", second));
}

TEST(CollectReports, RemovesWhatAKilledRunLeft) {
  const report::TemporaryFolder folder;
  const fs::path old = folder.path() / "reports" / "gemm_20260101_000000";
  fs::create_directories(old);
  for (const char* name : {".assay-0123456789abcdef.tmp", "collection_summary_assay.json"})
    std::ofstream(old / name) << "{}";
  ASSERT_TRUE(make_report_folder(folder.path(), {"gemm"}).ok());
  EXPECT_EQ(core::list_directory(old).value().size(), 1U);
}

TEST(CollectReports, ManyOperatorsAreCountedInTheFoldersName) {
  const report::TemporaryFolder folder;
  const std::vector<std::string> many(12, "context_attention");
  EXPECT_THAT(make_report_folder(folder.path(), many).value().filename().string(),
              MatchesRegex("12_operators_........_......"));
}

TEST(CollectReports, TablesOfWhatBecameOfTheCases) {
  const store::StoredCase failed = stored(record_of(failure(), "assay"));
  EXPECT_EQ(tally_book(tally_of({})).tables.size(), 1U);
  const model::Book book = tally_book(tally_of({failed}));
  ASSERT_EQ(book.tables.size(), 2U);
  EXPECT_EQ(book.tables[1].name, "failures");
}

}  // namespace
}  // namespace assay::collect
