#include "core/kept_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/keeper.h"

namespace assay::core {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};
constexpr pid_t kNobody = -1;

using Pipe = std::array<int, 2>;  // read end, write end

Error failure(const std::string& program, int error) {
  return Error{fmt::format("cannot start '{}': {}", program, std::strerror(error))};
}

void close_pipe(const Pipe& pipe) {
  ::close(pipe[0]);
  ::close(pipe[1]);
}

// A message is shorter than PIPE_BUF, so it comes whole or, when its writer is gone, not at all.
template <class Message>
std::optional<Message> read_message(int descriptor) {
  Message message;
  ssize_t count = 0;
  do {
    count = ::read(descriptor, &message, sizeof message);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof message)) return std::nullopt;
  return message;
}

}  // namespace

Result<KeptProcess> KeptProcess::start(const Launch& launch) {
  ASSAY_CHECK(!launch.arguments.empty(), "a program to start");
  ASSAY_CHECK(!launch.mark.name.empty(), "a mark to know the family by");
  Pipe control{};
  Pipe report{};
  if (::pipe2(control.data(), O_CLOEXEC) != 0) return failure(launch.arguments[0], errno);
  if (::pipe2(report.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    close_pipe(control);
    return failure(launch.arguments[0], error);
  }
  adopt_orphans();
  std::vector<pid_t> others = all_pids();
  const pid_t keeper = ::fork();
  if (keeper == 0) {
    ::close(control[1]);
    ::close(report[0]);
    keep(launch, control[0], report[1]);
  }
  const int fork_error = keeper < 0 ? errno : 0;
  ::close(control[0]);
  ::close(report[1]);
  KeptProcess process(keeper, control[1], report[0], launch);
  process.others_ = std::move(others);
  if (fork_error != 0) return failure(launch.arguments[0], fork_error);
  const auto started = read_message<KeeperStarted>(process.report_);
  if (!started) return failure(launch.arguments[0], ECHILD);
  if (started->error != 0) return failure(launch.arguments[0], started->error);
  return process;
}

KeptProcess::KeptProcess(pid_t keeper, int control, int report, const Launch& launch)
    : keeper_(keeper),
      control_(control),
      report_(report),
      family_{keeper, launch.mark.name + '=' + launch.mark.value},
      grace_(launch.grace) {}

KeptProcess::KeptProcess(KeptProcess&& other) noexcept
    : keeper_(std::exchange(other.keeper_, -1)),
      control_(std::exchange(other.control_, -1)),
      report_(std::exchange(other.report_, -1)),
      family_(std::move(other.family_)),
      grace_(other.grace_),
      others_(std::move(other.others_)) {}

KeptProcess::~KeptProcess() {
  end();
  while (report_ >= 0)
    wait(kLong);
  if (keeper_ > 0) ::waitpid(keeper_, nullptr, 0);
}

std::optional<ProcessEnd> KeptProcess::wait(std::chrono::milliseconds patience) {
  pollfd watched{report_, POLLIN, 0};
  if (report_ < 0 || ::poll(&watched, 1, static_cast<int>(patience.count())) <= 0) {
    return std::nullopt;
  }
  const auto ended = read_message<KeeperEnded>(report_);
  ::close(std::exchange(report_, -1));
  return ended ? *ended : replace_keeper();
}

// The keeper itself was killed: its family is ours now, told from our other children by its mark.
ProcessEnd KeptProcess::replace_keeper() {
  ProcessEnd end;
  end.signal = SIGKILL;
  ::waitpid(std::exchange(keeper_, -1), nullptr, 0);
  end.rest = end_family({kNobody, family_.mark}, grace_);
  return end;
}

void KeptProcess::end() {
  if (control_ >= 0) ::close(std::exchange(control_, -1));
}

std::vector<pid_t> KeptProcess::processes() const {
  return descendants(family_.root, others_);
}

}  // namespace assay::core
