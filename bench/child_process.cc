#include "child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

namespace assay::bench {
namespace {

double seconds(const rusage& usage) {
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

core::Result<Usage> wait_for(pid_t child, const std::string& name) {
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) return core::Error{fmt::format("cannot wait for {}", name)};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return core::Error{fmt::format("{} failed (wait status {})", name, status)};
  }
  constexpr double kKibibyteMb = 1024e-6;
  return Usage{seconds(usage), static_cast<double>(usage.ru_maxrss) * kKibibyteMb};
}

[[noreturn]] void do_work(const Work& work, int result_pipe) {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  const core::Result<double> counted = work();
  if (!counted.ok()) {
    fmt::print(stderr, "{}\n", counted.error().message);
    ::_exit(1);
  }
  const double value = counted.value();
  ::_exit(::write(result_pipe, &value, sizeof value) == sizeof value ? 0 : 1);
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

}  // namespace

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds(usage);
}

core::Result<Usage> measure_work(const Work& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return core::Error{"cannot make a pipe"};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) do_work(work, ends[1]);
  ::close(ends[1]);
  double counted = 0;
  const bool told = child > 0 && ::read(ends[0], &counted, sizeof counted) == sizeof counted;
  ::close(ends[0]);
  if (child < 0) return core::Error{"cannot start a process"};
  Usage usage = ASSAY_TRY(wait_for(child, "the measured work"));
  if (!told) return core::Error{"the measured work did not say what it took"};
  usage.cpu_s = counted;
  return usage;
}

core::Result<Usage> measure_program(const std::vector<std::string>& command) {
  const pid_t child = ::fork();
  if (child == 0) become(command);
  if (child < 0) return core::Error{"cannot start a process"};
  return wait_for(child, fmt::format("{}", fmt::join(command, " ")));
}

}  // namespace assay::bench
