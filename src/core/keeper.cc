#include "core/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace assay::core {
namespace {

constexpr int kFirstRealTimeSignal = 32;

template <class Message>
void tell(int descriptor, const Message& message) {
  // Nobody listens any more when the write fails; there is nothing else to tell it.
  if (::write(descriptor, &message, sizeof message) < 0) return;
}

bool redirect(const char* path, int flags, int target) {
  constexpr mode_t kMode = 0666;
  const int descriptor = ::open(path, flags | O_CLOEXEC, kMode);
  if (descriptor < 0) return false;
  ::dup2(descriptor, target);
  ::close(descriptor);
  return true;
}

// The log is appended to, so that processes which write at the same time lose nothing.
bool redirect_streams(const Launch& launch) {
  const char* log = launch.log.empty() ? "/dev/null" : launch.log.c_str();
  return redirect("/dev/null", O_RDONLY, STDIN_FILENO) &&
         redirect(log, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO) &&
         ::dup2(STDOUT_FILENO, STDERR_FILENO) >= 0;
}

void default_signals() {
  for (int signal = 1; signal < kFirstRealTimeSignal; ++signal)
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void change_environment(const Launch& launch) {
  ::setenv(launch.mark.name.c_str(), launch.mark.value.c_str(), 1);
  for (const auto& [name, value] : launch.environment) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
}

[[noreturn]] void become_program(const Launch& launch, const KeeperEnds& ends, int exec_error) {
  ::setpgid(0, 0);
  if (ends.program_input >= 0) ::dup2(ends.program_input, STDIN_FILENO);
  if (ends.program_output >= 0) ::dup2(ends.program_output, STDOUT_FILENO);
  default_signals();
  change_environment(launch);
  std::vector<char*> arguments;
  for (const std::string& argument : launch.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  tell(exec_error, errno);
  ::_exit(EXIT_FAILURE);
}

// errno of exec; 0 when the pipe was closed by its success.
int read_exec_error(int descriptor) {
  int error = 0;
  return ::read(descriptor, &error, sizeof error) == sizeof error ? error : 0;
}

struct Started {
  pid_t program = -1;
  int error = 0;
};

// Only the program may hold its ends: whoever waits for them to close would wait for us.
void close_program_ends(const KeeperEnds& ends) {
  if (ends.program_input >= 0) ::close(ends.program_input);
  if (ends.program_output >= 0) ::close(ends.program_output);
}

Started start_program(const Launch& launch, const KeeperEnds& ends) {
  std::array<int, 2> exec_error{};
  if (!redirect_streams(launch)) return {.error = errno};
  if (::pipe2(exec_error.data(), O_CLOEXEC) != 0) return {.error = errno};
  const pid_t program = ::fork();
  if (program == 0) become_program(launch, ends, exec_error[1]);
  const int fork_error = program < 0 ? errno : 0;
  ::close(exec_error[1]);
  close_program_ends(ends);
  const int error = fork_error != 0 ? fork_error : read_exec_error(exec_error[0]);
  ::close(exec_error[0]);
  return {program, error};
}

// Terminals and job managers signal groups and sessions; the keeper outlives that.
int watch_children() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGPIPE})
    ::signal(signal, SIG_IGN);
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  return ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Buries every dead child, adopted ones included.
void reap(pid_t program, std::optional<int>& status) {
  int child_status = 0;
  for (pid_t child = 0; (child = ::waitpid(-1, &child_status, WNOHANG)) > 0;) {
    if (child == program) status = child_status;
  }
}

// Until the program ended or nobody holds the other end of `control`.
std::optional<int> wait_for_end(pid_t program, int control, int child_signals) {
  std::optional<int> status;
  std::array<pollfd, 2> watched{pollfd{control, POLLIN, 0}, pollfd{child_signals, POLLIN, 0}};
  while (!status && watched[0].revents == 0) {
    ::poll(watched.data(), watched.size(), -1);
    signalfd_siginfo information{};
    while (::read(child_signals, &information, sizeof information) > 0) {
    }
    reap(program, status);
  }
  return status;
}

}  // namespace

void keep(const Launch& launch, const KeeperEnds& ends) {
  ::setsid();
  adopt_orphans();
  const int child_signals = watch_children();
  const Started started = start_program(launch, ends);
  tell(ends.report, KeeperStarted{started.error});
  std::optional<int> status;
  if (started.error == 0) status = wait_for_end(started.program, ends.control, child_signals);
  KeeperEnded ended;
  const ProcessFamily family{::getpid(), launch.mark.name + '=' + launch.mark.value,
                             start_time(::getpid())};
  ended.rest = end_family(family, launch.grace);
  reap(started.program, status);
  if (status && WIFEXITED(*status)) ended.exit_code = WEXITSTATUS(*status);
  if (status && WIFSIGNALED(*status)) ended.signal = WTERMSIG(*status);
  tell(ends.report, ended);
  ::_exit(EXIT_SUCCESS);
}

}  // namespace assay::core
