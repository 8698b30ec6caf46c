#include "store/systems/system_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/output_file.h"
#include "store/database/store_test_util.h"
#include "store/systems/system_figures.h"
#include "store/systems/system_yaml.h"

namespace assay::store {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

SystemData h200() {
  SystemData data{.device = "NVIDIA H200"};
  // 4 GiB at 4.2 and 4.4 TB/s; small copies of 2 us and 1 TB/s.
  data.memory_ops = frame_of(
      "op_name,dtype,rows,columns,latency,power_limit\n"
      "copy,bfloat16,65536,16384,1.0226112762,700\n"
      "read,bfloat16,131072,16384,0.9761289455,700\n"
      "copy,bfloat16,1,1000,0.002004,700\n"
      "copy,bfloat16,2,1000,0.002008,700\n"
      "copy,bfloat16,4,1000,0.002016,700\n");
  data.gemms = frame_of(
      "op_name,gemm_dtype,m,n,k,latency\n"
      "gemm,bfloat16,8192,8192,8192,1.5\n");
  data.transfers = frame_of(
      "op_name,bytes,latency,launch\n"
      "launch,0,0.0013,graph\n"
      "host_to_device,1073741824,19.5,graph\n");
  data.collectives = frame_of(
      "op_name,nccl_dtype,num_gpus,message_size,latency\n"
      "send_recv,int8,2,512,0.0090\n"
      "send_recv,int8,2,1024,0.0090\n"
      "send_recv,int8,2,4096,0.0090\n"
      "send_recv,int8,4,536870912,1.5\n");
  data.facts = {{"device SM version", "90"},
                {"device NCCL", "2.28.3"},
                {"free memory bytes", "150500000000"}};
  data.dates = {{"gemm_perf", "2026-10-03"}, {"memory_op_perf", "2026-10-03"}};
  return data;
}

SystemField field(const SystemData& data, const std::string& section, const std::string& name) {
  const std::vector<SystemField> fields = system_fields(data);
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const SystemField& one) {
    return one.section == section && one.name == name;
  });
  EXPECT_NE(found, fields.end()) << section << '.' << name;
  return found == fields.end() ? SystemField{} : *found;
}

TEST(SystemFields, LimitsAreCitedAndTheRestIsMeasured) {
  const SystemData data = h200();
  EXPECT_EQ(field(data, "gpu", "mem_bw").value, "4800000000000");
  EXPECT_THAT(field(data, "gpu", "mem_bw").source, StartsWith("cited: NVIDIA H200"));
  EXPECT_EQ(field(data, "gpu", "mem_bw_empirical_scaling_factor").value, "0.9167");
  EXPECT_THAT(
      field(data, "gpu", "mem_bw_empirical_scaling_factor").source,
      StartsWith("measured, over mem_bw: 4400 GB/s, read 131072 x 16384 bfloat16, best of 1 "
                 "row of memory_op_perf, 2026-10-03"));
  EXPECT_EQ(field(data, "gpu", "mem_empirical_constant_latency").value, "0.000002");
  EXPECT_EQ(field(data, "gpu", "mem_capacity").value, "150500000000");
  EXPECT_EQ(field(data, "gpu", "bfloat16_tc_flops").value, "989500000000000");
  EXPECT_EQ(field(data, "gpu", "float16_tc_flops").value, "989500000000000");
  EXPECT_EQ(field(data, "gpu", "power").value, "700");
  EXPECT_THAT(field(data, "gpu", "power").source, StartsWith("measured"));
  EXPECT_EQ(field(data, "gpu", "sm_version").value, "90");
  EXPECT_EQ(field(data, "node", "intra_node_bw").value, "450000000000");
  EXPECT_EQ(field(data, "node", "p2p_latency").value, "0.000009");
  EXPECT_EQ(field(data, "misc", "nccl_version").value, "'2.28.3'");
}

