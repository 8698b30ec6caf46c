#include "core/run_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/interrupt.h"
#include "core/process_family.h"
#include "core/task.h"

namespace assay::core {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookForStop{100};
constexpr milliseconds kTimeToEnd{10'000};  // between SIGTERM and SIGKILL
// The exit code of a program whose end a caller has learned in our place.
constexpr int kUnknownEnd = 255;

// The exit code as a shell tells it: 128 + N when signal N ended the program.
int shell_code(int status) {
  constexpr int kSignalBase = 128;
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

// Returns arguments or variables as exec takes them, which does not write to them.
std::vector<char*> words_of(const std::vector<std::string>& texts) {
  std::vector<char*> words;
  for (const std::string& text : texts)
    words.push_back(const_cast<char*>(text.c_str()));
  words.push_back(nullptr);
  return words;
}

std::vector<std::string> changed_environment(const EnvironmentChanges& changes) {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  for (const auto& [name, value] : changes) {
    const std::string beginning = name + '=';
    std::erase_if(variables,
                  [&](const std::string& variable) { return variable.starts_with(beginning); });
    if (value) variables.push_back(beginning + *value);
  }
  return variables;
}

// Text in memory that a program can have as a stream. Unlike a pipe it never fills up, so nobody
// has to read while another writes.
class MemoryStream {
 public:
  MemoryStream() : descriptor_(::memfd_create("assay", MFD_CLOEXEC)) {}

  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  ~MemoryStream() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] int descriptor() const { return descriptor_; }

  [[nodiscard]] bool fill(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::lseek(descriptor_, 0, SEEK_SET) == 0;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    std::array<char, 4096> piece{};
    off_t at = 0;
    for (ssize_t got = 1; got > 0; at += got) {
      got = ::pread(descriptor_, piece.data(), piece.size(), at);
      if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int descriptor_;
};

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }

  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void connect(int ours, int theirs) {
    ::posix_spawn_file_actions_adddup2(&actions_, ours, theirs);
  }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// Wakes when a program ends. Kernels before 5.3 have no descriptor for that, so that a wait takes
// all of its patience there.
class EndAlarm {
 public:
  explicit EndAlarm(pid_t program)
      : descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, program, 0))) {}

  EndAlarm(const EndAlarm&) = delete;
  EndAlarm& operator=(const EndAlarm&) = delete;

  ~EndAlarm() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void wait(milliseconds patience) const {
    pollfd watched{descriptor_, POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(patience.count()));
  }

 private:
  int descriptor_;
};

// Waits for the end of a program, and calls `stop` once when our work is to stop.
template <class Stop>
int wait_or_stop(pid_t program, const Stop& stop) {
  const EndAlarm alarm(program);
  bool stopping = false;
  int status = 0;
  pid_t ended = 0;
  while (ended == 0 || (ended < 0 && errno == EINTR)) {
    if (!stopping && !check_interrupt().ok()) {
      stopping = true;
      stop();
    }
    alarm.wait(kLookForStop);
    ended = ::waitpid(program, &status, WNOHANG);
  }
  return ended < 0 ? kUnknownEnd : shell_code(status);
}

constexpr std::array<int, 4> kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::atomic<pid_t> g_program{0};

// A terminal sends its signals to the whole process group; the program has got them already.
void pass_on(int signal, siginfo_t* information, void* /*context*/) {
  const pid_t program = g_program.load();
  if (information->si_code != SI_KERNEL && program > 0) ::kill(program, signal);
}

class PassingSignals {
 public:
  PassingSignals() {
    struct sigaction action = {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) {
      ::sigaction(kPassedOn[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kPassedOn[i], &action, nullptr);
    }
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &usual, &child_before_);  // who ignores it is not told how a child ended
  }

  PassingSignals(const PassingSignals&) = delete;
  PassingSignals& operator=(const PassingSignals&) = delete;

  ~PassingSignals() {
    g_program = 0;
    for (std::size_t i = 0; i < kPassedOn.size(); ++i)
      ::sigaction(kPassedOn[i], &before_[i], nullptr);
    ::sigaction(SIGCHLD, &child_before_, nullptr);
  }

 private:
  std::array<struct sigaction, kPassedOn.size()> before_{};

  struct sigaction child_before_ {};
};

enum class WhoHears { kWe, kCaller };  // the signals of this process

// While one exists, signals wait: one that arrives around a fork is neither lost, as the program is
// not known yet, nor handled by the child as if it were us.
class WaitingSignals {
 public:
  WaitingSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  WaitingSignals(const WaitingSignals&) = delete;
  WaitingSignals& operator=(const WaitingSignals&) = delete;

  ~WaitingSignals() { end(); }

