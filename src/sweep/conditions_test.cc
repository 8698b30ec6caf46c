#include "sweep/conditions.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/output_file.h"

namespace assay::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Conditions, ChangedFilesAndVariablesAreTold) {
  const std::string file = ::testing::TempDir() + fmt::format("conditions.{}.yaml", ::getpid());
  ASSERT_TRUE(core::write_file(file, "batch: 1").ok());
  ::setenv("NCCL_ASSAY_TEST", "1", 1);
  ::setenv("NCCL_ASSAY_SWEPT", "1", 1);
  const Settings settings = {{"a", {{"NCCL_ASSAY_SWEPT", "2"}}}};
  const std::vector<std::string> files = {"train", file, ""};
  const Conditions before = present_conditions(files, settings);
  EXPECT_EQ(before.count("NCCL_ASSAY_SWEPT"), 0U);
  EXPECT_THAT(differences(before, present_conditions(files, settings)), IsEmpty());
  ASSERT_TRUE(core::write_file(file, "batch: 2").ok());
  ::unsetenv("NCCL_ASSAY_TEST");
  ::unsetenv("NCCL_ASSAY_SWEPT");
  const Conditions after = present_conditions(files, settings);
  EXPECT_THAT(differences(before, after),
              ElementsAre("NCCL_ASSAY_TEST was '1' when the sweep began and is not set",
                          "file " + file + " has changed since the sweep began"));
  EXPECT_THAT(differences({}, after), IsEmpty());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace assay::sweep