TEST(SystemFields, WhatWasReachedStandsInASectionOfItsOwn) {
  const SystemData data = h200();
  EXPECT_EQ(field(data, "measured", "launch_latency").value, "0.0000013");
  EXPECT_THAT(field(data, "measured", "launch_latency").source, HasSubstr("in a graph, 1 row"));
  EXPECT_NEAR(std::stod(field(data, "measured", "mem_copy_bw").value), 4.2e12, 1e6);
  EXPECT_NEAR(std::stod(field(data, "measured", "bfloat16_flops").value), 733.0e12, 0.1e12);
  EXPECT_NEAR(std::stod(field(data, "measured", "host_to_device_bw").value), 55.06e9, 1);
  EXPECT_NEAR(std::stod(field(data, "measured", "intra_node_bw").value), 357.9e9, 0.1e9);
  EXPECT_EQ(field(data, "measured", "device_to_host_bw").value, "");
  EXPECT_THAT(field(data, "measured", "device_to_host_bw").source, HasSubstr("assay collect"));
}

TEST(SystemFields, AnUnknownGpuHasTheBestThatWasReachedAsItsLimits) {
  SystemData data = h200();
  data.device = "NVIDIA X";
  EXPECT_NEAR(std::stod(field(data, "gpu", "mem_bw").value), 4.4e12, 1e6);
  EXPECT_EQ(field(data, "gpu", "mem_bw_empirical_scaling_factor").value, "1.0000");
  EXPECT_THAT(field(data, "gpu", "bfloat16_tc_flops").source, StartsWith("measured"));
  EXPECT_EQ(field(data, "gpu", "fp8_tc_flops").value, "");
  EXPECT_EQ(field(data, "node", "num_gpus_per_node").value, "4");
}

TEST(SystemFields, AFileFillsWhatNobodyMeasured) {
  SystemData data = h200();
  data.cited_from = "network.yaml";
  data.cited = {{"node.inter_node_bw", "50000000000"},
                {"node.p2p_latency", "1"},
                {"gpu.mem_bw", "5e12"},
                {"gpu.fp4_tc_flops", "1"},
                {"misc.nccl_mem.2", "358612992"}};
  EXPECT_EQ(field(data, "node", "inter_node_bw").value, "50000000000");
  EXPECT_EQ(field(data, "node", "inter_node_bw").source, "cited: network.yaml");
  EXPECT_EQ(field(data, "node", "p2p_latency").value, "0.000009");
  EXPECT_EQ(field(data, "gpu", "mem_bw").value, "5e12");
  EXPECT_EQ(field(data, "gpu", "mem_bw_empirical_scaling_factor").value, "0.8800");
  EXPECT_EQ(field(data, "gpu", "fp4_tc_flops").value, "1");
  EXPECT_EQ(field(data, "misc.nccl_mem", "2").value, "358612992");
}

TEST(SystemFields, MemoryThatOthersHadIsNoCapacity) {
  SystemData data = h200();
  data.facts["free memory bytes"] = "100000000000";
  EXPECT_EQ(field(data, "gpu", "mem_capacity").value, "141000000000");
}

TEST(SystemFields, ADeviceWithoutMultiprocessorsHasNoSmVersion) {
  SystemData data{.device = "A processor"};
  data.facts["device SM version"] = "0";
  EXPECT_EQ(field(data, "gpu", "sm_version").value, "");
}

TEST(SystemFields, WithoutRowsEachFieldSaysWhatItLacksOrAssumes) {
  const SystemData data{.device = "NVIDIA X"};
  std::size_t assumed = 0;
  for (const SystemField& one : system_fields(data)) {
    EXPECT_NE(one.source, "") << one.name;
    if (one.value.empty()) continue;
    EXPECT_THAT(one.source, StartsWith("assumed: ")) << one.name;
    ++assumed;
  }
  EXPECT_EQ(assumed, 13U);
}

TEST(SystemFields, MemoryOfNcclIsThatOfTheNextLargerGroupKnown) {
  SystemData data = h200();
  data.cited_from = "nccl.yaml";
  data.cited = {{"misc.nccl_mem.2", "100"}, {"misc.nccl_mem.4", "200"}};
  const auto memory = [&](const char* gpus) { return field(data, "misc.nccl_mem", gpus); };
  EXPECT_EQ(memory("1").value, "0");
  EXPECT_EQ(memory("2").source, "cited: nccl.yaml");
  EXPECT_EQ(memory("3").value, "200");
  EXPECT_EQ(memory("3").source, "assumed: that of 4 GPUs");
  EXPECT_EQ(memory("8").value, "200");
}

