// Runs ranks of tests/fake_nccl_job with the recorder, each in its own process.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "model/recording_file.h"

namespace assay::model {

class FakeJob {
 public:
  FakeJob()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("recording_" + std::to_string(::getpid()) + "_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
  }

  FakeJob(const FakeJob&) = delete;
  FakeJob& operator=(const FakeJob&) = delete;

  ~FakeJob() { std::filesystem::remove_all(folder_); }

  // Sets an environment variable for all ranks that are run from now on.
  void set(const std::string& name, const std::string& value) {
    variables_ += name + "='" + value + "' ";
  }

  // Returns the exit code of `fake_nccl_job <arguments>`.
  int run(const std::string& arguments) { return std::system((shell(arguments)).c_str()); }

  [[nodiscard]] std::string shell(const std::string& arguments) const {
    std::filesystem::create_directories(folder_);
    return "env NCCL_PROFILER_PLUGIN=" ASSAY_RECORDER " ASSAY_RECORDER_CUPTI=" ASSAY_FAKE_CUPTI
           " ASSAY_RECORDER_OUTPUT=" +
           folder_.string() + " " + variables_ + "ASSAY_IN_TEST=1 " ASSAY_FAKE_NCCL_JOB " " +
           arguments + " >" + (folder_ / "said").string() + " 2>&1";
  }

  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::is_directory(folder_)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == recording::kFileSuffix) files.push_back(entry.path());
    }
    return files;
  }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::string variables_;
};

}  // namespace assay::model
