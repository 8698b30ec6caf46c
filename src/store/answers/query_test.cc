#include "store/answers/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

constexpr const char* kGemm =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,fp8,1,64,64,0.01\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,fp8,3,64,64,0.03\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,1,64,64,0.02\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,3,64,64,0.06\n"
    "TRTLLM,1.3,NVIDIA H200,gemm,torch,bfloat16,1,64,64,0.04\n"
    "TRTLLM,1.3,NVIDIA H200,gemm,torch,bfloat16,3,64,64,0.08\n";

WorkIndex index_of(const std::string& csv, const std::string& table = "gemm_perf") {
  auto index = WorkIndex::make(table, frame_of(csv), nullptr);
  EXPECT_TRUE(index.ok());
  return std::move(index).value();
}

std::string error_of(const WorkIndex& index, const std::vector<Condition>& conditions) {
  const auto result = query(index, conditions, Beyond::kRefuse);
  return result.ok() ? "" : result.error().message;
}

TEST(Query, AnswersOnceForEveryCombinationLeftOpen) {
  const WorkIndex index = index_of(kGemm);
  const auto result = query(index, {{"m", "2"}, {"dtype", "bfloat16"}}, Beyond::kRefuse);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result.value().answers.size(), 2U);
  EXPECT_DOUBLE_EQ(result.value().answers[0].estimate.latency, 0.06);  // TRTLLM
  EXPECT_DOUBLE_EQ(result.value().answers[1].estimate.latency, 0.04);
  const model::Table table = answers_table(index, result.value(), KeyColumns::kVarying);
  EXPECT_EQ(table.columns[0].name, "framework");
  EXPECT_EQ(table.title, "gemm_perf at m=2 n=64 k=64");
  EXPECT_NE(table.notes.front().find("gemm_dtype bfloat16"), std::string::npos);
  const model::Table all = answers_table(index, result.value(), KeyColumns::kAll);
  EXPECT_TRUE(all.column("n").has_value());
  EXPECT_DOUBLE_EQ(model::number(all.at(0, *all.column("high_latency"))), 0.08);
}

TEST(Query, TellsWhatExists) {
  const WorkIndex index = index_of(kGemm);
  EXPECT_EQ(error_of(index, {}), "gemm_perf needs m (1 to 3)");
  EXPECT_EQ(error_of(index, {{"m", "2"}, {"gemm_dtype", "fp9"}}),
            "gemm_perf has no gemm_dtype 'fp9' (did you mean fp8?); it has bfloat16, fp8");
  EXPECT_EQ(error_of(index, {{"m", "0"}}), "m=0 is no work: m was measured from 1 to 3");
  EXPECT_NE(error_of(index, {{"m", "2"}, {"kernel_sorce", "x"}}).find("did you mean 'kernel_sou"),
            std::string::npos);
  EXPECT_EQ(error_of(index, {{"m", "-2"}}), "m takes a whole number of at least 1, not '-2'");
  EXPECT_EQ(error_of(index, {{"m", "2"}, {"framework", "trtllm"}, {"dtype", "fp8"}}),
            "gemm_perf: no row has framework=trtllm and gemm_dtype=fp8 together, though each of "
            "them exists");
}

TEST(Query, RowsWithoutASizeAnswerForThemselves) {
  const WorkIndex index = index_of(
      "op_name,kernel_source,kind,latency\nbar,k,x,0.5\nbar,k,y,0.7\nbar,k,y,0.9\n", "bar_perf");
  const auto result = query(index, {{"kind", "x"}}, Beyond::kRefuse);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result.value().answers.size(), 1U);
  EXPECT_TRUE(result.value().answers[0].estimate.is_measured());
  EXPECT_DOUBLE_EQ(result.value().answers[0].estimate.latency, 0.5);
  EXPECT_EQ(query(index, {}, Beyond::kRefuse).value().answers.size(), 2U);
}

TEST(Query, KeysMayBeCalledAsColumnsOfAnswers) {
  const WorkIndex index =
      index_of("op_name,kernel_source,line,method,m,latency\nbar,k,1,x,2,0.5\nbar,k,1,x,4,0.7\n",
               "bar_perf");
  const auto result = query(index, {{"m", "3"}, {"method", "x"}}, Beyond::kRefuse);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const model::Table table = answers_table(index, result.value(), KeyColumns::kAll);
  EXPECT_EQ(model::text(table.at(0, *table.column("method"))), "x");
  EXPECT_EQ(model::text(table.at(0, *table.column("answer_method"))), "linear in m");
}

// A row of 0 makes 0 a size, and one of 1.5 makes fractions sizes.
TEST(Query, TakesTheNumbersThatASizeCanHave) {
  const std::string header = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
  const WorkIndex from_zero =
      index_of(header + "gemm,a,fp8,0,64,64,0.01\ngemm,a,fp8,4,64,64,0.04\n");
  EXPECT_EQ(error_of(from_zero, {{"m", "0"}}), "");
  EXPECT_EQ(error_of(from_zero, {{"m", "1.5"}}), "m takes a whole number of at least 0, not '1.5'");
  const WorkIndex shares =
      index_of(header + "gemm,a,fp8,1.5,64,64,0.01\ngemm,a,fp8,4,64,64,0.04\n");
  EXPECT_EQ(error_of(shares, {{"m", "2.5"}}), "");
  EXPECT_EQ(error_of(shares, {{"m", "many"}}), "m takes a number above 0, not 'many'");
}

