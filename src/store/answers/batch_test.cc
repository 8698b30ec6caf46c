#include "store/answers/batch.h"

#include <gtest/gtest.h>

#include "core/csv.h"
#include "core/text.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

BatchAnswers answers_of(const std::string& questions, const std::vector<Condition>& common = {}) {
  static const WorkIndex index = [] {
    auto made = WorkIndex::make("gemm_perf",
                                frame_of("gemm_dtype,m,n,k,latency\nfp8,1,64,64,1\nfp8,3,64,64,3\n"
                                         "bfloat16,1,64,64,2\nbfloat16,3,64,64,6\n"),
                                nullptr);
    return std::move(made).value();
  }();
  auto answers = query_batch(index, questions, common, Beyond::kRefuse);
  EXPECT_TRUE(answers.ok()) << answers.error().message;
  return std::move(answers).value();
}

std::string cell(const BatchAnswers& answers, std::size_t row, const char* column) {
  return model::text(answers.table.at(row, answers.table.column(column).value()));
}

TEST(Batch, AnswersInTheOrderOfTheLines) {
  const BatchAnswers answers = answers_of("--m,dtype\n3,bfloat16\n1,fp8\n2,fp8\n");
  ASSERT_EQ(answers.table.row_count(), 3U);
  EXPECT_EQ(cell(answers, 0, "latency"), "6.0");
  EXPECT_EQ(cell(answers, 1, "latency"), "1.0");
  EXPECT_EQ(cell(answers, 2, "latency"), "2.0");
  EXPECT_EQ(cell(answers, 2, "line"), "4");
  EXPECT_EQ(cell(answers, 2, "method"), "linear in m");
  EXPECT_EQ(answers.refused, 0);
}

TEST(Batch, SaysWhyThereIsNoAnswerAndGoesOn) {
  const BatchAnswers answers = answers_of("m,gemm-dtype\n0,fp8\n1,fp9\n,fp8\n1\n900,fp8\n1,\n");
  EXPECT_EQ(answers.refused, 5);
  EXPECT_EQ(answers.answered, 2);
  EXPECT_EQ(cell(answers, 0, "refusal"), "m=0 is no work: m was measured from 1 to 3");
  EXPECT_EQ(cell(answers, 1, "refusal"),
            "gemm_perf has no gemm_dtype 'fp9' (did you mean fp8?); it has bfloat16, fp8");
  EXPECT_EQ(cell(answers, 2, "refusal"), "gemm_perf needs m (1 to 3)");
  EXPECT_EQ(cell(answers, 3, "refusal"), "1 field, but 2 columns");
  EXPECT_EQ(cell(answers, 4, "refusal"),
            "m was measured from 1 to 3; 900 is 300 times beyond that");
  EXPECT_EQ(cell(answers, 4, "m"), "900");
  // An empty field leaves its column open.
  EXPECT_EQ(cell(answers, 5, "gemm_dtype"), "bfloat16");
  EXPECT_EQ(cell(answers, 6, "gemm_dtype"), "fp8");
}

TEST(Batch, ARefusedQuestionIsThereToBeCorrected) {
  const BatchAnswers answers = answers_of("m,n,dtype\n0,64,fp9\nmany,64,fp8\n", {{"k", "64"}});
  ASSERT_EQ(answers.refused, 2);
  EXPECT_EQ(cell(answers, 0, "m"), "0");
  EXPECT_EQ(cell(answers, 0, "n"), "64");
  EXPECT_EQ(cell(answers, 0, "k"), "64");
  EXPECT_EQ(cell(answers, 0, "gemm_dtype"), "fp9");
  EXPECT_EQ(cell(answers, 0, "latency"), "");
  EXPECT_EQ(cell(answers, 1, "m"), "");
  EXPECT_EQ(cell(answers, 1, "gemm_dtype"), "fp8");
}

