#include "model/gpu_specs.h"

#include <gtest/gtest.h>

namespace assay::model {
namespace {

TEST(GpuSpecs, AreFoundByThePartOfADevicesName) {
  EXPECT_EQ(find_gpu_specs("NVIDIA H200")->memory_gbps, 4800);
  EXPECT_EQ(find_gpu_specs("NVIDIA H100 80GB HBM3")->memory_gbps, 3350);
  EXPECT_EQ(find_gpu_specs("NVIDIA H100 PCIe")->memory_gbps, 2000);
  EXPECT_EQ(find_gpu_specs("NVIDIA A100-SXM4-40GB")->memory_gbps, 1555);
  EXPECT_EQ(find_gpu_specs("NVIDIA A100-SXM4-80GB")->memory_gbps, 2039);
  EXPECT_EQ(find_gpu_specs("AMD Instinct MI325X")->matrix.fp8, 2614.9);
  EXPECT_EQ(find_gpu_specs("NVIDIA B200")->matrix.fp4, 9000);
  EXPECT_EQ(find_gpu_specs("NVIDIA H200")->matrix.fp4, 0);
}

TEST(GpuSpecs, AreNotGuessed) {
  EXPECT_EQ(find_gpu_specs("NVIDIA RTX A1000"), nullptr);
  EXPECT_EQ(find_gpu_specs("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), nullptr);
  EXPECT_EQ(find_gpu_specs(""), nullptr);
  EXPECT_EQ(find_gpu_board(""), nullptr);
  EXPECT_EQ(find_gpu_board("H200"), nullptr);
  EXPECT_EQ(find_gpu_board("NVIDIA H100 PCIe"), nullptr);
}

TEST(GpuSpecs, ABoardIsThatOfTheGpuWithItsName) {
  for (const GpuSpecs& gpu : all_gpu_specs()) {
    EXPECT_EQ(find_gpu_specs(gpu.name), &gpu) << gpu.name;
    if (gpu.board.device.empty()) continue;
    EXPECT_EQ(find_gpu_board(gpu.board.device), &gpu) << gpu.name;
    EXPECT_EQ(find_gpu_specs(gpu.board.device), &gpu) << gpu.name;
    EXPECT_FALSE(gpu.board.document.empty()) << gpu.name;
    EXPECT_FALSE(gpu.board.node_document.empty()) << gpu.name;
  }
  EXPECT_EQ(find_gpu_board("NVIDIA H200")->matrix.bf16, 989.5);
  EXPECT_EQ(find_gpu_board("NVIDIA H200")->board.link_gbps, 450);
}

TEST(GpuSpecs, SmallerTypesAreNotSlower) {
  for (const GpuSpecs& gpu : all_gpu_specs()) {
    EXPECT_GT(gpu.memory_gbps, 0) << gpu.name;
    EXPECT_GE(gpu.matrix.bf16, gpu.matrix.fp32) << gpu.name;
    EXPECT_EQ(gpu.matrix.fp16, gpu.matrix.bf16) << gpu.name;
    EXPECT_GE(gpu.matrix.fp32, gpu.matrix.fp64) << gpu.name;
    EXPECT_GE(gpu.vector.fp16, gpu.vector.fp32) << gpu.name;
    EXPECT_GE(gpu.vector.fp32, gpu.vector.fp64) << gpu.name;
  }
}

}  // namespace
}  // namespace assay::model
