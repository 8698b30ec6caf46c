#include "core/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/library_search.h"
#include "core/output_file.h"

namespace assay::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool is_loaded(const char* file) {
  void* handle = ::dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

TEST(SharedLibrary, OpensTheFirstFileThatLoadsUntilItIsDestroyed) {
  ASSERT_FALSE(is_loaded(ASSAY_FAKE_NCCL));
  {
    auto library = SharedLibrary::open({"libassay_nothing.so", ASSAY_FAKE_NCCL});
    ASSERT_TRUE(library.ok()) << library.error().message;
    const SharedLibrary moved = std::move(library.value());
    EXPECT_TRUE(is_loaded(ASSAY_FAKE_NCCL));
    const char* (*text)(int) = nullptr;
    ASSERT_TRUE(moved.bind("ncclFakeText", text));
    EXPECT_NE(text(0), nullptr);
  }
  EXPECT_FALSE(is_loaded(ASSAY_FAKE_NCCL));
}

TEST(SharedLibrary, SaysWhichSymbolIsMissing) {
  const auto library = SharedLibrary::open({"libc.so.6"});
  ASSERT_TRUE(library.ok()) << library.error().message;
  int (*function)() = nullptr;
  EXPECT_FALSE(library.value().bind("assay_no_such_function", function));
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(library.value().require("assay_no_such_function", function).error().message,
            "the library has no assay_no_such_function");
  EXPECT_TRUE(library.value().require("getpid", function).ok());
}

TEST(SharedLibrary, NamesTheFilesThatWereTriedAndWhyOneDidNotLoad) {
  const std::filesystem::path broken =
      std::filesystem::path(::testing::TempDir()) / "assay_broken_library.so";
  ASSERT_TRUE(write_file(broken, "this is no library").ok());
  EXPECT_EQ(SharedLibrary::open({"libassay_a.so", "/nowhere/libassay_a.so"}).error().message,
            "tried libassay_a.so, /nowhere/libassay_a.so: no such file");
  const auto error = SharedLibrary::open({broken.string(), "libassay_a.so"}).error();
  EXPECT_THAT(error.message, HasSubstr("tried " + broken.string() + ", libassay_a.so: "));
  EXPECT_THAT(error.message, ::testing::Not(HasSubstr(": no such file")));
  std::filesystem::remove(broken);
}

TEST(SharedLibrary, FilesComeInTheOrderOfTheFolders) {
  ::setenv("ASSAY_TEST_FOLDERS", "/a::/b", 1);
  EXPECT_THAT(folders_in_variable("ASSAY_TEST_FOLDERS"), ElementsAre("/a", "/b"));
  ::unsetenv("ASSAY_TEST_FOLDERS");
  EXPECT_THAT(folders_in_variable("ASSAY_TEST_FOLDERS"), IsEmpty());
  EXPECT_THAT(files_in({"/a", ""}, {"x.so.2", "x.so.1"}),
              ElementsAre("/a/x.so.2", "/a/x.so.1", "x.so.2", "x.so.1"));
}

TEST(SharedLibrary, TheFoldersOfAssaysOwnVariableComeFirst) {
  ::setenv("CUDA_HOME", "/toolkit", 1);
  ::unsetenv("CUDA_PATH");
  ::setenv(kLibraryPath, "/mine", 1);
  EXPECT_THAT(library_files({"x.so"}),
              ElementsAre("/mine/x.so", "x.so", "/toolkit/lib64/x.so", "/toolkit/lib/x.so",
                          "/usr/local/cuda/lib64/x.so"));
  EXPECT_THAT(library_files({"/that/x.so"}), ElementsAre("/that/x.so"));
  ::unsetenv(kLibraryPath);
  ::unsetenv("CUDA_HOME");
  EXPECT_THAT(library_files({"x.so"}), ElementsAre("x.so", "/usr/local/cuda/lib64/x.so"));
}

TEST(SharedLibrary, ALibraryIsOpenedFromTheFolderThatTheVariableNames) {
  const std::filesystem::path file = ASSAY_FAKE_NCCL;
  ::setenv(kLibraryPath, file.parent_path().c_str(), 1);
  const auto library = open_library({file.filename().string()}, RTLD_NOW | RTLD_LOCAL);
  ::unsetenv(kLibraryPath);
  ASSERT_TRUE(library.ok()) << library.error().message;
  Dl_info about{};
  ASSERT_NE(::dladdr(library.value().find("ncclFakeText"), &about), 0);
  EXPECT_EQ(about.dli_fname, file.string());
  EXPECT_THAT(open_library({"libassay_nothing.so"}).error().message,
              HasSubstr("libassay_nothing.so cannot be opened: tried libassay_nothing.so, "));
}

}  // namespace
}  // namespace assay::core
