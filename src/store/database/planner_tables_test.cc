#include "store/database/planner_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/files.h"
#include "store/database/collection_meta.h"
#include "store/database/power_between.h"
#include "store/database/store_export.h"
#include "store/database/store_test_util.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const PlannerTable& planner_table(const std::string& name) {
  const PlannerTable* table = find_planner_table(name);
  EXPECT_NE(table, nullptr) << name;
  return *table;
}

constexpr const char* kGemmColumns = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n";

// A word that no public table has would be a column that is never looked at.
TEST(PlannerTables, NameColumnsThatTheTablesHave) {
  for (const PlannerTable& table : planner_tables()) {
    const TableSpec* spec = find_table_spec(table.table);
    ASSERT_NE(spec, nullptr) << table.table;
    std::set<std::string_view> names(table.key.begin(), table.key.end());
    EXPECT_TRUE(table.curve.empty() || names.contains(table.curve)) << table.table;
    for (const KnownValues& known : table.known)
      names.insert(known.column);
    for (const std::string_view name : names)
      EXPECT_TRUE(is_common_column(name) || spec->find(name) != nullptr) << table.table << name;
  }
}

TEST(PlannerTables, RowsOfUnknownTypesAreLeftOutAndCounted) {
  const Frame rows = frame_of(std::string(kGemmColumns) +
                              "gemm,cublaslt,int8,1,32,64,0.1\n"
                              "gemm,cublaslt,fp8,1,32,64,0.2\n"
                              "gemm,cublaslt,int8,2,32,64,0.3\n");
  std::vector<LeftOut> left_out;
  const Frame read = rows_for_planner(planner_table("gemm_perf"), rows, left_out);
  EXPECT_THAT(latencies(read), ElementsAre(0.2));
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].table, "gemm_perf");
  EXPECT_EQ(left_out[0].reason, "the planner knows no gemm_dtype 'int8'");
  EXPECT_EQ(left_out[0].rows, 2);
}

TEST(PlannerTables, ATimeOfZeroIsLeftOut) {
  const Frame rows = frame_of(std::string(kGemmColumns) +
                              "gemm,cublaslt,fp8,1,32,64,0\n"
                              "gemm,cublaslt,fp8,2,32,64,0.2\n");
  std::vector<LeftOut> left_out;
  const Frame read = rows_for_planner(planner_table("gemm_perf"), rows, left_out);
  EXPECT_THAT(latencies(read), ElementsAre(0.2));
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].reason, "a time of 0");
}

TEST(PlannerTables, RowsOfAFrameworkAreLeftOutWithoutATypeASizeOrATime) {
  const Frame rows = frame_of(
      "gemm_dtype,m,n,k,latency\nfp8,1,64,64,1\n,2,64,64,1\nfp8,0,64,64,1\nnew,4,64,64,1\n"
      "fp8,8,64,64,0\n");
  std::vector<LeftOut> left_out;
  EXPECT_EQ(rows_without_flaws("gemm_perf", rows, left_out).num_rows(), 2U);
  std::vector<std::string> reasons;
  for (const LeftOut& one : left_out)
    reasons.push_back(one.reason);
  EXPECT_THAT(reasons, ElementsAre("a time of 0", "m of 0", "no gemm_dtype"));
  const Frame prompts = frame_of("attn_dtype,window_size,step,isl,latency\nfp8,0,0,16,1\n");
  EXPECT_EQ(rows_without_flaws("context_attention_perf", prompts, left_out).num_rows(), 1U);
}

TEST(PlannerTables, AFileWithoutTheColumnOfWindowsHasNone) {
  const Frame rows = with_absent_sizes(frame_of("isl,window_size,latency\n1024,,1\n512,128,1\n"));
  EXPECT_EQ(number_at(*rows.find("window_size"), 0), 0);
  EXPECT_EQ(number_at(*rows.find("window_size"), 1), 128);
  std::vector<LeftOut> left_out;
  EXPECT_EQ(rows_without_flaws("context_attention_perf", rows, left_out).num_rows(), 2U);
}