// Such an answer has no keys, and must not become a question that leaves all open.
TEST(Batch, ARefusedAnswerIsRefusedAgain) {
  const BatchAnswers answers = answers_of("m,gemm_dtype,refusal\n,,m=0 is no work\n3,fp8,old\n");
  ASSERT_EQ(answers.table.row_count(), 2U);
  EXPECT_EQ(cell(answers, 0, "refusal"), "m=0 is no work");
  EXPECT_EQ(cell(answers, 1, "refusal"), "");
  EXPECT_EQ(cell(answers, 1, "latency"), "3.0");
}

TEST(Batch, TakesConditionsForAllLines) {
  EXPECT_EQ(answers_of("m\n1\n3\n", {{"dtype", "fp8"}}).answered, 2);
}

TEST(Batch, PassesOverWhatWasMeasured) {
  EXPECT_EQ(answers_of("m,dtype,latency_ms\n1,fp8,7\n").answered, 1);
}

std::string csv_of(const model::Table& table) {
  std::vector<std::string> lines;
  std::vector<std::string> names;
  for (const model::Column& column : table.columns)
    names.push_back(column.unit.empty() ? column.name : column.name + " (" + column.unit + ")");
  lines.push_back(core::join(names, ","));
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    std::vector<std::string> cells;
    for (std::size_t column = 0; column < table.columns.size(); ++column)
      cells.push_back(core::csv_text(model::text(table.at(row, column))));
    lines.push_back(core::join(cells, ","));
  }
  return core::join(lines, "\n") + "\n";
}

TEST(Batch, TakesItsOwnAnswersAsQuestions) {
  const BatchAnswers answers = answers_of("m,dtype\n2,fp8\n3,bfloat16\n");
  EXPECT_TRUE(answers.passed_over.empty());
  const BatchAnswers again = answers_of(csv_of(answers.table));
  EXPECT_EQ(again.refused, 0);
  EXPECT_EQ(csv_of(again.table), csv_of(answers.table));
  ASSERT_FALSE(again.passed_over.empty());
  EXPECT_EQ(again.passed_over.front(), "line");
  EXPECT_EQ(again.passed_over.back(), "refusal");
}

TEST(Batch, TakesValuesAsSpreadsheetsAreGivenThem) {
  const auto index =
      WorkIndex::make("other_perf", frame_of("kind,n,latency\n@a,1,5\n@a,2,6\nb,1,1\n"), nullptr);
  ASSERT_TRUE(index.ok()) << index.error().message;
  const auto answers = query_batch(index.value(), "kind,n\n@a,2\n", {}, Beyond::kRefuse);
  ASSERT_TRUE(answers.ok()) << answers.error().message;
  const std::string csv = csv_of(answers.value().table);
  const auto again = query_batch(index.value(), csv, {}, Beyond::kRefuse);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(csv_of(again.value().table), csv);
  EXPECT_EQ(again.value().answered, 1);
}

TEST(Batch, AsksForColumnsOfTheTableThatAreNamedAsResults) {
  const auto index = WorkIndex::make(
      "other_perf", frame_of("method,n,latency\nslow,1,5\nslow,2,6\nfast,1,1\nfast,2,2\n"),
      nullptr);
  ASSERT_TRUE(index.ok()) << index.error().message;
  const auto answers = query_batch(index.value(), "method,n\nfast,2\n", {}, Beyond::kRefuse);
  ASSERT_TRUE(answers.ok()) << answers.error().message;
  ASSERT_EQ(answers.value().table.row_count(), 1U);
  EXPECT_EQ(cell(answers.value(), 0, "latency"), "2.0");
  EXPECT_TRUE(answers.value().passed_over.empty());
}

TEST(Batch, RefusesColumnsThatTheTableLacks) {
  const WorkIndex index(make_work_rows("gemm_perf", frame_of("m,latency\n1,1\n2,2\n")).value(),
                        nullptr);
  EXPECT_EQ(query_batch(index, "m,width\n1,2\n", {}, Beyond::kRefuse).error().message,
            "gemm_perf has no column 'width'. It has m");
  EXPECT_FALSE(query_batch(index, "", {}, Beyond::kRefuse).ok());
}

}  // namespace
}  // namespace assay::store