std::string dashed(const std::string& column) {
  return "--" + column;
}

TEST(Query, TellsAWrongQuestionFromWhatTheTableLacks) {
  const WorkIndex index = index_of(kGemm);
  const auto problem = [&](const std::vector<Condition>& conditions) {
    const core::Status checked = check_question(index, conditions, dashed);
    return checked.ok() ? "" : checked.error().message;
  };
  EXPECT_EQ(problem({}), "gemm_perf needs --m (1 to 3)");
  EXPECT_TRUE(check_conditions(index, {}).ok());
  for (const char* wrong : {"many", "-1", "1.5", "", "inf"}) {
    EXPECT_EQ(problem({{"m", wrong}}),
              std::string("--m takes a whole number of at least 1, not '") + wrong + "'");
  }
  EXPECT_EQ(problem({{"m", "0"}}), "--m=0 is no work: --m was measured from 1 to 3");
  EXPECT_NE(problem({{"m", "2"}, {"dtype", "fp9"}}), "");
  EXPECT_NE(problem({{"m", "2"}, {"width", "9"}}), "");
  // These were not measured.
  EXPECT_EQ(problem({{"m", "2"}, {"dtype", "nvfp4"}}), "");
  EXPECT_EQ(problem({{"m", "2"}, {"kernel_source", "mine"}}), "");
  EXPECT_EQ(problem({{"m", "1000000"}}), "");
}

// One kernel for small m, another for large: the rows are one curve, which either name means.
TEST(Query, OneOfTheKernelsOfACurveMeansTheCurve) {
  const WorkIndex index = index_of(
      "op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
      "gemm,small,fp8,1,64,64,0.01\ngemm,small,fp8,2,64,64,0.02\n"
      "gemm,large,fp8,4,64,64,0.04\ngemm,large,fp8,8,64,64,0.08\n");
  for (const char* kernel : {"small", "Large", "large or small"}) {
    const auto result = query(index, {{"m", "4"}, {"kernel_source", kernel}}, Beyond::kRefuse);
    ASSERT_TRUE(result.ok()) << result.error().message;
    ASSERT_EQ(result.value().answers.size(), 1U);
    EXPECT_DOUBLE_EQ(result.value().answers[0].estimate.latency, 0.04);
  }
  EXPECT_EQ(error_of(index, {{"m", "4"}, {"kernel_source", "or"}}),
            "gemm_perf has no kernel_source 'or'; it has large or small");
}

TEST(Query, ATimeOfZeroIsNoAnswer) {
  const WorkIndex index = index_of(
      "op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
      "gemm,a,fp8,1,64,64,0\ngemm,a,fp8,2,64,64,0.02\ngemm,a,fp8,4,64,64,0.04\n");
  const auto result = query(index, {{"m", "1"}}, Beyond::kExtrapolate);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(result.value().answers[0].estimate.latency, 0.005);
  const char* nothing =
      "op_name,gemm_dtype,m,n,k,latency\ngemm,fp8,1,64,64,0\ngemm,fp8,2,64,64,0\n";
  EXPECT_EQ(WorkIndex::make("gemm_perf", frame_of(nothing), nullptr).error().message,
            "gemm_perf: no row has a usable time");
  const WorkIndex one_type = index_of(std::string(nothing) + "gemm,bfloat16,4,64,64,0.5\n");
  EXPECT_NE(error_of(one_type, {{"m", "4"}, {"dtype", "fp8"}}), "");
  EXPECT_EQ(query(one_type, {{"m", "4"}}, Beyond::kRefuse).value().answers.size(), 1U);
}

TEST(Query, LeavesSizesOfModelsOpen) {
  const WorkIndex index = index_of(
      "num_heads,num_key_value_heads,head_dim,isl,batch_size,step,latency\n"
      "8,8,128,1,1,1,0.1\n8,8,128,1,2,1,0.2\n8,2,128,1,1,1,0.05\n8,2,128,1,2,1,0.07\n",
      "generation_attention_perf");
  const auto open = query(index, {{"num_heads", "8"}, {"batch_size", "2"}}, Beyond::kRefuse);
  ASSERT_TRUE(open.ok()) << open.error().message;
  ASSERT_EQ(open.value().answers.size(), 2U);
  EXPECT_DOUBLE_EQ(open.value().answers[0].estimate.latency, 0.07);
  const model::Table table = answers_table(index, open.value(), KeyColumns::kVarying);
  EXPECT_EQ(table.columns[0].name, "num_key_value_heads");
  EXPECT_EQ(table.at(1, 0), model::Cell(std::int64_t{8}));
  EXPECT_EQ(error_of(index, {{"num_heads", "8"}}),
            "generation_attention_perf needs batch_size (1 to 2)");
}