TEST(PlannerTables, OfRowsThatItCannotTellApartTheFastestIsPlaced) {
  const Frame rows = frame_of(std::string(kGemmColumns) +
                              "gemm,one,fp8,1,32,64,0.3\n"
                              "gemm,other,fp8,1,32,64,0.2\n"
                              "gemm,one,fp8,2,32,64,0.4\n");
  std::vector<LeftOut> left_out;
  const Frame read = rows_for_planner(planner_table("gemm_perf"), rows, left_out);
  EXPECT_THAT(latencies(read), ElementsAre(0.2, 0.4));
  EXPECT_EQ(value_text(read.find("kernel_source")->value(0)), "other");
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].rows, 1);
}

TEST(PlannerTables, RowsOfTheCacheAsEnginesFindItComeBeforeFasterOnes) {
  const Frame rows = frame_of(
      "op_name,kernel_source,gemm_dtype,m,n,k,latency,l2\n"
      "gemm,warm,fp8,1,32,64,0.1,hot\n"
      "gemm,slow,fp8,1,32,64,0.4,engine\n"
      "gemm,fast,fp8,1,32,64,0.3,engine\n"
      "gemm,warm,fp8,2,32,64,0.2,hot\n");
  std::vector<LeftOut> left_out;
  const Frame read = rows_for_planner(planner_table("gemm_perf"), rows, left_out);
  EXPECT_THAT(latencies(read), ElementsAre(0.3, 0.2));
}

// It does not look at `step` of context attention: a row after 512 cached tokens would be taken for
// one without a cache.
TEST(PlannerTables, RowsThatWouldBeTakenForOthersAreLeftOut) {
  const Frame rows = frame_of(
      "batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,"
      "kv_cache_dtype,step,latency\n"
      "1,64,8,2,128,0,1,bfloat16,bfloat16,512,0.1\n"
      "1,64,8,2,128,0,1,bfloat16,bfloat16,0,0.2\n");
  std::vector<LeftOut> left_out;
  const Frame read = rows_for_planner(planner_table("context_attention_perf"), rows, left_out);
  EXPECT_THAT(latencies(read), ElementsAre(0.2));
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].reason, "the planner takes all rows for step 0");
}

// It finds the steps of a layer by kernels' names, so that rows of other kernels would be no rows.
TEST(PlannerTables, StepsOfALayerGetTheNamesByWhichTheyAreFoundAndKeepThoseOfTheirKernels) {
  const Frame rows = frame_of(
      "op_name,kernel_source,phase,batch_size,seq_len,d_model,d_conv,num_k_heads,head_k_dim,"
      "num_v_heads,head_v_dim,latency\n"
      "gdn_conv,assay_convolution,context,1,64,2048,4,16,128,32,128,0.1\n"
      "gdn_conv,assay_convolution,generation,1,1,2048,4,16,128,32,128,0.2\n"
      "gdn_rule,assay_delta_rule_chunked,context,1,64,2048,4,16,128,32,128,0.3\n"
      "gdn_rule,assay_delta_rule,generation,1,1,2048,4,16,128,32,128,0.4\n"
      "gdn,module,context,1,64,2048,4,16,128,32,128,0.5\n");
  const PlannerTable& table = planner_table("gdn_perf");
  std::vector<LeftOut> left_out;
  const Frame read = rows_for_planner(table, with_names_of_steps(table, rows), left_out);
  EXPECT_THAT(latencies(read), ElementsAre(0.1, 0.2, 0.3, 0.4));
  const auto names = [&](std::string_view column) {
    const TextColumn texts = as_text(*read.find(column));
    std::vector<std::string> words;
    for (const std::uint32_t code : texts.codes)
      words.push_back(texts.words[code]);
    return words;
  };
  EXPECT_THAT(names("kernel_source"),
              ElementsAre("causal_conv1d_fn", "causal_conv1d_update", "chunk_gated_delta_rule",
                          "fused_sigmoid_gating_delta_rule_update"));
  EXPECT_THAT(names(kMeasuredKernelColumn),
              ElementsAre("assay_convolution", "assay_convolution", "assay_delta_rule_chunked",
                          "assay_delta_rule"));
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].reason, "the planner knows no kernel_source 'module'");
}