// Their tables lie in the folder of that version. The newest collection may be of other operators,
// with another NCCL.
TEST(SystemFields, TheVersionOfNcclIsThatOfItsRows) {
  SystemData data = h200();
  data.collectives = frame_of(
      "version,op_name,nccl_dtype,num_gpus,message_size,latency\n"
      "2.27.5,send_recv,int8,2,512,0.0090\n");
  EXPECT_EQ(field(data, "misc", "nccl_version").value, "'2.27.5'");
  data.facts.clear();
  EXPECT_EQ(field(data, "misc", "nccl_version").value, "'2.27.5'");
  data.collectives = Frame();
  EXPECT_EQ(field(data, "misc", "nccl_version").value, "");
}

class SystemFile : public StoreTest {
 protected:
  std::filesystem::path write(const std::string& text) {
    std::filesystem::path path = folder_ / "system.yaml";
    EXPECT_TRUE(core::write_file(path, text).ok());
    return path;
  }
};

TEST_F(SystemFile, IsReadAsARooflineAndAsACitation) {
  SystemData data = h200();
  data.cited_from = "network.yaml";
  data.cited = {{"node.inter_node_bw", "5.0e+10"}, {"misc.nccl_mem.2", "358612992"}};
  const std::string text = system_text({.name = "h200_sxm"}, data, system_fields(data));
  const std::filesystem::path path = write(text);
  const auto peaks = read_peaks(path);
  ASSERT_TRUE(peaks.ok()) << peaks.error().message;
  EXPECT_DOUBLE_EQ(peaks.value().memory_bytes_per_s, 4.8e12);
  EXPECT_DOUBLE_EQ(peaks.value().flops_of("fp8_block"), 1979e12);
  EXPECT_DOUBLE_EQ(peaks.value().flops_of("half"), 989.5e12);
  EXPECT_DOUBLE_EQ(peaks.value().link_bytes_per_s, 450e9);
  const auto cited = read_cited_values(path);
  ASSERT_TRUE(cited.ok()) << cited.error().message;
  std::size_t told = 0;
  for (const SystemField& one : system_fields(data)) {
    if (one.section == "measured" || one.value.empty()) continue;
    ++told;
    const std::string value = cited.value().at(one.section + '.' + one.name);
    EXPECT_EQ(one.name == "nccl_version" ? "'" + value + "'" : value, one.value);
  }
  EXPECT_EQ(cited.value().size(), told);
}

TEST_F(SystemFile, HoldsNoLineOfAnInput) {
  SystemData data = h200();
  const std::string line = "x' #\ngpu:\n  evil: 1\n";
  data.device = line;
  data.cited_from = line;
  data.facts["device NCCL"] = line;
  const std::filesystem::path path =
      write(system_text({.name = "h200_sxm", .framework = line}, data, system_fields(data)));
  const auto cited = read_cited_values(path);
  ASSERT_TRUE(cited.ok()) << cited.error().message;
  EXPECT_EQ(cited.value().at("misc.nccl_version"), "x' # gpu:   evil: 1 ");
  EXPECT_EQ(cited.value().count("gpu.evil"), 0U);
}

TEST_F(SystemFile, IsMadeOfOneDevice) {
  Store store = open(Store::Mode::kCreate);
  EXPECT_THAT(read_system(store, {.name = "x"}).error().message, HasSubstr("measure first"));
  const std::int64_t run = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.append(run, gemm_case(1, 0.5)).ok());
  const auto one = read_system(store, {.name = "x"});
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(one.value().device, "NVIDIA H200");
  EXPECT_EQ(one.value().gemms.num_rows(), 1U);
  EXPECT_EQ(one.value().memory_ops.num_rows(), 0U);
  EXPECT_EQ(one.value().facts.at("driver"), "580");
  CaseRecord other = gemm_case(2, 0.5);
  other.rows[0].row.device = "NVIDIA X";
  ASSERT_TRUE(store.append(run, other).ok());
  EXPECT_THAT(read_system(store, {.name = "x"}).error().message,
              HasSubstr("choose one by --device-name: NVIDIA H200, NVIDIA X"));
  EXPECT_EQ(read_system(store, {.name = "x", .device = "NVIDIA X"}).value().gemms.num_rows(), 1U);
  EXPECT_FALSE(read_system(store, {.name = "x", .device = "NVIDIA", .framework = "assay"}).ok());
}

