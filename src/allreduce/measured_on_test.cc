#include "allreduce/measured_on.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/output_file.h"

namespace assay::allreduce {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class MeasuredOnFiles : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void TearDown() override { fs::remove_all(folder_); }

  // Returns the path of a benchmark file whose .json says this.
  [[nodiscard]] fs::path file(int world_size, const std::string& json) const {
    const fs::path path = folder_ / fmt::format("benchmark.tp{}.sm90", world_size);
    EXPECT_TRUE(core::write_file(path.string() + ".json", json).ok());
    return path.string() + ".csv";
  }

  [[nodiscard]] std::string error_of(const std::string& json) const {
    const auto told = measured_on(file(4, json));
    return told.ok() ? "read without an error" : told.error().message;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "assay_measured_on";
};

TEST_F(MeasuredOnFiles, TellTheMachine) {
  const auto told = measured_on(file(4, R"({"settings": {"GPU": "H", "NCCL": "2.28.3",
      "CUDA runtime": "13.0", "TP size": "4", "SM version": "90"},
      "runs": [{"date": "2026-11-28T00:47:45+0000"}]})"));
  ASSERT_TRUE(told.ok()) << told.error().message;
  EXPECT_EQ(told.value().gpu, "H");
  EXPECT_EQ(told.value().nccl, "2.28.3");
  EXPECT_EQ(told.value().text, "H, CUDA 13.0, NCCL 2.28.3, 2026-11-28");
  EXPECT_EQ(measured_on(folder_ / "benchmark.tp2.sm90.csv").value().text, "");
}

TEST_F(MeasuredOnFiles, MayNotContradictTheName) {
  EXPECT_THAT(
      error_of(R"({"settings": {"TP size": "8"}})"),
      HasSubstr("' says TP size 8, and the name of 'benchmark.tp4.sm90.csv' beside it says 4"));
  EXPECT_THAT(error_of(R"({"settings": {"TP size": 8}})"), HasSubstr("TP size 8"));
  EXPECT_THAT(error_of(R"({"settings": {"TP size": "4", "SM version": "100"}})"),
              HasSubstr("' says SM version 100, and"));
  EXPECT_THAT(error_of("{"), HasSubstr("mend or remove it"));
  EXPECT_EQ(error_of(R"({"settings": {}})"), "read without an error");
}

TEST_F(MeasuredOnFiles, AreOfOneGpu) {
  const fs::path one = file(2, R"({"settings": {"GPU": "H200"}})");
  const fs::path other = file(4, R"({"settings": {"GPU": "H100"}})");
  const fs::path silent = folder_ / "benchmark.tp8.sm90.csv";
  EXPECT_TRUE(check_same_gpu({one, silent}, {one}).ok());
  const auto checked = check_same_gpu({one}, {silent, other});
  ASSERT_FALSE(checked.ok());
  EXPECT_THAT(checked.error().message, HasSubstr("tp4.sm90.csv' was measured on H100, and '"));
  EXPECT_THAT(checked.error().message, HasSubstr("only times of the same GPU can be compared"));
  EXPECT_FALSE(provenance_of({one, other}, 3).ok());
  EXPECT_EQ(provenance_of({one, silent}, 3).value(),
            "H200, CUDA ?, NCCL ?, ?, of 3 times in benchmark.tp2.sm90.csv benchmark.tp8.sm90.csv");
}

}  // namespace
}  // namespace assay::allreduce
