#include "core/file_hash.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace assay::core {
namespace {

TEST(FileHash, TellsFilesApartByTheirBytes) {
  const std::filesystem::path folder = ::testing::TempDir();
  const auto hash_of = [&](const std::string& text) {
    std::ofstream(folder / "file_hash_test") << text;
    return file_hash(folder / "file_hash_test").value();
  };
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cU);  // of the published test vectors
  const std::string large(100'000, 'x');
  EXPECT_NE(hash_of(large), hash_of(large + 'x'));
  EXPECT_FALSE(file_hash(folder / "file_hash_test_none").ok());
}

}  // namespace
}  // namespace assay::core
