// A worker: a program that is asked by lines on its standard input and answers by lines on its
// standard output. What it says to people, on standard error, goes to a log. It never outlives us:
// core/kept_process.h stands between, which also ends what a hung worker leaves behind; a signal at
// our death alone (PR_SET_PDEATHSIG) would miss its children.
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
                                   const std::filesystem::path& log);

  // The line without its end. Fails when nobody reads any more; receive() then tells why.
  Status send(const std::string& line);

  // The next line without its end, waiting for it until `until` and at most until a signal
  // arrives: kNotYet then. After any NoLine but kNotYet the process is of no use any more.
  std::variant<std::string, NoLine> receive(Clock::time_point until);

  // To poll for what receive() would return; -1 when the output is closed and only the end of the
  // process is waited for.
  [[nodiscard]] int watched() const { return closed_at_ ? -1 : process_.output(); }

  // receive() has a line already.
  [[nodiscard]] bool has_line() const { return unread_.find('\n') != std::string::npos; }

  // Asks it to end, by the end of its input.
  void close_input() { process_.close_input(); }

  // The same, and sees to it after `patience`.
  void end(std::chrono::milliseconds patience);

  // Begins to end it and all that it started, without waiting; is_gone() tells when that is done.
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
  std::optional<Clock::time_point> closed_at_ = {};  // its output
  std::string unread_;                               // of its output, behind the last line
};

// A program of our own, beside the running one or in libexec/assay/ of its installation. Error: it
// is not there.
Result<std::filesystem::path> find_own_program(const std::string& name);

}  // namespace assay::core
