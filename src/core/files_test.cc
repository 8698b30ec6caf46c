#include "core/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace assay::core {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "mapped_file_" + std::to_string(getpid());

  void write(const std::string& content) const { std::ofstream(path_) << content; }

  void TearDown() override { std::filesystem::remove(path_); }
};

TEST_F(MappedFileTest, EndsWithAZeroByteAlsoWhereThePageIsFull) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{4095}, std::size_t{4096},
                                 std::size_t{4097}, std::size_t{65536}}) {
    write(std::string(size, 'x'));
    const auto file = MappedFile::open(path_);
    ASSERT_TRUE(file.ok());
    const std::string_view bytes = file.value().bytes();
    EXPECT_EQ(bytes, std::string(size, 'x'));
    EXPECT_EQ(bytes.data()[size], '\0');
  }
}

TEST_F(MappedFileTest, ForgottenBytesCanBeReadAgain) {
  write(std::string(20000, 'x'));
  auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.ok());
  file.value().forget(15000);
  file.value().forget(100);
  EXPECT_EQ(file.value().bytes(), std::string(20000, 'x'));
}

TEST_F(MappedFileTest, TellsWhyAFileCannotBeRead) {
  write("");
  EXPECT_EQ(MappedFile::open(path_).error().message, "'" + path_ + "' is empty");
  EXPECT_EQ(MappedFile::open("/no/such").error().message,
            "cannot read '/no/such': No such file or directory");
  EXPECT_EQ(MappedFile::open("/").error().message, "cannot read '/': Is a directory");
}

class FileLockTest : public testing::Test {
 protected:
  FileLockTest() { std::filesystem::create_directories(folder_); }

  ~FileLockTest() override { std::filesystem::remove_all(folder_); }

  static constexpr std::chrono::milliseconds kNoPatience{0};

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("file_lock_" + std::to_string(getpid()));
};

TEST_F(FileLockTest, OneAtATime) {
  for (const bool folder : {false, true}) {
    const auto acquire = [&] {
      return folder ? FileLock::acquire_folder(folder_ / "folder", kNoPatience)
                    : FileLock::acquire(folder_ / "file", kNoPatience);
    };
    {
      const auto lock = acquire();
      EXPECT_TRUE(lock.ok());
      EXPECT_THAT(acquire().error().message, testing::HasSubstr("another process"));
    }
    EXPECT_TRUE(acquire().ok());
  }
}

std::vector<std::string> g_notices;

TEST_F(FileLockTest, TellsOfAWaitAfterASecond) {
  g_notices.clear();
  FileLock::set_notice([](const std::string& held) { g_notices.push_back(held); });
  const auto lock = FileLock::acquire_folder(folder_, kNoPatience);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(FileLock::acquire_folder(folder_, std::chrono::milliseconds(500)).ok());
  EXPECT_TRUE(g_notices.empty());
  const auto second = FileLock::acquire_folder(folder_, std::chrono::milliseconds(1500));
  FileLock::set_notice(nullptr);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(g_notices, std::vector<std::string>{second.error().message});
}

TEST_F(FileLockTest, NeverWritesIntoWhatIsNoLock) {
  const std::filesystem::path precious = folder_ / "precious";
  std::ofstream(precious) << "precious";
  std::filesystem::create_symlink(precious, folder_ / "link");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const char* name : {"link", "fifo"}) {
    EXPECT_THAT(FileLock::acquire(folder_ / name, kNoPatience).error().message,
                testing::HasSubstr("it is no regular file"));
  }
  EXPECT_EQ(read_file(precious).value(), "precious");
}

TEST_F(FileLockTest, SaysWhoHoldsIt) {
  const auto lock = FileLock::acquire(folder_ / "file", kNoPatience);
  for (const char* holder : {"a long name", "short"}) {
    lock.value().note(holder);
    EXPECT_EQ(read_file(folder_ / "file").value(), holder);
  }
}

TEST(FileName, LeadsNowhereElseAndShowsAsItIs) {
  for (const char* good : {"a", "a.b", "-", "\xC3\xA4", "$(x)", "n\xEF\xBF\xBD"})
    EXPECT_TRUE(check_file_name(good).ok()) << good;
  for (const char* bad : {"", ".", "..", ".a", "a/b", "/", "a\nb", "a\x1b", "a\x7F", "a\xFF",
                          "a\xC2\x9B", "a\xE2\x80\xAE"})
    EXPECT_FALSE(check_file_name(bad).ok()) << bad;
  EXPECT_TRUE(check_file_name(std::string(240, 'n')).ok());
  EXPECT_FALSE(check_file_name(std::string(241, 'n')).ok());
}

}  // namespace
}  // namespace assay::core
