// A program that is started, watched, and ended together with everything that it started, even
// when this process is killed: a small process of our own, the keeper, stands between. It holds
// the other end of a pipe; when that closes, it ends the program's whole family.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/process_family.h"
#include "core/result.h"
#include "core/run_program.h"

namespace assay::core {

struct Launch {
  std::vector<std::string> arguments;  // the program, found in PATH, and its arguments
  EnvironmentChanges environment = {};
  std::filesystem::path log = {};  // standard output and error, in the order of their writing

  // kPipes: we write its standard input and read its standard output; only standard error goes to
  // the log. Otherwise its standard input is empty.
  enum class Streams { kLog, kPipes } streams = Streams::kLog;

  // A variable that no other process has. It identifies the family, whatever happens to the
  // parents.
  struct Mark {
    std::string name;
    std::string value;
  } mark = {};

  std::chrono::milliseconds grace{10'000};  // between SIGTERM and SIGKILL
};

struct ProcessEnd {
  int exit_code = 0;                           // of the program itself; 0 when a signal ended it
  int signal = 0;                              // the signal that ended it, or 0
  EndedFamily rest;                            // the processes that were ended with it or after it
  std::chrono::steady_clock::time_point time;  // of its own end; the family's may be later
};

class KeptProcess {
 public:
  // Fails when the program cannot be started at all.
  static Result<KeptProcess> start(const Launch& launch);

  KeptProcess(KeptProcess&& other) noexcept;
  KeptProcess& operator=(KeptProcess&&) = delete;
  KeptProcess(const KeptProcess&) = delete;
  KeptProcess& operator=(const KeptProcess&) = delete;

  // Ends what still runs and waits for it.
  ~KeptProcess();

  // Waits at most `patience`, and less when a signal arrives. Returns the end once, when the
  // program has ended by itself or after end(), and none of its family is left.
  std::optional<ProcessEnd> wait(std::chrono::milliseconds patience);

  // Begins to end the family; wait() tells when that is done.
  void end();

  // Our ends of its standard streams, for Streams::kPipes; otherwise -1. A write fails with EPIPE,
  // and a read finds the end, when nobody holds the other end any more.
  [[nodiscard]] int input() const { return input_; }

  [[nodiscard]] int output() const { return output_; }

  void close_input();

  // The current processes of the program and its descendants; cheap enough for now and then.
  [[nodiscard]] std::vector<pid_t> processes() const;

 private:
  struct Ends {
    int control = -1;  // closing it makes the keeper end the family
    int report = -1;   // the keeper's messages
    int input = -1;
    int output = -1;
  };

  KeptProcess(pid_t keeper, const Ends& ends, const Launch& launch);
  ProcessEnd replace_keeper();

  pid_t keeper_;
  int control_;
  int report_;
  int input_;
  int output_;
  ProcessFamily family_;
  std::chrono::milliseconds grace_;
  std::vector<pid_t> others_;  // processes that ran before the program was started
};

}  // namespace assay::core
