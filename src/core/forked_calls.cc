#include "core/forked_calls.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <string_view>

#include "core/task.h"

namespace assay::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNoMemory = 3;

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

[[noreturn]] void run_child(int pipe, pid_t parent, const std::function<std::string()>& call) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have gone before that.
  if (::getppid() != parent) ::_exit(1);
  // Who waits for the parent's work must not be asked by a copy of it.
  const WorkingFor nobody(nullptr);
  try {
    ::_exit(write_all(pipe, call()) ? 0 : 1);
  } catch (const std::bad_alloc&) {
    ::_exit(kNoMemory);
  }
}

std::string problem_of(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("ended by signal {} ({}){}", signal, ::strsignal(signal),
                       signal == SIGKILL ? ": was there too little memory?" : "");
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return "";
  return code == kNoMemory ? "memory ran out" : fmt::format("ended with exit code {}", code);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

ForkedCalls::~ForkedCalls() {
  for (const Child& child : children_)
    ::kill(child.process, SIGKILL);
  for (Child& child : children_)
    end_of(child);
}

Status ForkedCalls::start(std::size_t id, const std::function<std::string()>& call) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{fmt::format("cannot make a pipe: {}", std::strerror(errno))};
  }
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    // The ends of other children would keep their pipes open.
    for (const Child& other : children_)
      ::close(other.pipe);
    ::close(ends[0]);
    run_child(ends[1], parent, call);
  }
  const int error = errno;
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    return Error{fmt::format("cannot start a process: {}", std::strerror(error))};
  }
  children_.push_back({.id = id, .process = process, .pipe = ends[0], .start = Clock::now()});
  return {};
}

CallEnd ForkedCalls::end_of(Child& child) {
  ::close(child.pipe);
  int status = 0;
  rusage usage{};
  while (::wait4(child.process, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  CallEnd end{.id = child.id, .answer = std::move(child.answer), .problem = problem_of(status)};
  end.seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
  end.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  end.peak_mb = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  return end;
}

std::optional<CallEnd> ForkedCalls::wait(std::chrono::milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  for (;;) {
    std::vector<pollfd> polled;
    for (const Child& child : children_)
      polled.push_back({.fd = child.pipe, .events = POLLIN, .revents = 0});
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    const int timeout = left.count() > 0 ? static_cast<int>(left.count()) : 0;
    if (::poll(polled.data(), polled.size(), timeout) <= 0) return std::nullopt;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      Child& child = children_[i];
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(child.pipe, buffer.data(), buffer.size());
      if (got > 0) {
        child.answer.append(buffer.data(), static_cast<std::size_t>(got));
        continue;
      }
      if (got < 0 && errno == EINTR) continue;
      CallEnd end = end_of(child);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      return end;
    }
  }
}

}  // namespace assay::core
