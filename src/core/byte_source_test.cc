#include "core/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "core/output_file.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

class ByteSourceFile : public testing::Test {
 protected:
  ByteSourceFile()
      : path_(fs::temp_directory_path() / ("assay_byte_source_" + std::to_string(::getpid()))) {}

  ~ByteSourceFile() override { fs::remove(path_); }

  [[nodiscard]] std::string read_all() const {
    const auto source = open_bytes(path_);
    if (!source.ok()) return source.error().message;
    std::string text;
    char piece[3];
    for (;;) {
      const auto n = source.value()->read(piece, sizeof piece);
      if (!n.ok()) return n.error().message;
      if (n.value() == 0) return text;
      text.append(piece, n.value());
    }
  }

  // The same through a pipe, which cannot seek.
  [[nodiscard]] std::string read_all_from_pipe(const std::string& bytes) const {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    std::thread writer([&] {
      std::FILE* pipe = std::fopen(path_.c_str(), "wb");
      std::fwrite(bytes.data(), 1, bytes.size(), pipe);
      std::fclose(pipe);
    });
    std::string text = read_all();
    writer.join();
    fs::remove(path_);
    return text;
  }

  fs::path path_;
};

// "hello" as gzip writes it.
const std::string kGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00"
    "\x00\x00",
    25);

TEST_F(ByteSourceFile, InflatesWhatStartsAsGzipFromFilesAndPipes) {
  for (const std::string& bytes : {std::string("hello"), kGzip}) {
    ASSERT_TRUE(write_file(path_, bytes).ok());
    EXPECT_EQ(read_all(), "hello");
    fs::remove(path_);
    EXPECT_EQ(read_all_from_pipe(bytes), "hello");
  }
}

TEST_F(ByteSourceFile, WhatFollowsTheLastMemberIsNoPartOfTheData) {
  for (const std::string& bytes :
       {kGzip + std::string(512, '\0'), kGzip + "\n", kGzip + "signature", kGzip + "\x1f"}) {
    ASSERT_TRUE(write_file(path_, bytes).ok());
    EXPECT_EQ(read_all(), "hello");
  }
  ASSERT_TRUE(write_file(path_, kGzip + kGzip + std::string(300'000, '\0')).ok());
  EXPECT_EQ(read_all(), "hellohello");
}

TEST_F(ByteSourceFile, AMemberThatEndsEarlyIsAnError) {
  ASSERT_TRUE(write_file(path_, kGzip + kGzip.substr(0, 15)).ok());
  EXPECT_NE(read_all().find("truncated"), std::string::npos);
}

TEST_F(ByteSourceFile, ShortFilesAreGivenWhole) {
  for (const std::string& bytes : {std::string(), std::string("x"), std::string("\x1f")}) {
    ASSERT_TRUE(write_file(path_, bytes).ok());
    EXPECT_EQ(read_all(), bytes);
  }
}

TEST_F(ByteSourceFile, NamesAFolderAsSuch) {
  path_ = fs::temp_directory_path() / ("assay_byte_source_folder_" + std::to_string(::getpid()));
  ASSERT_TRUE(fs::create_directory(path_));
  EXPECT_NE(read_all().find("it is a folder"), std::string::npos);
}

}  // namespace
}  // namespace assay::core