TEST(PlannerTables, RefinedPointsCountOnCurvesThatTheGridBegan) {
  const std::string grid =
      "gemm,k,fp8,1,32,64,0.1\n"
      "gemm,k,fp8,8,32,64,0.8\n"
      "gemm,k,fp8,1,48,64,0.2\n";
  const Frame all = frame_of(kGemmColumns + grid +
                             "gemm,k,fp8,4,32,64,0.4\n"     // on the curve of (32, 64)
                             "gemm,k,fp8,4,48,64,0.5\n"     // one point is no curve
                             "gemm,k,fp8,4,40,64,0.6\n"     // a weight that the grid does not have
                             "gemm,k,bfloat16,4,32,64,9\n"  // another type
  );
  const Frame both =
      with_points_of_curves(planner_table("gemm_perf"), frame_of(kGemmColumns + grid), all);
  EXPECT_THAT(latencies(both), ElementsAre(0.1, 0.8, 0.2, 0.4));
}

TEST(PlannerTables, PowerBetweenMeasuredSizesIsInterpolatedAndMarked) {
  const Frame rows = frame_of(
      "gemm_dtype,m,n,k,latency,power,power_limit\n"
      "fp8,1,32,64,0.1,200.5,699.5\n"
      "fp8,31,32,64,0.4,,\n"  // half of the way from 1 + 1 to 511 + 1 on a scale of powers
      "fp8,511,32,64,0.9,600.5,699.5\n"
      "fp8,31,48,64,0.4,,\n");  // alone on its curve
  const Frame filled = with_power_between(planner_table("gemm_perf").key, with_power_sources(rows));
  const FrameColumn& power = *filled.find("power");
  EXPECT_DOUBLE_EQ(number_at(power, 1), 400.5);
  EXPECT_DOUBLE_EQ(number_at(*filled.find("power_limit"), 1), 699.5);
  EXPECT_DOUBLE_EQ(number_at(power, 2), 600.5);
  EXPECT_TRUE(power.is_missing(3));
  const FrameColumn& source = *filled.find(kPowerSourceColumn);
  EXPECT_EQ(value_text(source.value(0)), "measured");
  EXPECT_EQ(value_text(source.value(1)), "interpolated");
  EXPECT_TRUE(source.is_missing(3));
  std::vector<LeftOut> left_out;
  EXPECT_EQ(with_power_of_all("gemm_perf", filled, left_out).find(kPowerSourceColumn), nullptr);
}

TEST(PlannerTables, ModelledPowerStaysAndIsNoNeighbour) {
  const Frame rows = frame_of(
      "gemm_dtype,m,n,k,latency,power,power_limit,power_source\n"
      "fp8,1,32,64,0.1,200.5,699.5,measured\n"
      "fp8,7,32,64,0.1,310.5,699.5,modelled\n"
      "fp8,31,32,64,0.4,,,\n"
      "fp8,511,32,64,0.9,600.5,699.5,measured\n");
  const Frame filled = with_power_between(planner_table("gemm_perf").key, rows);
  EXPECT_DOUBLE_EQ(number_at(*filled.find("power"), 1), 310.5);
  EXPECT_DOUBLE_EQ(number_at(*filled.find("power"), 2), 400.5);
  const FrameColumn& source = *filled.find(kPowerSourceColumn);
  EXPECT_EQ(value_text(source.value(1)), "modelled");
  EXPECT_EQ(value_text(source.value(2)), "interpolated");
}

TEST(PlannerTables, RowsThatAllHavePowerAreNotMarked) {
  const std::vector<std::string_view>& key = planner_table("gemm_perf").key;
  const Frame rows =
      frame_of("gemm_dtype,m,n,k,latency,power,power_limit\nfp8,1,32,64,1,200,700\n");
  EXPECT_TRUE(same_values(with_power_between(key, with_power_sources(rows)), rows));
  const Frame none = frame_of("gemm_dtype,m,n,k,latency\nfp8,1,32,64,1\n");
  EXPECT_TRUE(same_values(with_power_between(key, with_power_sources(none)), none));
}