TEST(Query, GivesNumbersOfWhatIsANumber) {
  const WorkIndex index = index_of(
      "version,num_heads,num_key_value_heads,head_dim,alpha,m,latency\n"
      "2.28,8,8,128,1.5,1,0.1\n2.28,8,8,128,1.5,3,0.3\n2.28,8,4,128,,1,0.1\n");
  const auto result = query(index, {{"m", "1"}}, Beyond::kRefuse);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const model::Table table = answers_table(index, result.value(), KeyColumns::kAll);
  ASSERT_EQ(table.row_count(), 2U);
  const auto cell = [&](std::size_t row, const char* column) {
    return table.at(row, *table.column(column));
  };
  EXPECT_EQ(cell(0, "head_dim"), model::Cell(std::int64_t{128}));
  EXPECT_EQ(cell(0, "num_heads"), model::Cell(std::int64_t{8}));
  EXPECT_EQ(cell(0, "version"), model::Cell(std::string("2.28")));
  EXPECT_EQ(cell(0, "num_key_value_heads"), model::Cell(std::int64_t{8}));
  EXPECT_EQ(cell(0, "alpha"), model::Cell(1.5));
  EXPECT_EQ(cell(1, "num_key_value_heads"), model::Cell(std::int64_t{4}));
  EXPECT_EQ(cell(1, "alpha"), model::Cell());
}

TEST(Query, GivesAMeasuredRowsOwnInterval) {
  const WorkIndex index = index_of(
      "m,latency,interval_low_ms,interval_high_ms,samples\n"
      "8,0.5,0.45,0.6,5\n2,0.2,,,7\n4,0.3,0.29,0.31,7\n4,0.9,0.8,0.99,7\n");
  const auto cells_at = [&](const char* m, KeyColumns keys) {
    const auto result = query(index, {{"m", m}}, Beyond::kRefuse);
    EXPECT_TRUE(result.ok()) << result.error().message;
    const model::Table table = answers_table(index, result.value(), keys);
    std::vector<model::Cell> cells;
    for (const char* name : {"interval_low", "interval_high", "interval_confidence"}) {
      if (const auto column = table.column(name)) cells.push_back(table.at(0, *column));
    }
    return cells;
  };
  using Cells = std::vector<model::Cell>;
  EXPECT_EQ(cells_at("8", KeyColumns::kAll), (Cells{0.45, 0.6, 93.75}));
  EXPECT_EQ(cells_at("8", KeyColumns::kVarying), (Cells{0.45, 0.6}));
  EXPECT_EQ(cells_at("4", KeyColumns::kAll), (Cells{0.29, 0.31, 98.4375}));
  EXPECT_EQ(cells_at("2", KeyColumns::kAll), Cells(3));
  EXPECT_EQ(cells_at("3", KeyColumns::kAll), Cells(3));  // interpolated
  EXPECT_EQ(cells_at("3", KeyColumns::kVarying), Cells());
}

TEST(Query, NamesTheRowsThatWereMeasuredAtLoweredClocks) {
  const WorkIndex index = index_of(
      "m,latency,throttled\n"
      "1,0.1,0\n2,0.2,1\n4,0.3,1\n8,0.5,0\n16,0.9,0\n");
  const auto throttled_at = [&](const char* m) {
    const auto result = query(index, {{"m", m}}, Beyond::kRefuse);
    EXPECT_TRUE(result.ok()) << result.error().message;
    const model::Table table = answers_table(index, result.value(), KeyColumns::kAll);
    const model::Cell& cell = table.at(0, table.column("throttled").value());
    const model::Table shown = answers_table(index, result.value(), KeyColumns::kVarying);
    EXPECT_EQ(shown.column("throttled").has_value(), cell != model::Cell());
    EXPECT_EQ(std::any_of(shown.notes.begin(), shown.notes.end(),
                          [](const auto& note) { return note.starts_with("throttled: "); }),
              cell != model::Cell());
    return cell;
  };
  EXPECT_EQ(throttled_at("1"), model::Cell());
  EXPECT_EQ(throttled_at("2"), model::Cell(std::string("this row")));
  EXPECT_EQ(throttled_at("3"), model::Cell(std::string("m=2, m=4")));
  EXPECT_EQ(throttled_at("6"), model::Cell(std::string("m=4")));
  EXPECT_EQ(throttled_at("12"), model::Cell());
}

TEST(Query, TellsWhereTheRowsBesideAnAnswerScattered) {
  const auto notes_at_3 = [](const std::string& high) {
    const WorkIndex index = index_of(
        "m,latency,interval_low_ms,interval_high_ms,samples\n"
        "2,0.2,0.19,0.21,7\n4,0.3,0.3," +
        high + ",7\n8,0.5,0.49,0.51,7\n");
    const auto result = query(index, {{"m", "3"}}, Beyond::kRefuse);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return answers_table(index, result.value(), KeyColumns::kVarying).notes;
  };
  EXPECT_THAT(notes_at_3("0.9"), testing::Contains(testing::HasSubstr("up to ±100 % of their")));
  EXPECT_THAT(notes_at_3("0.4"), testing::Not(testing::Contains(testing::HasSubstr("scattered"))));
}

}  // namespace
}  // namespace assay::store
