// Runs a program to its end: as a tool with text as input and output, or in our place with our
// terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::core {

// Changes to our own environment; no value removes the variable.
using EnvironmentChanges = std::vector<std::pair<std::string, std::optional<std::string>>>;

// A program with its arguments and its environment, made before a fork: the child of a process with
// several threads has the locks that these held, and setenv() would wait for one.
class ReadyProgram {
 public:
  // `arguments` begin with the program, found in the PATH of its own environment.
  ReadyProgram(const std::vector<std::string>& arguments, const EnvironmentChanges& changes);
  ReadyProgram(const ReadyProgram&) = delete;
  ReadyProgram& operator=(const ReadyProgram&) = delete;
  ~ReadyProgram() = default;

  // Turns this process, a forked child, into the program. Returns errno, and only when that fails.
  [[nodiscard]] int become() const;

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::vector<char*> argument_words_;
  std::vector<char*> environment_words_;
};

// The error of a program that did not start; `error` is an errno.
Error cannot_start(const std::string& program, int error);

struct ToolEnd {
  int exit_code = 0;   // as a shell would say it: 128 + N when signal N ended it
  std::string output;  // standard output and error, in the order of their writing
};

// Gives `input` to the program's standard input and waits for its end. `arguments` begin with the
// program, found in PATH. Fails when it cannot be started; safe to call from several threads. Ends
// it when the work is to stop.
Result<ToolEnd> run_tool(const std::vector<std::string>& arguments, std::string_view input);

struct ForegroundLaunch {
  std::vector<std::string> arguments;  // the program, found in PATH, and its arguments
  EnvironmentChanges environment = {};
  // A "NAME=value" of `environment` that no other processes have: what else is to end with it.
  std::string mark = {};
};

struct ForegroundEnd {
  int exit_code = 0;  // as a shell would say it: 128 + N when signal N ended it, 127 when there
                      // is no such program, 126 when it cannot be started
  std::string not_started;  // why, or ""
};

// Waits for its end. Meanwhile Ctrl-C is the program's business; other signals that end programs
// are passed on to it. Where we work for a caller inside another process, signals are the caller's:
// none is handled. The program and all that it started are then ended when the caller stops the
// work, and the program is when the caller's process ends.
ForegroundEnd run_in_foreground(const ForegroundLaunch& launch);

}  // namespace assay::core
