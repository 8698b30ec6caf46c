#include "store/files/perf_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "store/files/csv_frame.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

const std::string kCommon = "framework,version,device,op_name,kernel_source,";
const std::string kRow = "TRTLLM,1.20,NVIDIA H200,";

PerfFile parsed(const std::string& bytes, const std::string& name, model::Warnings& warnings) {
  auto file = parse_perf_file(bytes, name, warnings);
  EXPECT_TRUE(file.ok()) << file.error().message;
  return file.ok() ? std::move(file).value() : PerfFile{};
}

std::string failure(const std::string& bytes, const std::string& name = "gemm_perf.txt") {
  model::Warnings warnings;
  const auto file = parse_perf_file(bytes, name, warnings);
  return file.ok() ? "" : file.error().message;
}

std::int64_t count_of(const model::Warnings& warnings, std::string_view reason) {
  for (const model::Warning& warning : warnings.all()) {
    if (warning.reason == reason) return warning.count;
  }
  return 0;
}

std::string gemm(const std::string& rows) {
  return kCommon + "gemm_dtype,m,n,k,latency\n" + rows;
}

TEST(PerfFile, ReadsTheSecondEra) {
  model::Warnings warnings;
  const PerfFile file =
      parsed(gemm(kRow + "gemm,torch_flow,float16,1,32,64,0.0139\n"), "gemm_perf.txt", warnings);
  EXPECT_EQ(file.table, "gemm_perf");
  EXPECT_EQ(file.era, Era::kB);
  EXPECT_EQ(write_csv_frame(file.rows), gemm(kRow + "gemm,torch_flow,bfloat16,1,32,64,0.0139\n"));
  EXPECT_EQ(count_of(warnings, "the label float16 of earlier tables"), 1);
}

TEST(PerfFile, ReadsTheThirdEraUnchanged) {
  const std::string text =
      kCommon +
      "gemm_dtype,m,n,k,latency,power,power_limit\n"
      "VLLM,0.22.0,NVIDIA H200,gemm,vllm,bfloat16,225,512,64,1.5,474.5,700.0\n";
  model::Warnings warnings;
  const PerfFile file = parsed(text, "gemm_perf.csv", warnings);
  EXPECT_EQ(file.era, Era::kC);
  EXPECT_EQ(write_csv_frame(file.rows), text);
  EXPECT_TRUE(warnings.empty());
}

TEST(PerfFile, ReadsAllReduceWithoutNames) {
  model::Warnings warnings;
  const PerfFile file =
      parsed("float16,2,2048,AUTO,AllReduce,0.0061\n", "custom_all_reduce.txt", warnings);
  EXPECT_EQ(file.table, "custom_allreduce_perf");
  EXPECT_EQ(file.era, Era::kA);
  EXPECT_EQ(write_csv_frame(file.rows),
            kCommon +
                "allreduce_dtype,num_gpus,message_size,latency,backend\n"
                "TRTLLM,,,all_reduce,TRTLLM,bfloat16,2,2048,0.0061,AUTO\n");
}

TEST(PerfFile, ReadsNcclWithoutItsCommonColumns) {
  model::Warnings warnings;
  const PerfFile file = parsed(
      "nccl_dtype,num_gpus,message_size,kernel_source,op_name,latency\nhalf,2,256,NCCL,all_reduce,"
      "0.006\n",
      "comm/nccl/2.20/nccl_perf.txt", warnings);
  EXPECT_EQ(file.era, Era::kA);
  EXPECT_EQ(write_csv_frame(file.rows), kCommon +
                                            "nccl_dtype,num_gpus,message_size,latency\n"
                                            "TRTLLM,2.20,,all_reduce,NCCL,half,2,256,0.006\n");
}

TEST(PerfFile, JoinsDistributionAndAlpha) {
  const std::string columns =
      kCommon +
      "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
      "moe_ep_size,distribution,";
  const std::string row = kRow + "moe,moe_torch_flow,fp8,1,7168,2048,8,256,1,";
  model::Warnings warnings;
  const PerfFile file = parsed(
      columns + "alpha,latency\n" + row + "8,power_law,1.2,0.15\n" + row + "8,balanced,0.0,0.1\n",
      "moe_perf.txt", warnings);
  EXPECT_EQ(file.era, Era::kA);
  EXPECT_EQ(write_csv_frame(file.rows),
            columns + "latency\n" + row + "8,power_law_1.2,0.15\n" + row + "8,balanced,0.1\n");
}

