#include "plan/files/deployment_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace assay::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FilesOfADeployment, ExistingFilesStay) {
  const std::filesystem::path folder = std::filesystem::current_path() / "plan_files_existing";
  const std::vector<DeploymentFile> files = {{"a", "new", false, ""}, {"b", "new", true, ""}};
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "b") << "old";
  EXPECT_FALSE(write_files(folder, files, Existing::kRefused).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  EXPECT_TRUE(write_files(folder, files, Existing::kReplaced).ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "a"));
  using std::filesystem::perms;
  EXPECT_NE(std::filesystem::status(folder / "b").permissions() & perms::owner_exec, perms::none);
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions() & perms::owner_exec, perms::none);
  std::filesystem::remove_all(folder);
}

// What cannot be written whole leaves nothing behind: here, a name that is too long.
TEST(FilesOfADeployment, AllFilesAppearOrNone) {
  const std::filesystem::path folder = std::filesystem::current_path() / "plan_files_all_or_none";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "old") << "old";
  const core::Status written =
      write_files(folder, {{"a", "new", false, ""}, {std::string(300, 'b'), "new", false, ""}},
                  Existing::kReplaced);
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr(folder.string() + "/bbb"));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, ElementsAre("old"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay::plan
