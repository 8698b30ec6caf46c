// The library of tests/fake_nvml with the values that a test gives it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace assay::gpu {

class FakeNvml {
 public:
  // Lines as tests/fake_nvml/fake_nvml.cc describes them.
  explicit FakeNvml(const std::string& values) {
    set(values);
    ::setenv("ASSAY_FAKE_NVML", file_.c_str(), 1);
  }

  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  ~FakeNvml() {
    ::unsetenv("ASSAY_FAKE_NVML");
    std::filesystem::remove(file_);
  }

  void set(const std::string& values) const { std::ofstream(file_) << values; }

  static std::string library() { return ASSAY_FAKE_NVML_FOLDER "/libnvidia-ml.so.1"; }

 private:
  std::filesystem::path file_ = std::filesystem::path(::testing::TempDir()) /
                                ("assay_fake_nvml_" + std::to_string(::getpid()));
};

}  // namespace assay::gpu