TEST(PerfFile, PutsTheWindowBehindTheHeadSize) {
  model::Warnings warnings;
  const PerfFile file =
      parsed(kCommon +
                 "batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,"
                 "kv_cache_dtype,step,window_size,latency\n" +
                 kRow + "context_attention,x,1,2048,12,2,64,1,bfloat16,fp8,0,128,0.04\n",
             "data.csv", warnings);
  EXPECT_EQ(file.table, "context_attention_perf");
  EXPECT_EQ(write_csv_frame(file.rows),
            kCommon +
                "batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,beam_width,"
                "attn_dtype,kv_cache_dtype,step,latency\n" +
                kRow + "context_attention,x,1,2048,12,2,64,128,1,bfloat16,fp8,0,0.04\n");
}

TEST(PerfFile, TellsTheTableFromWhatItHolds) {
  model::Warnings warnings;
  const std::string text =
      kCommon + "m,k,quant_dtype,latency\n" + kRow + "scale_matrix,torch,128,256,fp8,0.007\n";
  EXPECT_EQ(parsed(text, "scale_matrix_perf.txt", warnings).table, "scale_matrix_perf");
  EXPECT_EQ(parsed(text, "renamed.txt", warnings).table, "scale_matrix_perf");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(parsed(text, "computescale_perf.txt", warnings).table, "scale_matrix_perf");
  EXPECT_EQ(count_of(warnings, "a file named as another table"), 1);
}

TEST(PerfFile, ReadsATableThatNobodyDeclared) {
  model::Warnings warnings;
  const std::string text = kCommon + "new_dtype,tokens,latency\n" + kRow + "new,x,bfloat16,4,0.5\n";
  const PerfFile file = parsed(text, "new_perf.txt", warnings);
  EXPECT_EQ(file.table, "new_perf");
  EXPECT_EQ(write_csv_frame(file.rows), text);
}

TEST(PerfFile, CallsEveryTimeLatencyInMilliseconds) {
  model::Warnings warnings;
  const std::string mlp = kCommon + "quant_type,num_token,hidden_size,intermediate_size,avg_ms\n" +
                          kRow + "mlp,x,fp8_block,4,64,128,0.5\n";
  const PerfFile file = parsed(mlp, "wideep_context_mlp_perf.txt", warnings);
  ASSERT_NE(file.rows.find("latency"), nullptr);
  EXPECT_EQ(format_perf_file(file.table, file.rows, {}).value(), mlp);
  const std::string moved =
      kCommon +
      "comm_backend,phase,comm_dtype,ep_size,node_num,hidden_size,topk,num_experts,"
      "num_tokens,sms,transmit_us,notify_us,latency\n" +
      kRow + "moe_a2a,x,deepep,dispatch,fp8,8,1,7168,8,256,16,20,1.0,2.0,32.0\n";
  const PerfFile in_us = parsed(moved, "moe_a2a_perf.txt", warnings);
  EXPECT_EQ(std::get<double>(in_us.rows.find("latency")->value(0)), 0.032);
  EXPECT_EQ(format_perf_file(in_us.table, in_us.rows, {}).value(), moved);
}

TEST(PerfFile, CountsWhatItCannotUse) {
  model::Warnings warnings;
  const std::string row = kRow + "gemm,x,fp8,";
  const PerfFile file =
      parsed(gemm(row + "1,1,1,nan\n" + row + "2,1,1,-0.5\n" + row + "3,1,1,0.0\n" + row +
                  "4,1,1,\n" + row + "5,1,1,0.1\n" + row + "5,1,1,0.2\n"),
             "gemm_perf.txt", warnings);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(file.rows.find("m")->values),
            (std::vector<std::int64_t>{3, 5, 5}));
  EXPECT_EQ(count_of(warnings, "a time that is no finite number"), 1);
  EXPECT_EQ(count_of(warnings, "a negative time"), 1);
  EXPECT_EQ(count_of(warnings, "no time"), 1);
  EXPECT_EQ(count_of(warnings, "a time of 0"), 1);
  EXPECT_EQ(count_of(warnings, "a row with the key of an earlier one"), 1);
}

