#include "trace/architectures.h"

#include <gtest/gtest.h>

#include "core/output_file.h"

namespace assay::trace {
namespace {

TEST(Architectures, ComeFromThePublishedPeaks) {
  const auto h200 = bundled_architecture("NVIDIA H200");
  ASSERT_TRUE(h200.has_value());
  EXPECT_EQ(h200->name, "H200");
  EXPECT_EQ(h200->memory_gbps, 4800);
  EXPECT_EQ(h200->peak_tflops.at("matrix_bf16"), 989.5);
  EXPECT_EQ(h200->peak_tflops.at("vector_fp32"), 66.9);
  EXPECT_EQ(h200->peak_tflops.count("matrix_fp4"), 0U);
  EXPECT_EQ(bundled_architecture("NVIDIA B200")->peak_tflops.at("matrix_fp4"), 9000);
  EXPECT_FALSE(bundled_architecture("NVIDIA RTX A1000").has_value());
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
