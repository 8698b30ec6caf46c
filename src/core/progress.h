// One line on a terminal that tells how far long work has come; silence anywhere else. What
// package managers offer for this is a C++ library of its own size; this is all that is needed.
//
//   core::Progress progress("reading", core::Progress::Show::kOnTerminal);
//   progress.add_total(file_bytes);   // before or while the work goes on
//   progress.advance(chunk_bytes);    // from any thread
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "core/terminal_line.h"

namespace assay::core {

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