TEST(PerfFile, LeavesOutRowsWithoutAUsableSize) {
  model::Warnings warnings;
  const std::string row = kRow + "gemm,x,fp8,";
  const PerfFile file =
      parsed(gemm(row + "-1,1,1,0.1\n" + row + "2,,1,0.1\n" + row + "3,1,1,0.1\n" + row +
                  "-4,-1,,0.1\n" + row + "-5,1,1,nan\n" + row + "0,1,1,0.1\n"),
             "gemm_perf.txt", warnings);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(file.rows.find("m")->values),
            (std::vector<std::int64_t>{3, 0}));
  EXPECT_EQ(file.unread, 4);
  EXPECT_EQ(count_of(warnings, "a negative size"), 2);
  EXPECT_EQ(count_of(warnings, "no size"), 1);
  EXPECT_EQ(count_of(warnings, "a time that is no finite number"), 1);
  const auto is_no_size = [](const model::Warning& one) { return one.reason == "no size"; };
  const auto found = std::find_if(warnings.all().begin(), warnings.all().end(), is_no_size);
  ASSERT_NE(found, warnings.all().end());
  EXPECT_EQ(found->example, "row 2, n");
}

TEST(PerfFile, ASizeThatATableHasOnlySometimesMayBeMissingButNotNegative) {
  model::Warnings warnings;
  const std::string row = kRow + "context_attention,x,";
  const PerfFile file =
      parsed(kCommon +
                 "batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,beam_width,"
                 "attn_dtype,kv_cache_dtype,step,latency\n" +
                 row + "1,2048,12,2,64,,1,bfloat16,fp8,0,0.04\n" + row +
                 "2,2048,12,2,64,-1,1,bfloat16,fp8,0,0.04\n",
             "context_attention_perf.txt", warnings);
  EXPECT_EQ(file.rows.num_rows(), 1U);
  EXPECT_EQ(count_of(warnings, "a negative size"), 1);
  EXPECT_EQ(count_of(warnings, "no size"), 0);
}

TEST(PerfFile, OfTablesThatNobodyDeclaredOnlyKnownSizesAreNeverNegative) {
  model::Warnings warnings;
  const std::string columns = kCommon + "dim,rows,num_tokens,latency\n";
  const std::string good = kRow + "softmax,x,-1,4,,0.5\n";
  const PerfFile file =
      parsed(columns + good + kRow + "softmax,x,-1,-4,2,0.5\n" + kRow + "softmax,x,-1,4,-2,0.5\n",
             "softmax_perf.txt", warnings);
  EXPECT_EQ(write_csv_frame(file.rows), columns + good);
  EXPECT_EQ(count_of(warnings, "a negative size"), 2);
}

TEST(PerfFile, TakesTimesByOtherNamesInTheirUnit) {
  const std::string row = kRow + "gemm,x,fp8,1,32,64,";
  for (const auto& [name, time] : {std::pair("latency_us", "500"),
                                   {"latency (us)", "500.0"},
                                   {"avg_ms", "0.5"},
                                   {"latency_ms", "0.5"}}) {
    model::Warnings warnings;
    const std::string columns = kCommon + "gemm_dtype,m,n,k," + name + "\n";
    const PerfFile file = parsed(columns + row + time + "\n", "gemm_perf.txt", warnings);
    EXPECT_EQ(write_csv_frame(file.rows), gemm(row + "0.5\n")) << name;
    EXPECT_EQ(count_of(warnings, std::string("times named ") + name), 1);
  }
}

TEST(PerfFile, AFieldThatIsNoFiniteTimeCostsItsRowAlone) {
  model::Warnings warnings;
  const std::string row = kRow + "gemm,x,fp8,1,32,64,";
  const PerfFile file =
      parsed(gemm(row + "1e400\n" + row + " \n" + row + "0.5\n"), "gemm_perf.txt", warnings);
  EXPECT_EQ(write_csv_frame(file.rows), gemm(row + "0.5\n"));
  EXPECT_EQ(count_of(warnings, "a time that is no number"), 1);
  EXPECT_EQ(count_of(warnings, "no time"), 2);
}