TEST(PlannerTables, PowerIsOfAllRowsOrOfNone) {
  const std::string columns = "m,latency,power,power_limit\n";
  std::vector<LeftOut> left_out;
  const Frame whole = with_power_of_all("gemm_perf", frame_of(columns + "1,2,300,700\n"), left_out);
  EXPECT_NE(whole.find("power"), nullptr);
  EXPECT_TRUE(left_out.empty());
  const Frame part =
      with_power_of_all("gemm_perf", frame_of(columns + "1,2,300,700\n2,3,,\n"), left_out);
  EXPECT_EQ(part.find("power"), nullptr);
  EXPECT_EQ(part.find("power_limit"), nullptr);
  EXPECT_EQ(part.num_rows(), 2U);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].rows, 1);
}

TEST(StoreExport, RowsOfAnotherFrameworkLieInAFolderThatNamesIt) {
  EXPECT_EQ(version_folder("trtllm", "assay", "0.1.0"), "assay-0.1.0");
  EXPECT_EQ(version_folder("trtllm", "TRTLLM", "1.3.0rc10"), "1.3.0rc10");
}

TEST_F(StoreTest, PlacesOnlyForBackendsThatAPlannerHas) {
  Store store = open(Store::Mode::kCreate);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), gemm_case(1, 0.5)).ok());
  const std::filesystem::path systems = folder_ / "systems";
  const auto problem = [&](const std::string& backend) {
    const auto placed = place(store, {.systems = systems, .system = "x", .backend = backend});
    return placed.ok() ? "" : placed.error().message;
  };
  EXPECT_THAT(problem(""), HasSubstr("a backend 'assay'"));
  EXPECT_THAT(problem("tensorrt"), HasSubstr("--backend: trtllm, vllm, sglang"));
  EXPECT_FALSE(std::filesystem::exists(systems / "data"));
  EXPECT_EQ(problem("vllm"), "");
  EXPECT_TRUE(
      std::filesystem::is_regular_file(systems / "data/x/gemm/vllm/assay-0.1.0/gemm_perf.parquet"));
}

CaseRecord allreduce_case(int number) {
  CaseRecord one = gemm_case(number, 1);
  one.rows[0].row.table = "custom_allreduce_perf";
  one.rows[0].row.key = {{"allreduce_dtype", std::string("bfloat16")},
                         {"num_gpus", std::int64_t{2}},
                         {"message_size", std::int64_t{1024}}};
  return one;
}

