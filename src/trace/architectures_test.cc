#include "trace/architectures.h"

#include <gtest/gtest.h>

#include "core/files.h"

namespace assay::trace {
namespace {

TEST(Architectures, AreChosenByDeviceName) {
  EXPECT_EQ(bundled_architecture("NVIDIA H200")->memory_gbps, 4800);
  EXPECT_EQ(bundled_architecture("NVIDIA H100 80GB HBM3")->memory_gbps, 3350);
  EXPECT_EQ(bundled_architecture("NVIDIA H100 PCIe")->memory_gbps, 2000);
  EXPECT_EQ(bundled_architecture("NVIDIA A100-SXM4-40GB")->memory_gbps, 1555);
  EXPECT_EQ(bundled_architecture("NVIDIA A100-SXM4-80GB")->memory_gbps, 2039);
  EXPECT_EQ(bundled_architecture("AMD Instinct MI325X")->peak_tflops.at("matrix_fp8"), 2614.9);
  EXPECT_EQ(bundled_architecture("NVIDIA B200")->peak_tflops.at("matrix_fp4"), 9000);
  EXPECT_EQ(bundled_architecture("NVIDIA H200")->peak_tflops.count("matrix_fp4"), 0U);
}

TEST(Architectures, AreNotGuessed) {
  EXPECT_FALSE(bundled_architecture("NVIDIA RTX A1000").has_value());
  EXPECT_FALSE(bundled_architecture("NVIDIA H100 80GB HBM3 MIG 1g.10gb").has_value());
  EXPECT_FALSE(bundled_architecture("").has_value());
}

class ArchitectureFile : public ::testing::Test {
 protected:
  std::string written(std::string_view text) const {
    EXPECT_TRUE(core::write_file(path_, text).ok());
    return path_.string();
  }

  void TearDown() override { std::filesystem::remove(path_); }

  const std::filesystem::path path_ =
      std::filesystem::path(::testing::TempDir()) / "assay_architecture_test.json";
};

TEST_F(ArchitectureFile, GivesPeaks) {
  const auto found = find_architecture(written(
      R"({"name": "MI300X", "mem_bw_gbps": 5300, "memory_gb": 192,
          "max_achievable_tflops": {"matrix_bf16": 708, "vector_fp32": 81.5}})"));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found.value().name, "MI300X");
  EXPECT_EQ(found.value().memory_gbps, 5300);
  EXPECT_EQ(found.value().peak_tflops.at("vector_fp32"), 81.5);
}

TEST_F(ArchitectureFile, SaysWhatIsWrong) {
  const auto error_of = [&](std::string_view text) {
    return find_architecture(written(text)).error().message;
  };
  EXPECT_NE(error_of("[").find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of("{}").find("mem_bw_gbps"), std::string::npos);
  EXPECT_NE(error_of(R"({"mem_bw_gbps": 1})").find("max_achievable_tflops"), std::string::npos);
  EXPECT_NE(error_of(R"({"mem_bw_gbps": 1, "max_achievable_tflops": {"matrix_bf16": "x"}})")
                .find("matrix_bf16"),
            std::string::npos);
  EXPECT_NE(find_architecture("H300").error().message.find("known are H200"), std::string::npos);
}

}  // namespace
}  // namespace assay::trace
