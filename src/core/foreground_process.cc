#include "core/foreground_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace assay::core {
namespace {

constexpr std::array<int, 4> kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kSignalBase = 128;

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
  }

  PassingSignals(const PassingSignals&) = delete;
  PassingSignals& operator=(const PassingSignals&) = delete;

  ~PassingSignals() {
    g_program = 0;
    for (std::size_t i = 0; i < kPassedOn.size(); ++i)
      ::sigaction(kPassedOn[i], &before_[i], nullptr);
  }

 private:
  std::array<struct sigaction, kPassedOn.size()> before_{};
};

[[noreturn]] void become(const ForegroundLaunch& launch, int exec_error) {
  for (const auto& [name, value] : launch.environment) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
  std::vector<char*> arguments;
  for (const std::string& argument : launch.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  if (::write(exec_error, &error, sizeof error) < 0) ::_exit(EXIT_FAILURE);
  ::_exit(EXIT_FAILURE);
}

Error failure(const ForegroundLaunch& launch, int error) {
  return Error{fmt::format("cannot start '{}': {}", launch.arguments[0], std::strerror(error))};
}

int wait_for(pid_t program) {
  int status = 0;
  while (::waitpid(program, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<int> run_in_foreground(const ForegroundLaunch& launch) {
  ASSAY_CHECK(!launch.arguments.empty(), "a program to start");
  std::array<int, 2> exec_error{};
  if (::pipe2(exec_error.data(), O_CLOEXEC) != 0) return failure(launch, errno);
  const PassingSignals passing;
  const pid_t program = ::fork();
  if (program == 0) become(launch, exec_error[1]);  // exec gives back the default handlers
  int error = program < 0 ? errno : 0;
  g_program = program;
  ::close(exec_error[1]);
  if (program > 0 && ::read(exec_error[0], &error, sizeof error) != sizeof error) error = 0;
  ::close(exec_error[0]);
  const int code = program < 0 ? 0 : wait_for(program);
  if (error != 0) return failure(launch, error);
  return code;
}

}  // namespace assay::core