TEST_F(SystemFile, CitedFieldsMustExistAndBeNumbers) {
  const auto problem = [&](const std::string& text) {
    const auto values = read_cited_values(write(text));
    return values.ok() ? "" : values.error().message;
  };
  EXPECT_EQ(problem("gpu:\n  mem_bw: 1\nmisc:\n  nccl_version: '2.28.3'\n"), "");
  EXPECT_THAT(problem("gpu:\n  mem_bandwith: 1\n"),
              HasSubstr("line 2: no system has a field gpu.mem_bandwith"));
  EXPECT_THAT(problem("gpu:\n  mem_bww: 1\n"), HasSubstr("did you mean gpu.mem_bw?"));
  EXPECT_THAT(problem("node:\n  pcie_bw: fast\n"), HasSubstr("no number of at least 0"));
  EXPECT_THAT(problem("node:\n  pcie_bw: -1\n"), HasSubstr("no number of at least 0"));
  EXPECT_THAT(problem("node:\n  pcie_bw: [1]\n"), HasSubstr("neither a value nor a mapping"));
  EXPECT_THAT(problem("misc:\n  nccl_mem:\n    two: 5\n"), HasSubstr("misc.nccl_mem.two"));
  EXPECT_THAT(problem("gpus:\n  mem_bw: 1\n"), HasSubstr("'gpus' is none of gpu, node and misc"));
  EXPECT_THAT(problem("gpu: {"), HasSubstr("line 1"));
  EXPECT_THAT(problem("5\n"), HasSubstr("no mapping"));
  EXPECT_THAT(problem("gpu:\n  a:\n    b:\n      c: 1\n"), HasSubstr("no system has parts within"));
  EXPECT_THAT(problem("gpu: &a\n  power: *a\n"), HasSubstr("no system has parts within"));
}

Point point(double amount, double seconds) {
  return {.amount = amount, .seconds = seconds, .what = ""};
}

TEST(SystemFigures, TheBestRateIsOfLargeAmountsAlone) {
  const std::vector<Point> points = {point(100, 1e-6), point(1000, 1e-4), point(2000, 1e-4)};
  const auto rate = best_rate(points, 500);
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->per_second, 2e7);
  EXPECT_EQ(rate->count, 2U);
  EXPECT_FALSE(best_rate(points, 5000));
  EXPECT_FALSE(best_rate(std::vector<Point>{point(0, 1)}, 0));
}

