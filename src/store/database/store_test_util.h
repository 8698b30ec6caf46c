// Small stores and frames for tests.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/database/store.h"
#include "store/files/csv_frame.h"

namespace assay::store {

// Runs SQL on the file as another program would.
inline std::vector<std::string> query(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  std::vector<std::string> cells;
  const auto take = [](void* to, int count, char** texts, char** /*names*/) {
    for (int i = 0; i < count; ++i)
      static_cast<std::vector<std::string>*>(to)->emplace_back(texts[i] ? texts[i] : "NULL");
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), take, &cells, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  return cells;
}

// Each test has a new folder, which is removed with it.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("assay-store-") + info->name() + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "test.db";
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  Store open(Store::Mode mode) {
    auto store = Store::open(file_, mode);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(store).value();
  }

  std::filesystem::path folder_;
  std::filesystem::path file_;
};

inline Run test_run(const std::string& kind = "collect") {
  return {.kind = kind,
          .started_at = "2026-01-02T03:04:05Z",
          .device = "NVIDIA H200",
          .plan_hash = "p1",
          .facts = {{"driver", "580"}}};
}

inline model::PerfMeasurement gemm_row(std::int64_t m, double latency_ms) {
  return {.row = {.table = "gemm_perf",
                  .framework = "assay",
                  .version = "0.1.0",
                  .device = "NVIDIA H200",
                  .op_name = "gemm",
                  .kernel_source = "cublaslt",
                  .key = {{"gemm_dtype", std::string("bfloat16")},
                          {"m", m},
                          {"n", std::int64_t{32}},
                          {"k", std::int64_t{64}}},
                  .latency_ms = latency_ms},
          .timing = {.median_ms = latency_ms,
                     .mean_ms = latency_ms,
                     .p10_ms = latency_ms,
                     .p90_ms = latency_ms,
                     .low_ms = latency_ms,
                     .high_ms = latency_ms,
                     .samples_ms = {latency_ms, latency_ms}},
          .conditions = {.sm_mhz_before = 1980, .slowdowns = {"power cap"}, .throttled = true}};
}

inline CaseRecord gemm_case(std::int64_t m, double latency_ms) {
  return {.operator_name = "gemm",
          .id = "gemm m=" + std::to_string(m),
          .reason = "",
          .error_class = "",
          .detail = "",
          .rows = {gemm_row(m, latency_ms)}};
}

inline TextColumn same_text(const std::string& word, std::size_t rows) {
  return {.codes = std::vector<std::uint32_t>(rows, 0), .words = {word}};
}

// Rows of gemm_perf with the given m.
inline Frame gemm_frame(const std::vector<std::int64_t>& m,
                        const std::vector<double>& latency_ms,
                        const std::string& version = "1.0") {
  const std::size_t rows = m.size();
  return {.columns = {{.name = "framework", .values = same_text("VLLM", rows)},
                      {.name = "version", .values = same_text(version, rows)},
                      {.name = "device", .values = same_text("NVIDIA H200", rows)},
                      {.name = "op_name", .values = same_text("gemm", rows)},
                      {.name = "kernel_source", .values = same_text("default", rows)},
                      {.name = "gemm_dtype", .values = same_text("fp8", rows)},
                      {.name = "m", .values = m},
                      {.name = "latency", .values = latency_ms}}};
}

inline std::vector<double> latencies(const Frame& frame) {
  const FrameColumn* column = frame.find("latency");
  return column == nullptr ? std::vector<double>() : std::get<std::vector<double>>(column->values);
}

// The rows of a table in CSV.
inline Frame frame_of(const std::string& csv) {
  model::Warnings warnings;
  auto frame = read_csv_frame(
      csv, warnings,
      {.text_columns = {"framework", "version", "device", "op_name", "kernel_source"}});
  EXPECT_TRUE(frame.ok()) << (frame.ok() ? "" : frame.error().message);
  return frame.ok() ? std::move(frame).value() : Frame{};
}

}  // namespace assay::store