TEST(PerfFile, WordsAmongTimesAreMissingTimes) {
  const std::string row = kRow + "gemm,x,fp8,";
  for (const auto& [name, time] : {std::pair("latency", "0.5"), {"latency_us", "500"}}) {
    model::Warnings warnings;
    const PerfFile file = parsed(kCommon + "gemm_dtype,m,n,k," + name + "\n" + row +
                                     "1,32,64,OOM\n" + row + "2,32,64," + time + "\n",
                                 "gemm_perf.txt", warnings);
    EXPECT_EQ(write_csv_frame(file.rows), gemm(row + "2,32,64,0.5\n")) << name;
    EXPECT_EQ(count_of(warnings, "a time that is no number"), 1);
  }
}

TEST(PerfFile, TakesOneColumnOfTimes) {
  model::Warnings warnings;
  const std::string row = kRow + "gemm,x,fp8,1,32,64,";
  const PerfFile file =
      parsed(kCommon + "gemm_dtype,m,n,k,time_us,latency_ms\n" + row + "700,0.5\n", "gemm_perf.txt",
             warnings);
  EXPECT_EQ(write_csv_frame(file.rows), gemm(row + "0.5\n"));
  EXPECT_EQ(count_of(warnings, "a second column of times"), 1);
}

TEST(PerfFile, SaysWhatIsWrong) {
  EXPECT_EQ(failure(""), "the file is empty");
  EXPECT_EQ(failure("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4800399\n"),
            "this is a Git LFS pointer, not the table itself; fetch it with \"git lfs pull\"");
  EXPECT_EQ(failure(std::string("PK\x03\x04\0\0", 6)),
            "it is a ZIP archive or a workbook, neither CSV nor a Parquet file");
  EXPECT_EQ(failure(kRow + "gemm,x,fp8,1,32,64,0.1\n"),
            "line 1: there are no column names; put the line of names that the table has in front");
  EXPECT_EQ(failure(kCommon + "gemm_dtype,m,n,latency\n"),
            "the table gemm_perf must have the column k, which is not there");
  EXPECT_EQ(failure(gemm(kRow + "gemm,x,fp8,many,32,64,0.1\n")),
            "column \"m\": row 1 holds \"many\"; whole numbers belong there");
  EXPECT_EQ(failure(gemm(kRow + "gemm,x,fp8,1,32,64,0.1\n" + kRow + "gemm,x,fp8,x7,32,64,0.1\n")),
            "column \"m\": row 2 holds \"x7\"; whole numbers belong there");
  EXPECT_EQ(failure(gemm(kRow + "gemm,x,fp8,1.5,32,64,0.1\n")),
            "column \"m\": row 1 holds \"1.5\"; whole numbers belong there");
  EXPECT_EQ(failure("name,size\na,b\n", "list.csv"),
            "no table of measurements: it has no column of times (latency, in ms)");
}

TEST(PerfFile, WritesOldLabelsAndBothFormats) {
  model::Warnings warnings;
  const PerfFile file =
      parsed(gemm(kRow + "gemm,x,bfloat16,1,32,64,0.1\n"), "gemm_perf.txt", warnings);
  EXPECT_EQ(format_perf_file(file.table, file.rows, {.labels = Labels::kOld}).value(),
            gemm(kRow + "gemm,x,float16,1,32,64,0.1\n"));
  const auto folder = std::filesystem::path(testing::TempDir()) / "perf_file_test";
  std::filesystem::create_directories(folder);
  const auto path = folder / "gemm_perf.parquet";
  ASSERT_TRUE(write_perf_file(file.table, file.rows, {.format = FileFormat::kParquet}, path).ok());
  const auto again = read_perf_file(path, warnings);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(write_csv_frame(again.value().rows), write_csv_frame(file.rows));
  std::filesystem::remove_all(folder);
}

TEST(PerfFile, WritesNoTableThatLacksAColumn) {
  const Frame rows{{{.name = "m", .values = std::vector<std::int64_t>{1}}}};
  EXPECT_FALSE(format_perf_file("gemm_perf", rows, {}).ok());
}

