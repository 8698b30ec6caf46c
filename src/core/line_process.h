// A worker: a program that gets requests as lines on its standard input and answers with lines on
// its standard output. What it writes to standard error, for people, goes to a log. It never
// outlives us: the keeper of core/kept_process.h also ends what a hung worker leaves behind. A
// signal at our death alone (PR_SET_PDEATHSIG) would miss its children.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/kept_process.h"
#include "core/result.h"

namespace assay::core {

// Why there is no line.
struct NoLine {
  enum class Why { kNotYet, kEnded, kUnreadable } why = Why::kNotYet;
  std::optional<ProcessEnd> end = {};  // when it ended by itself
  // A sentence without its full stop: "the worker was ended by signal 11 (Segmentation fault)".
  std::string what = {};
};

class LineProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // Its standard error is appended to `log`. Fails when the program cannot be started at all.
  static Result<LineProcess> start(const std::vector<std::string>& arguments,
                                   const std::filesystem::path& log,
                                   const EnvironmentChanges& environment = {});

  // The line without its end. Fails when nobody reads any more; receive() then tells why.
  Status send(const std::string& line);

  // The next line without its end. Waits until `until` or until a signal arrives, and then returns
  // kNotYet. After any other NoLine the process cannot be used any more.
  std::variant<std::string, NoLine> receive(Clock::time_point until);

  // The descriptor to poll for what receive() would return; -1 when the output is closed, so that
  // only the end of the process remains to wait for.
  [[nodiscard]] int watched() const { return closed_at_ ? -1 : process_.output(); }

  // Returns whether receive() would return a line at once.
  [[nodiscard]] bool has_line() const { return unread_.find('\n') != std::string::npos; }

  // Asks the process to end by closing its input.
  void close_input() { process_.close_input(); }

  // The same, and ends it by force after `patience`.
  void end(std::chrono::milliseconds patience);

  // Begins to end the process and all that it started, without waiting; is_gone() tells when that
  // is done.
  void kill() { process_.end(); }

  [[nodiscard]] bool is_gone();

  // The last words of its log since it was started, for messages: "" or "; it said: '...'".
  [[nodiscard]] std::string last_words() const;

 private:
  LineProcess(KeptProcess process, std::filesystem::path log);

  NoLine ended(Clock::time_point until);

  KeptProcess process_;
  std::filesystem::path log_;
  std::uintmax_t log_start_ = 0;  // where this worker's part of the log begins
  std::optional<ProcessEnd> end_ = {};
  std::optional<Clock::time_point> closed_at_ = {};  // when its output closed
  std::string unread_;                               // its output behind the last line
};

}  // namespace assay::core