TEST_F(StoreTest, PlacesWhatSeveralVersionsMeasuredInOneFolder) {
  Store store = open(Store::Mode::kCreate);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), gemm_case(1, 0.5)).ok());
  CaseRecord later = gemm_case(2, 0.75);
  later.rows[0].row.version = "0.2.0";
  const CaseRecord other = allreduce_case(3);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), {later, other}).ok());
  const auto result =
      place(store, {.systems = folder_ / "systems", .system = "x", .backend = "vllm"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Placed& placed = result.value();
  EXPECT_EQ(placed.version, "assay-0.2.0");
  const std::filesystem::path data = folder_ / "systems/data/x";
  EXPECT_TRUE(std::filesystem::exists(data / "gemm/vllm/assay-0.2.0/gemm_perf.parquet"));
  EXPECT_TRUE(
      std::filesystem::exists(data / "comm/vllm/assay-0.2.0/custom_allreduce_perf.parquet"));
  const auto facts = read_collection_meta(data / "comm/vllm/assay-0.2.0/collection_meta.yaml",
                                          "custom_allreduce_perf");
  EXPECT_EQ(facts.value().at("runtime.version"), "0.1.0");
  ASSERT_EQ(placed.left_out.size(), 1U);
  EXPECT_EQ(placed.left_out[0].reason, "of version 0.1.0, while there are later rows of 0.2.0");
}

CaseRecord powered_case(std::int64_t m, std::optional<double> watts) {
  CaseRecord one = gemm_case(m, 0.5);
  one.rows[0].row.power_watts = watts;
  return one;
}

std::string exported_gemm(const Store& store, const std::filesystem::path& folder) {
  const auto exported = export_tables(store, {.folder = folder});
  EXPECT_TRUE(exported.ok()) << exported.error().message;
  return core::read_file(folder / "gemm_perf.txt").value();
}

TEST_F(StoreTest, ExportedTablesHavePowerOfAllRowsOrOfNone) {
  Store store = open(Store::Mode::kCreate);
  const std::int64_t run = store.begin_run(test_run()).value();
  ASSERT_TRUE(
      store.append(run, {powered_case(1, 300), powered_case(3, std::nullopt), powered_case(7, 400)})
          .ok());
  const std::string whole = exported_gemm(store, folder_);
  EXPECT_THAT(whole, HasSubstr("3,32,64,0.5,350.0,interpolated\n"));
  EXPECT_THAT(whole, HasSubstr("7,32,64,0.5,400.0,measured\n"));
  ASSERT_TRUE(store.append(run, powered_case(9, std::nullopt)).ok());
  const std::string none = exported_gemm(store, folder_);
  EXPECT_THAT(none, HasSubstr(",m,n,k,latency\n"));
  EXPECT_THAT(none, HasSubstr("9,32,64,0.5\n"));
}

// 9 would lie between the rows of 7 and 11, were they of its kernel or version.
TEST_F(StoreTest, ExportedRowsHaveThePowerOfTheirOwnKernelAndVersion) {
  Store store = open(Store::Mode::kCreate);
  const std::int64_t run = store.begin_run(test_run()).value();
  CaseRecord of_another_kernel = powered_case(9, std::nullopt);
  of_another_kernel.rows[0].row.kernel_source = "other";
  ASSERT_TRUE(
      store.append(run, {powered_case(7, 300), powered_case(11, 310), of_another_kernel}).ok());
  EXPECT_THAT(exported_gemm(store, folder_), HasSubstr(",m,n,k,latency\n"));

  file_ = folder_ / "versions.db";
  Store versions = open(Store::Mode::kCreate);
  const std::int64_t first = versions.begin_run(test_run()).value();
  CaseRecord of_another_version = powered_case(9, 500);
  of_another_version.rows[0].row.version = "0.2.0";
  ASSERT_TRUE(versions
                  .append(first, {powered_case(1, 300), powered_case(3, std::nullopt),
                                  powered_case(7, 400), of_another_version})
                  .ok());
  const std::string exported = exported_gemm(versions, folder_);
  EXPECT_THAT(exported, HasSubstr("3,32,64,0.5,350.0,interpolated\n"));
  EXPECT_THAT(exported, HasSubstr("9,32,64,0.5,500.0,measured\n"));
}

TEST_F(StoreTest, NamesPlacedTablesThatHaveNoPower) {
  Store store = open(Store::Mode::kCreate);
  CaseRecord powered = gemm_case(1, 0.5);
  powered.rows[0].row.power_watts = 300;
  powered.rows[0].row.power_limit_watts = 700;
  const CaseRecord other = allreduce_case(2);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), {powered, other}).ok());
  const auto placed = place(store, {.systems = folder_, .system = "x", .backend = "vllm"});
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  EXPECT_THAT(placed.value().without_power, ElementsAre("custom_allreduce_perf"));
}

TEST_F(StoreTest, AnUnreadableDescriptionOfTablesIsReplacedOnlyByForce) {
  Store store = open(Store::Mode::kCreate);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), gemm_case(1, 0.5)).ok());
  PlaceRequest request{.systems = folder_, .system = "x", .backend = "vllm"};
  const std::filesystem::path meta = folder_ / "data/x/gemm/vllm/assay-0.1.0/collection_meta.yaml";
  std::filesystem::create_directories(meta.parent_path());
  std::ofstream(meta) << "- 1\n";
  EXPECT_THAT(place(store, request).error().message, HasSubstr("no mapping of names to values"));
  EXPECT_FALSE(std::filesystem::exists(meta.parent_path() / "gemm_perf.parquet"));
  request.existing = Existing::kReplace;
  EXPECT_TRUE(place(store, request).ok());
  EXPECT_EQ(read_collection_meta(meta, "gemm_perf").value().at("tables.gemm_perf.rows"), "1");
}

}  // namespace
}  // namespace assay::store
