// Output for a terminal: colours, and a progress line for long work. Package managers offer C++
// libraries for progress lines, but this is all that is needed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace assay::core {

class Task;

bool is_terminal(std::FILE* stream);

// Returns whether the stream is a terminal that understands escape sequences and the user did not
// refuse colours (https://no-color.org: NO_COLOR is set and not empty).
bool shows_colors(std::FILE* stream);

// Returns the columns of the terminal. For pipes, files and terminals that do not tell, COLUMNS of
// the environment says them, or else they are `otherwise`.
std::size_t terminal_columns(std::FILE* stream, std::size_t otherwise);

// One line at the bottom of a terminal, drawn anew as work goes on. Other streams show nothing.
class TerminalLine {
 public:
  enum class Show { kOnTerminal, kNever };

  explicit TerminalLine(Show show, std::FILE* stream = stderr);
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;
  ~TerminalLine();

  // Returns whether draw() does anything.
  [[nodiscard]] bool shown() const { return shown_; }

  // Replaces the line, which is cut to fit the terminal.
  void draw(std::string_view text);

  // Wipes the line. Call before writing anything else to the terminal.
  void clear();

 private:
  std::FILE* stream_;
  bool shown_;
  bool on_screen_ = false;
};

// "42 s", "3 min 05 s", "2 h 07 min"; seconds are rounded up.
std::string duration_text(double seconds);

// The line of work whose bytes are known:
//
//   core::Progress progress("reading", core::Progress::Show::kOnTerminal);
//   progress.add_total(file_bytes);   // before or while the work goes on
//   progress.advance(chunk_bytes);    // from any thread
//
// Work for a task tells its caller and shows nothing.
class Progress {
 public:
  using Show = TerminalLine::Show;

  // `doing` opens the line: "reading". `stream` is for tests.
  Progress(std::string doing, Show show, std::FILE* stream = stderr);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add_total(std::uint64_t bytes);
  void advance(std::uint64_t bytes);

  // Wipes the line; later calls draw it again. Call before writing to the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw(Clock::time_point now);

  std::string doing_;
  Task* task_;
  Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> total_bytes_{0};
  std::atomic<std::uint64_t> done_bytes_{0};
  std::mutex mutex_;  // guards what follows
  TerminalLine line_;
  Clock::time_point drawn_ = start_;
};

// The line's text: "reading 120.0 of 480.0 MB, 240 MB/s, 2 s left" (1e6 bytes to a MB).
std::string progress_text(std::string_view doing,
                          std::uint64_t done_bytes,
                          std::uint64_t total_bytes,
                          double elapsed_seconds);

}  // namespace assay::core
