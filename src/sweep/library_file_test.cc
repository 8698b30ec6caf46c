#include "sweep/library_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "core/files.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

class LibraryFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    file_ = fs::path(::testing::TempDir()) /
            (std::string("assay_elf_") + test->name() + std::to_string(::getpid()));
    fs::remove(file_);
  }

  void TearDown() override { fs::remove(file_); }

  LibraryText read(const std::string& content) const {
    std::ofstream(file_, std::ios::binary) << content;
    return read_library_text(file_, "libnccl.so.2");
  }

  static std::string whole() { return core::read_file(ASSAY_FAKE_NCCL).value(); }

  fs::path file_;
};

TEST_F(LibraryFile, TellsVersionAndBuild) {
  const LibraryText text = read(whole());
  EXPECT_EQ(text.version, "2.28.3+cuda13.0");
  EXPECT_EQ(text.build_id.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(LibraryFile, FallsBackToItsName) {
  std::ofstream(file_) << "no library";
  EXPECT_EQ(read_library_text(file_, "librccl.so.1.0.60403").version, "1.0.60403");
}

TEST_F(LibraryFile, TruncatedHasNoVersion) {
  const std::string content = whole();
  // The table of sections is the last part of the file.
  for (std::size_t size = 0; size < content.size(); size += 997) {
    EXPECT_EQ(read(content.substr(0, size)).version, "") << size;
  }
}

TEST_F(LibraryFile, GarbageDoesNoHarm) {
  std::mt19937 random(1);
  const std::string content = whole();
  int unreadable = 0;
  for (int i = 0; i < 100; ++i) {
    std::string damaged = content;
    // Half of the damage hits the first or last 64 bytes, the file's header or its table of
    // sections, where it has the largest effect.
    for (int byte = 0; byte < 8; ++byte) {
      const std::size_t end = byte % 2 == 0 ? 64 : 2048;
      const std::size_t at = byte % 4 < 2 ? random() % end : damaged.size() - 1 - random() % end;
      damaged[at] = static_cast<char>(random());
    }
    const LibraryText text = read(damaged);
    if (text.version.empty()) ++unreadable;
    // Any text that is found has the form of a version or a build id and never holds bytes from
    // elsewhere in the file. The damage may have changed the version itself.
    EXPECT_LE(text.version.size(), 32U);
    EXPECT_EQ(text.version.find_first_not_of("0123456789.+abcdefghijklmnopqrstuvwxyz"),
              std::string::npos)
        << text.version;
    EXPECT_EQ(text.build_id.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_LE(text.build_id.size(), 2 * 4096U);
  }
  // Some damaged files are unreadable, and some are not.
  EXPECT_GT(unreadable, 10);
  EXPECT_LT(unreadable, 90);
  EXPECT_EQ(read(content).version, "2.28.3+cuda13.0");
}

TEST_F(LibraryFile, SectionsBeyondTheEndAreLeftOut) {
  std::string content = whole();
  Elf64_Ehdr header;
  std::memcpy(&header, content.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    char* at = content.data() + header.e_shoff + i * sizeof section;
    std::memcpy(&section, at, sizeof section);
    if (i != header.e_shstrndx) section.sh_size = ~0ULL - section.sh_offset + 10;
    std::memcpy(at, &section, sizeof section);
  }
  EXPECT_EQ(read(content).version, "");
}

TEST_F(LibraryFile, APipeIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(read_library_text(file_, "libnccl.so.2").version, "");
}

TEST_F(LibraryFile, IsReadOnce) {
  std::ofstream(file_, std::ios::binary) << whole();
  const auto identity = file_identity(file_);
  ASSERT_TRUE(identity.has_value());
  LibraryTexts texts;
  EXPECT_EQ(texts.of(*identity, file_, "libnccl.so.2").version, "2.28.3+cuda13.0");
  fs::remove(file_);
  EXPECT_EQ(texts.of(*identity, file_, "libnccl.so.2").version, "2.28.3+cuda13.0");
  EXPECT_FALSE(file_identity(file_).has_value());
}

}  // namespace
}  // namespace assay::sweep