  void end() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// exec gives back the default handlers, but a signal may come before. What we ignore stays ignored.
void default_passed_signals() {
  for (const int signal : kPassedOn) {
    struct sigaction action = {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
  }
}

// A signal that a caller ignores for itself, such as SIGPIPE, would stay ignored. The program of a
// caller ends with it.
[[noreturn]] void become(const ReadyProgram& program,
                         WhoHears who,
                         const WaitingSignals& waiting,
                         int exec_error) {
  default_passed_signals();
  if (who == WhoHears::kCaller) {
    ::signal(SIGPIPE, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  waiting.end();
  const int error = program.become();
  if (::write(exec_error, &error, sizeof error) < 0) ::_exit(EXIT_FAILURE);
  ::_exit(EXIT_FAILURE);
}

// Returns the child, or -1 with errno.
pid_t start_in_foreground(const ForegroundLaunch& launch, WhoHears who, int exec_error) {
  const ReadyProgram program(launch.arguments, launch.environment);
  const WaitingSignals waiting;
  const pid_t child = ::fork();
  if (child == 0) become(program, who, waiting, exec_error);
  if (who == WhoHears::kWe) g_program = child;
  return child;
}

// Returns errno of an exec that failed, or 0. The program must have ended: a child that another
// thread forked meanwhile may hold the pipe's other end, so that waiting for its end could take as
// long as that child lives.
int told_error(int pipe) {
  int error = 0;
  return ::read(pipe, &error, sizeof error) == sizeof error ? error : 0;
}

ForegroundEnd not_started(const ForegroundLaunch& launch, int error) {
  constexpr int kNoSuchProgram = 127;
  constexpr int kNotExecutable = 126;
  return {.exit_code = error == ENOENT ? kNoSuchProgram : kNotExecutable,
          .not_started = cannot_start(launch.arguments[0], error).message};
}

int wait_for(pid_t program) {
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(program, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended < 0 ? kUnknownEnd : shell_code(status);
}

// A program that was started without our environment, as `env -i` does, has no mark.
bool is_member(const ProcessFamily& family, pid_t program) {
  const std::vector<ProcessId> all = members(family);
  return std::any_of(all.begin(), all.end(),
                     [&](const ProcessId& one) { return one.pid == program; });
}

int wait_for_caller(pid_t program, const std::string& mark) {
  const ProcessFamily family{program, mark, start_time(program)};
  return wait_or_stop(program, [&] {
    if (is_member(family, program)) {
      end_family(family, kTimeToEnd);
      return;
    }
    ::kill(program, SIGTERM);
    end_family(family, kTimeToEnd);
    EndAlarm(program).wait(kTimeToEnd);
    ::kill(program, SIGKILL);
  });
}

}  // namespace

ReadyProgram::ReadyProgram(const std::vector<std::string>& arguments,
                           const EnvironmentChanges& changes)
    : arguments_(arguments),
      environment_(changed_environment(changes)),
      argument_words_(words_of(arguments_)),
      environment_words_(words_of(environment_)) {}

int ReadyProgram::become() const {
  environ = const_cast<char**>(environment_words_.data());
  ::execvp(argument_words_[0], argument_words_.data());
  return errno;
}

Error cannot_start(const std::string& program, int error) {
  return Error{fmt::format("cannot start '{}': {}", program, std::strerror(error))};
}

Result<ToolEnd> run_tool(const std::vector<std::string>& arguments, std::string_view input) {
  ASSAY_CHECK(!arguments.empty(), "a program to start");
  const MemoryStream in;
  const MemoryStream out;
  if (in.descriptor() < 0 || out.descriptor() < 0) return cannot_start(arguments[0], errno);
  if (!in.fill(input)) {
    return Error{fmt::format("cannot hand '{}' its input: {}", arguments[0], std::strerror(errno))};
  }
  SpawnActions actions;
  actions.connect(in.descriptor(), STDIN_FILENO);
  actions.connect(out.descriptor(), STDOUT_FILENO);
  actions.connect(out.descriptor(), STDERR_FILENO);
  std::vector<char*> words = words_of(arguments);
  pid_t program = 0;
  const int error =
      ::posix_spawnp(&program, words[0], actions.get(), nullptr, words.data(), environ);
  if (error != 0) return cannot_start(arguments[0], error);
  const int exit_code = wait_or_stop(program, [program] { ::kill(program, SIGTERM); });
  return ToolEnd{exit_code, out.text()};
}

ForegroundEnd run_in_foreground(const ForegroundLaunch& launch) {
  ASSAY_CHECK(!launch.arguments.empty(), "a program to start");
  std::array<int, 2> exec_error{};
  if (::pipe2(exec_error.data(), O_CLOEXEC | O_NONBLOCK) != 0) return not_started(launch, errno);
  const WhoHears who = Task::current() == nullptr ? WhoHears::kWe : WhoHears::kCaller;
  std::optional<PassingSignals> passing;
  if (who == WhoHears::kWe) passing.emplace();
  const pid_t program = start_in_foreground(launch, who, exec_error[1]);
  int error = program < 0 ? errno : 0;
  ::close(exec_error[1]);
  int code = 0;
  if (program > 0) {
    code = who == WhoHears::kWe ? wait_for(program) : wait_for_caller(program, launch.mark);
    error = told_error(exec_error[0]);
  }
  ::close(exec_error[0]);
  if (error != 0) return not_started(launch, error);
  return {.exit_code = code, .not_started = ""};
}

}  // namespace assay::core
