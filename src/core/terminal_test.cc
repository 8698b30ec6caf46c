#include "core/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace assay::core {
namespace {

TEST(Progress, TellsDoneTotalRateAndTimeLeft) {
  EXPECT_EQ(progress_text("reading", 120'000'000, 480'000'000, 0.5),
            "reading 120.0 of 480.0 MB, 240 MB/s, 2 s left");
  EXPECT_EQ(progress_text("reading", 1'000'000, 100'000'000, 1),
            "reading 1.0 of 100.0 MB, 1 MB/s, 1 min 39 s left");
  EXPECT_EQ(progress_text("reading", 0, 5'000'000, 1), "reading 0.0 of 5.0 MB");
  // More than was announced: the total follows.
  EXPECT_EQ(progress_text("reading", 2'000'000, 1'000'000, 1),
            "reading 2.0 of 2.0 MB, 2 MB/s, 0 s left");
}

// The master side of a new terminal, and its other side as a stream.
struct Terminal {
  int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  std::FILE* stream = nullptr;

  Terminal() {
    if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return;
    stream = std::fopen(::ptsname(master), "w");
  }

  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ~Terminal() {
    if (stream != nullptr) std::fclose(stream);
    ::close(master);
  }

  // Reads until nothing more arrives, as the kernel passes output on in its own time.
  [[nodiscard]] std::string shown() const {
    std::string text;
    pollfd arrival{master, POLLIN, 0};
    while (::poll(&arrival, 1, 200) > 0) {
      char buffer[4096];
      const ssize_t n = ::read(master, buffer, sizeof buffer);
      if (n <= 0) break;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }
};

TEST(Progress, DrawsOnATerminalAndWipesTheLineAtTheEnd) {
  const Terminal terminal;
  if (terminal.stream == nullptr) GTEST_SKIP() << "no pseudo terminals here";
  {
    Progress progress("reading", Progress::Show::kOnTerminal, terminal.stream);
    progress.add_total(8'000'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    const std::jthread rank_0([&] { progress.advance(1'000'000); });
    const std::jthread rank_1([&] { progress.advance(1'000'000); });
  }
  const std::string shown = terminal.shown();
  EXPECT_NE(shown.find("of 8.0 MB"), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with("\r\033[K")) << shown;
}

TEST(Terminal, APipeIsAsWideAsTheEnvironmentSays) {
  std::FILE* pipe = std::tmpfile();
  ASSERT_NE(pipe, nullptr);
  ::unsetenv("COLUMNS");
  EXPECT_EQ(terminal_columns(pipe, 120), 120U);
  ::setenv("COLUMNS", "84", 1);
  EXPECT_EQ(terminal_columns(pipe, 120), 84U);
  for (const char* useless : {"", "0", "-5", "wide", "99999999999999999999"}) {
    ::setenv("COLUMNS", useless, 1);
    EXPECT_EQ(terminal_columns(pipe, 120), 120U) << useless;
  }
  ::unsetenv("COLUMNS");
  std::fclose(pipe);
}

TEST(Progress, IsSilentInPipesAndWhenToldToBe) {
  const Terminal terminal;
  if (terminal.stream == nullptr) GTEST_SKIP() << "no pseudo terminals here";
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress in_file("reading", Progress::Show::kOnTerminal, file);
    Progress never("reading", Progress::Show::kNever, terminal.stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    in_file.advance(1'000'000);
    never.advance(1'000'000);
  }
  EXPECT_EQ(std::ftell(file), 0);
  EXPECT_EQ(terminal.shown(), "");
  std::fclose(file);
}

}  // namespace
}  // namespace assay::core
