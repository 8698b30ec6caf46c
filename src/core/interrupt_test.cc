#include "core/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "core/output_file.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

// Each test has a folder of its own and signals child processes, never the test program.
class Interrupt : public testing::Test {
 public:
  Interrupt() {
    std::string pattern = (fs::temp_directory_path() / "assay_interrupt_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }

  ~Interrupt() override { fs::remove_all(folder_); }

 protected:
  // Writes a file, runs `meanwhile` when half of it is there, and exits with 0 if it was refused
  // and 1 if it was written.
  template <class Meanwhile>
  void write_and_exit(const Meanwhile& meanwhile) const {
    handle_interrupts();
    const Status status = write_file_with(folder_ / "report.txt", [&](const fs::path& path) {
      Status half = write_file(path, "half");
      meanwhile();
      return half;
    });
    std::exit(status.ok() ? 1 : 0);
  }

  fs::path folder_;
};

TEST_F(Interrupt, FirstSignalLetsWorkEndByItself) {
  EXPECT_EXIT(write_and_exit([] { std::raise(SIGINT); }), testing::ExitedWithCode(0), "");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Interrupt, SecondSignalEndsAtOnceWithoutLeftovers) {
  const auto twice = [] {
    std::raise(SIGTERM);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(write_and_exit(twice), testing::ExitedWithCode(kInterruptedExitCode),
              "^assay: interrupted\n$");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Interrupt, WorkThatDoesNotListenIsEndedAfterItsGrace) {
  const auto deaf = [] {
    std::raise(SIGTERM);
    for (;;)
      ::pause();
  };
  EXPECT_EXIT(write_and_exit(deaf), testing::ExitedWithCode(kInterruptedExitCode),
              "^assay: interrupted\n$");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Interrupt, WhatWasToldIsNotToldAgain) {
  const auto told = [] {
    std::raise(SIGTERM);
    end_in_silence();
    std::raise(SIGINT);
  };
  EXPECT_EXIT(write_and_exit(told), testing::ExitedWithCode(kInterruptedExitCode), "^$");
}

TEST_F(Interrupt, AnIgnoredSignalStaysIgnored) {
  const auto under_nohup = [this] {
    std::signal(SIGHUP, SIG_IGN);
    write_and_exit([] { std::raise(SIGHUP); });
  };
  EXPECT_EXIT(under_nohup(), testing::ExitedWithCode(1), "");
  EXPECT_TRUE(fs::exists(folder_ / "report.txt"));
}

TEST_F(Interrupt, TemporaryFilesGoWithTheirGuardsOrAllAtOnce) {
  const fs::path target = folder_ / "a.txt";
  {
    const TemporaryFile first = TemporaryFile::beside(target).value();
    const TemporaryFile second = TemporaryFile::beside(target).value();
    ASSERT_NE(first.path(), second.path());
    EXPECT_EQ(first.path().parent_path(), folder_);
    EXPECT_TRUE(fs::is_empty(first.path()));
    ASSERT_TRUE(write_file(first.path(), "1").ok());
    ASSERT_TRUE(write_file(second.path(), "2").ok());
    remove_temporary_files();
    EXPECT_TRUE(fs::is_empty(folder_));
    ASSERT_TRUE(write_file(first.path(), "1").ok());
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace assay::core