TEST(SystemFigures, ConstantLatencyIsTheInterceptOfSmallAmounts) {
  // 3 us and 1 GB/s; the large point lies elsewhere.
  const std::vector<Point> points = {point(1000, 4e-6), point(2000, 5e-6), point(4000, 7e-6),
                                     point(1'000'000, 1)};
  const auto latency = constant_latency(points, 10'000);
  ASSERT_TRUE(latency);
  EXPECT_NEAR(latency->seconds, 3e-6, 1e-12);
  EXPECT_EQ(latency->count, 3U);
  EXPECT_NEAR(latency->deviation, 0, 1e-9);
}

TEST(SystemFigures, ConstantLatencySaysHowFarPointsLieFromTheLine) {
  // The mean, 10 us, has points 1 us off on both sides of each amount.
  const std::vector<Point> points = {point(0, 9e-6), point(0, 11e-6), point(8, 9e-6),
                                     point(8, 11e-6)};
  const auto latency = constant_latency(points, 10);
  ASSERT_TRUE(latency);
  EXPECT_NEAR(latency->seconds, 10e-6, 1e-12);
  EXPECT_NEAR(latency->deviation, 0.1, 1e-9);
}

TEST(SystemFigures, NoLineThroughTooLittle) {
  EXPECT_FALSE(constant_latency(std::vector<Point>{point(1, 1), point(2, 2)}, 10));
  EXPECT_FALSE(constant_latency(std::vector<Point>{point(1, 1), point(1, 2), point(1, 3)}, 10));
  // Falls below 0 before it meets no bytes.
  EXPECT_FALSE(constant_latency(std::vector<Point>{point(2, 1), point(3, 2), point(4, 3)}, 10));
}

TEST(SystemFigures, AMedianOfLaunches) {
  const auto latency =
      median_latency(std::vector<Point>{point(0, 2e-6), point(0, 3e-6), point(0, 4e-6)});
  ASSERT_TRUE(latency);
  EXPECT_DOUBLE_EQ(latency->seconds, 3e-6);
  EXPECT_FALSE(median_latency(std::vector<Point>{point(8, 1)}));
}

TEST(SystemPoints, ACopyMovesEachByteTwice) {
  const Frame frame = frame_of(
      "op_name,dtype,rows,columns,latency,median_ms,p10_ms,p90_ms\n"
      "copy,bfloat16,1000,500,0.5,0.5,0.49,0.51\n"
      "read,float32,1000,500,0.25,0.5,0.5,0.5\n"
      "add,bfloat16,1000,500,0.5,0.5,0.5,0.5\n");
  const std::vector<Point> copies = memory_points(frame, "copy");
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_DOUBLE_EQ(copies[0].amount, 2e6);
  EXPECT_DOUBLE_EQ(copies[0].seconds, 5e-4);
  EXPECT_NEAR(copies[0].spread.value(), 0.04, 1e-9);
  EXPECT_EQ(copies[0].what, "copy 1000 x 500 bfloat16");
  ASSERT_EQ(memory_points(frame, "read").size(), 1U);
  EXPECT_DOUBLE_EQ(memory_points(frame, "read")[0].amount, 2e6);
  EXPECT_TRUE(memory_points(frame, "add").empty());
}

TEST(SystemPoints, ProductsAreOfOneType) {
  const Frame frame = frame_of(
      "op_name,gemm_dtype,m,n,k,latency\n"
      "gemm,fp8,10,20,30,0.001\n"
      "gemm,fp8_block,10,20,30,0.001\n");
  const std::vector<Point> points = gemm_points(frame, "fp8");
  ASSERT_EQ(points.size(), 1U);
  EXPECT_DOUBLE_EQ(points[0].amount, 12000);
  EXPECT_FALSE(points[0].spread);
}

TEST(SystemPoints, SendsCountBytesOfTheirType) {
  const Frame frame = frame_of(
      "op_name,nccl_dtype,num_gpus,message_size,latency\n"
      "send_recv,half,2,1024,0.01\n"
      "send_recv,int8,4,1024,0.01\n"
      "all_reduce,half,2,1024,0.01\n");
  EXPECT_EQ(send_points(frame, 0).size(), 2U);
  const std::vector<Point> two = send_points(frame, 2);
  ASSERT_EQ(two.size(), 1U);
  EXPECT_DOUBLE_EQ(two[0].amount, 2048);
}

TEST(SystemPoints, RowsWithoutALatencyOrAKnownTypeGiveNone) {
  const Frame frame = frame_of(
      "op_name,dtype,rows,columns,latency\n"
      "copy,bfloat16,8,8,0\n"
      "copy,nvfp4,8,8,1\n"
      "copy,bfloat16,,8,1\n");
  EXPECT_TRUE(memory_points(frame, "copy").empty());
  EXPECT_TRUE(memory_points(Frame{}, "copy").empty());
}

TEST(SystemPoints, TransfersAndTheirLaunchMode) {
  const Frame frame = frame_of(
      "op_name,bytes,latency,launch,power_limit\n"
      "launch,0,0.002,graph,600\n"
      "host_to_device,4096,0.01,eager,700\n");
  EXPECT_DOUBLE_EQ(transfer_points(frame, "launch").at(0).amount, 0);
  EXPECT_DOUBLE_EQ(transfer_points(frame, "host_to_device").at(0).amount, 4096);
  EXPECT_EQ(launch_mode(frame), "graph");
  EXPECT_EQ(largest(frame, "power_limit"), 700);
  EXPECT_EQ(largest(frame, "power"), std::nullopt);
}

}  // namespace

}  // namespace assay::store
