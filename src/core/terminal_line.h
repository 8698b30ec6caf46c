// One line at the bottom of a terminal that is drawn anew as work goes on; silence anywhere else.
#pragma once

#include <cstdio>
#include <string>

namespace assay::core {

class TerminalLine {
 public:
  enum class Show { kOnTerminal, kNever };

  explicit TerminalLine(Show show, std::FILE* stream = stderr);
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;
  ~TerminalLine();

  // Whether draw() does anything.
  [[nodiscard]] bool shown() const { return shown_; }

  // Replaces the line; what does not fit the terminal is cut.
  void draw(std::string text);

  // Wipes the line. Call before writing anything else to the terminal.
  void clear();

 private:
  std::FILE* stream_;
  bool shown_;
  bool on_screen_ = false;
};

// "42 s", "3 min 05 s", "2 h 07 min"; begun seconds count.
std::string duration_text(double seconds);

}  // namespace assay::core