TEST(TableSpec, EachTableIsDeclaredOnce) {
  std::vector<std::string> names;
  for (const TableSpec& spec : table_specs()) {
    names.push_back(spec.table);
    EXPECT_TRUE(spec.table.ends_with("_perf")) << spec.table;
    EXPECT_FALSE(spec.family.empty()) << spec.table;
    for (const TableColumn& column : spec.columns)
      EXPECT_EQ(&column, spec.find(column.name)) << spec.table << " " << column.name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(find_table_spec("comm_perf"), find_table_spec("nccl_perf"));
  EXPECT_EQ(find_table_spec("no_perf"), nullptr);
}

TEST(TableSpec, KnowsTheKeyColumnsOfAllTables) {
  const std::vector<std::string> columns = known_key_columns();
  const auto knows = [&](std::string_view name) {
    return std::count(columns.begin(), columns.end(), name);
  };
  EXPECT_EQ(columns.front(), "framework");
  // The names are columns of one table, of many tables and of no declared table; the last two are
  // results.
  EXPECT_EQ(knows("sinkhorn_iters"), 1);
  EXPECT_EQ(knows("num_tokens"), 1);
  EXPECT_EQ(knows("implementation"), 1);
  EXPECT_EQ(knows("transmit_us"), 0);
  EXPECT_EQ(knows("latency"), 0);
}

TEST(TableSpec, TakesATablesNameOrItsFile) {
  EXPECT_EQ(table_name("gemm"), "gemm_perf");
  EXPECT_EQ(table_name("gemm_perf"), "gemm_perf");
  EXPECT_EQ(table_name("gemm_perf_others"), "gemm_perf_others");
  EXPECT_EQ(table_name("dir.d/gemm_perf.parquet"), "gemm_perf");
  EXPECT_EQ(table_name(""), "");
}

// The public tables are no part of a clone; ShippedTest reads tables of the same kinds.
class PublicTables : public testing::TestWithParam<std::filesystem::path> {
 public:
  static std::vector<std::filesystem::path> folders() {
    const auto folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/data/peer-db";
    if (!std::filesystem::exists(folder)) return {};
    return {folder};
  }
};

TEST_P(PublicTables, AreAllRead) {
  const std::filesystem::path& folder = GetParam();
  std::int64_t files = 0;
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".parquet") continue;
    const TableSpec* spec = find_table_spec(entry.path().stem().string());
    ASSERT_NE(spec, nullptr) << entry.path();
    const auto family = entry.path().parent_path().parent_path().parent_path().filename();
    EXPECT_EQ(spec->family, family.string()) << entry.path();
    model::Warnings warnings;
    const auto file = read_perf_file(entry.path(), warnings);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file.value().table, entry.path().stem().string());
    EXPECT_EQ(count_of(warnings, "a column that the table does not have"), 0) << entry.path();
    ++files;
    rows += file.value().rows.num_rows();
  }
  // Counted by another Parquet reader.
  EXPECT_EQ(files, 345);
  EXPECT_EQ(rows, 6'189'077U);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublicTables);
INSTANTIATE_TEST_SUITE_P(PerfFile, PublicTables, testing::ValuesIn(PublicTables::folders()));

TEST(PerfFile, PowerOfPlacedTablesThatNobodyMeasuredIsNotRead) {
  model::Warnings warnings;
  const PerfFile file =
      parsed(kCommon + "gemm_dtype,m,n,k,latency,power,power_limit,power_source,power_error\n" +
                 kRow + "gemm,k,fp8,1,2,3,0.5,300,700,measured,\n" + kRow +
                 "gemm,k,fp8,2,2,3,0.5,310,700,interpolated,\n" + kRow +
                 "gemm,k,fp8,4,2,3,0.5,320,700,modelled,5.1\n",
             "gemm_perf.txt", warnings);
  const FrameColumn* power = file.rows.find("power");
  ASSERT_NE(power, nullptr);
  EXPECT_DOUBLE_EQ(number_at(*power, 0), 300);
  EXPECT_TRUE(power->is_missing(1));
  EXPECT_TRUE(file.rows.find("power_limit")->is_missing(2));
  EXPECT_EQ(file.rows.find(kPowerSourceColumn), nullptr);
  EXPECT_EQ(file.rows.find(kPowerErrorColumn), nullptr);
  EXPECT_EQ(count_of(warnings, "power that was not measured"), 2);
}

}  // namespace
}  // namespace assay::store
