#include "plan/calibrate/calibration_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

CalibrationEntry entry_of(const std::string& version, double glue_ms) {
  return {.engine = "vllm",
          .version = version,
          .model = "Qwen/Qwen3-32B",
          .system = "h100_sxm",
          .fitted = {.calibration = {.glue_ms = glue_ms,
                                     .kernel_factor = 0.75,
                                     .prompt_factor = 1.25,
                                     .ttft_factor = 1.5},
                     .points = 5,
                     .tpot_error = 0.03,
                     .ttft_error = 0.1}};
}

TEST(CalibrationFile, ReadsWhatItWrites) {
  const auto read = parse_calibrations(
      calibrations_json({entry_of("0.12.0", 2), entry_of("0.18.0", 0.3)}), "c.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().size(), 2U);
  const CalibrationEntry& first = read.value().front();
  EXPECT_EQ(first.model, "Qwen/Qwen3-32B");
  EXPECT_EQ(first.fitted.calibration, entry_of("0.12.0", 2).fitted.calibration);
  EXPECT_EQ(first.fitted.points, 5U);
}

TEST(CalibrationFile, FindsTheVersionBeforeOthers) {
  const std::vector<CalibrationEntry> entries = {entry_of("0.12.0", 2), entry_of("0.18.0", 0.3)};
  const auto glue_of = [&](const std::string& version) {
    return find_calibration(entries, {"vllm", version, "qwen3-32b", "h100_sxm"})
        ->fitted.calibration.glue_ms;
  };
  EXPECT_EQ(glue_of("0.18.0"), 0.3);
  EXPECT_EQ(glue_of("0.12.0"), 2);
  EXPECT_EQ(glue_of(""), 0.3);
  EXPECT_EQ(glue_of("0.20.0"), 0.3);
  EXPECT_EQ(find_calibration(entries, {"sglang", "", "qwen3-32b", "h100_sxm"}), nullptr);
  EXPECT_EQ(find_calibration(entries, {"vllm", "", "qwen3-8b", "h100_sxm"}), nullptr);
  EXPECT_EQ(find_calibration(entries, {"vllm", "", "qwen3-32b", "h200_sxm"}), nullptr);
}

TEST(CalibrationFile, AnswersNameIt) {
  const std::vector<CalibrationEntry> entries = {entry_of("0.12.0", 2)};
  const auto used = calibration_for(entries, {"vllm", "0.18.0", "qwen3-32b", "h100_sxm"}, "c.json");
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(used.value().calibration().glue_ms, 2);
  EXPECT_THAT(used.value().text,
              testing::AllOf(testing::HasSubstr("c.json, 5 measured deployments of "
                                                "Qwen/Qwen3-32B by vllm 0.12.0 on h100_sxm"),
                             testing::HasSubstr("version 0.18.0 was asked for")));
  const auto none = calibration_for(entries, {"vllm", "", "qwen3-8b", "h100_sxm"}, "c.json");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "c.json: no calibration of qwen3-8b by vllm on h100_sxm; it has Qwen/Qwen3-32B by vllm "
            "0.12.0 on h100_sxm");
}

TEST(CalibrationFile, WhatIsNoneIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"format": "assay calibrations"})",
                           R"({"format": "assay calibrations", "calibrations": [1]})",
                           R"({"format": "assay calibrations", "calibrations": [{}]})"}) {
    const auto read = parse_calibrations(text, "c.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().message, testing::StartsWith("c.json: "));
  }
  EXPECT_THAT(parse_calibrations(
                  R"({"format": "assay calibrations", "version": 2, "calibrations": []})", "c.json")
                  .error()
                  .message,
              testing::HasSubstr("a later assay wrote it, in format 2"));
  std::string negative = calibrations_json({entry_of("", 2)});
  negative.replace(negative.find("2.0"), 3, "-2.0");
  EXPECT_FALSE(parse_calibrations(negative, "c.json").ok());
}

}  // namespace
}  // namespace assay::plan
