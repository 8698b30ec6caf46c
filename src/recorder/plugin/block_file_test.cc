#include "recorder/plugin/block_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "core/files.h"

namespace assay::recorder {
namespace {

namespace rec = model::recording;

constexpr std::uint64_t kMegabyte = 1 << 20U;
constexpr int kManyRounds = 300;  // until memory is given back

// Returns the number under which this process has opened the file; -1 if it has not.
int descriptor_of(const std::filesystem::path& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) == path)
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

class BlockFileTest : public ::testing::Test {
 protected:
  BlockFileTest() { std::filesystem::remove_all(folder_); }

  ~BlockFileTest() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    std::string reason;
    file_ = BlockFile::create(folder_.string(), kMegabyte, reason);
    ASSERT_NE(file_, nullptr) << reason;
  }

  std::byte* write(std::byte* place, std::string_view words) {
    std::memcpy(place, words.data(), words.size());
    file_->touch(place);
    return place;
  }

  [[nodiscard]] std::string saved(const std::byte* place, std::size_t bytes) const {
    return core::read_file(file_->path()).value().substr(file_->number_of(place) * 8ULL, bytes);
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("blocks_" + std::to_string(::getpid()) + "_" +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::unique_ptr<BlockFile> file_;
};

TEST_F(BlockFileTest, SavesWhatChanged) {
  std::byte* first = write(file_->take_block(), "one");
  std::byte* second = write(file_->take_block(), "two");
  file_->save();
  EXPECT_EQ(saved(first, 3), "one");
  EXPECT_EQ(saved(second, 3), "two");
  write(first, "new");
  file_->save();
  EXPECT_EQ(saved(first, 3), "new");
}

TEST_F(BlockFileTest, ChangesOfOldBlocksNeverReachTheFile) {
  std::byte* old = write(file_->take_block(), "old");
  std::byte* open = write(file_->take_block(), "open");
  file_->complete(old);
  for (int i = 0; i < kManyRounds; ++i)
    file_->save();
  EXPECT_EQ(*old, std::byte{0});
  write(old, "new");
  write(open, "late");
  file_->save();
  EXPECT_EQ(saved(old, 3), "old");
  EXPECT_EQ(saved(open, 4), "late");
}

TEST_F(BlockFileTest, EndsAtItsLimit) {
  for (std::uint64_t i = 1; i < kMegabyte / rec::kBlockBytes; ++i) {
    std::byte* block = file_->take_block();
    ASSERT_NE(block, nullptr);
    write(block + rec::kBlockBytes - 4, "last");
  }
  EXPECT_EQ(file_->error(), 0);
  EXPECT_EQ(file_->take_block(), nullptr);
  EXPECT_EQ(file_->error(), BlockFile::kFull);
  file_->close();
  EXPECT_EQ(std::filesystem::file_size(file_->path()), kMegabyte);
}

TEST_F(BlockFileTest, LeavesAFileAloneThatTookItsNumber) {
  std::byte* block = write(file_->take_block(), "words");
  const std::filesystem::path other = folder_ / "other";
  const int descriptor = ::open(other.c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_GE(::dup2(descriptor, descriptor_of(file_->path())), 0);
  file_->save();
  EXPECT_EQ(file_->error(), EBADF);
  EXPECT_EQ(std::filesystem::file_size(other), 0U);
  EXPECT_EQ(file_->number_of(block), rec::kBlockBytes / 8);
  ::close(descriptor);
}

TEST_F(BlockFileTest, AForkedChildLeavesAFileOpenThatTookItsNumber) {
  const std::filesystem::path other = folder_ / "other";
  const int descriptor = ::open(other.c_str(), O_RDWR | O_CREAT, 0666);
  const int number = descriptor_of(file_->path());
  ASSERT_EQ(::dup2(descriptor, number), number);
  file_->forget();
  EXPECT_EQ(::write(number, "a", 1), 1);
  ::close(descriptor);
}

TEST_F(BlockFileTest, AForkedChildClosesIt) {
  file_->forget();
  EXPECT_EQ(descriptor_of(file_->path()), -1);
}

}  // namespace
}  // namespace assay::recorder
