// Every process of tests has a folder of its own for temporary files: ctest runs several at a time.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

class OwnFolder final : public testing::Environment {
 public:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "assay-tests-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr) << folder_;
    ::setenv("TEST_TMPDIR", folder_.c_str(), 1);
    ::setenv("TMPDIR", folder_.c_str(), 1);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::string folder_;
};

const testing::Environment* const kOwnFolder = testing::AddGlobalTestEnvironment(new OwnFolder);

}  // namespace
