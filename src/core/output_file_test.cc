#include "core/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/files.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFile : public testing::Test {
 protected:
  OutputFile() { fs::create_directories(folder_); }

  ~OutputFile() override { fs::remove_all(folder_); }

  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  // A folder of its own for each test, because a process looks once for what is left in a folder.
  fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(OutputFile, ReplacesAFileAndKeepsItsMode) {
  const fs::path file = folder_ / "report";
  ASSERT_TRUE(write_file(file, "old").ok());
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_file(file, "new").ok());
  EXPECT_EQ(read_file(file).value(), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFile, WritesThroughLinks) {
  fs::create_directories(folder_ / "elsewhere");
  fs::create_symlink("elsewhere/report", folder_ / "link");
  for (const char* content : {"first", "second"}) {
    ASSERT_TRUE(write_file(folder_ / "link", content).ok());
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(read_file(folder_ / "elsewhere/report").value(), content);
  }
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_THAT(write_file(folder_ / "loop", "x").error().message, HasSubstr("symbolic links"));
}

TEST_F(OutputFile, AFifoGetsTheContentAndStaysOne) {
  const fs::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(fifo).value(); });
  const std::string content(200'000, 'x');  // more than a pipe holds
  EXPECT_TRUE(write_file(fifo, content).ok());
  reader.join();
  EXPECT_EQ(got, content);
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFile, ADeviceStaysOne) {
  const fs::path null = folder_ / "null";
  if (::mknod(null.c_str(), S_IFCHR | 0666, 0x103) != 0 ||
      ::close(::open(null.c_str(), O_WRONLY)) != 0)
    GTEST_SKIP() << "this user may not make devices here";
  EXPECT_TRUE(write_file(null, "content").ok());
  EXPECT_TRUE(fs::is_character_file(null));
}

TEST_F(OutputFile, WithoutAPlaceForTemporaryFilesTheErrorNamesTheOutput) {
  ::setenv("TMPDIR", "/no/such", 1);
  EXPECT_THAT(write_file("/dev/null", "content").error().message,
              HasSubstr("cannot write '/dev/null'"));
  ::unsetenv("TMPDIR");
}

TEST_F(OutputFile, AFullDiskIsAnErrorThatNamesTheOutput) {
  EXPECT_THAT(write_file("/dev/full", std::string(100'000, 'x')).error().message,
              HasSubstr("cannot write '/dev/full': No space left"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFile, FoldersAndReadOnlyFilesAreRefused) {
  EXPECT_THAT(write_file(folder_, "x").error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(write_file(folder_ / "none/report", "x").error().message,
              HasSubstr("none/report': No such file"));
  if (::geteuid() == 0) return;  // root may write everything
  const fs::path file = folder_ / "read_only";
  ASSERT_TRUE(write_file(file, "old").ok());
  fs::permissions(file, fs::perms::owner_read);
  EXPECT_THAT(write_file(file, "new").error().message, HasSubstr("Permission denied"));
  EXPECT_EQ(read_file(file).value(), "old");
}

TEST_F(OutputFile, FailureLeavesTheOldFileAndNothingElse) {
  const fs::path file = folder_ / "report";
  ASSERT_TRUE(write_file(file, "old").ok());
  const auto fails = [](const fs::path& temporary) -> Status {
    std::ofstream(temporary) << "half";
    return Error{"no"};
  };
  EXPECT_FALSE(write_file_with(file, fails).ok());
  EXPECT_EQ(read_file(file).value(), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFile, RemovesOnlyRegularFiles) {
  fs::create_directories(folder_ / "elsewhere");
  std::ofstream(folder_ / "elsewhere/report") << "old";
  fs::create_symlink("elsewhere/report", folder_ / "link");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const char* name : {"link", "link", "fifo", "none"})
    EXPECT_TRUE(remove_file(folder_ / name).ok()) << name;
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere/report"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_fifo(folder_ / "fifo"));
  EXPECT_THAT(remove_file(folder_ / "elsewhere").error().message, HasSubstr("Is a directory"));
}

TEST_F(OutputFile, ReplacesOnlyLinksByLinks) {
  for (const char* target : {"first", "second"}) {
    EXPECT_TRUE(replace_link(folder_ / "latest", target).ok());
    EXPECT_EQ(fs::read_symlink(folder_ / "latest"), target);
  }
  std::ofstream(folder_ / "file") << "mine";
  EXPECT_THAT(replace_link(folder_ / "file", "first").error().message, HasSubstr("File exists"));
  EXPECT_EQ(read_file(folder_ / "file").value(), "mine");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(OutputFile, RemovesWhatProcessesThatAreGoneLeft) {
  const auto make = [&](const char* name) { std::ofstream(folder_ / name) << "half"; };
  make(".assay-0123456789abcdef.tmp");
  make(".assay-0123456789abcdeX.tmp");  // not our name
  make(".assay-00000000000000aa.tmp");
  fs::create_directories(folder_ / ".assay-00000000000000bb.tmp");
  make(".assay-00000000000000bb.tmp/rank_0.goal");
  fs::create_symlink("/etc/passwd", folder_ / ".assay-00000000000000cc.tmp");
  const int in_use = ::open((folder_ / ".assay-00000000000000aa.tmp").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(in_use, LOCK_EX), 0);
  ASSERT_TRUE(write_file(folder_ / "report", "whole").ok());
  ::close(in_use);
  std::vector<std::string> left;
  for (const fs::path& name : list_directory(folder_).value())
    left.push_back(name.string());
  EXPECT_THAT(left,
              testing::ElementsAre(".assay-00000000000000aa.tmp", ".assay-00000000000000cc.tmp",
                                   ".assay-0123456789abcdeX.tmp", "report"));
}

TEST_F(OutputFile, RemovesWhatIsLeftBelow) {
  const char* const name = ".assay-0123456789abcdef.tmp";
  fs::create_directories(folder_ / "a/b/c");
  fs::create_directory_symlink("a/b/c", folder_ / "link");
  for (const char* folder : {"a", "a/b", "a/b/c"})
    std::ofstream(folder_ / folder / name) << "half";
  remove_left_behind_below(folder_, 2);
  EXPECT_FALSE(fs::exists(folder_ / "a" / name));
  EXPECT_FALSE(fs::exists(folder_ / "a/b" / name));
  EXPECT_TRUE(fs::exists(folder_ / "a/b/c" / name));
}

}  // namespace
}  // namespace assay::core
