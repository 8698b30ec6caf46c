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

// Control, report, and with pipes the program's input and output.
struct Pipes {
  Pipe control{-1, -1};
  Pipe report{-1, -1};
  Pipe input{-1, -1};
  Pipe output{-1, -1};
};

void close_if_open(int descriptor) {
  if (descriptor >= 0) ::close(descriptor);
}

// Returns errno, or 0.
int open_pipes(Pipes& pipes, Launch::Streams streams) {
  std::vector<Pipe*> wanted = {&pipes.control, &pipes.report};
  if (streams == Launch::Streams::kPipes)
    wanted.insert(wanted.end(), {&pipes.input, &pipes.output});
  for (Pipe* pipe : wanted) {
    if (::pipe2(pipe->data(), O_CLOEXEC) == 0) continue;
    const int error = errno;
    for (const Pipe* opened : wanted) {
      close_if_open((*opened)[0]);
      close_if_open((*opened)[1]);
    }
    return error;
  }
  return 0;
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
  Pipes pipes;
  if (const int error = open_pipes(pipes, launch.streams)) {
    return failure(launch.arguments[0], error);
  }
  const Ends ours{pipes.control[1], pipes.report[0], pipes.input[1], pipes.output[0]};
  const KeeperEnds theirs{pipes.control[0], pipes.report[1], pipes.input[0], pipes.output[1]};
  adopt_orphans();
  std::vector<pid_t> others = all_pids();
  const pid_t keeper = ::fork();
  if (keeper == 0) {
    for (const int descriptor : {ours.control, ours.report, ours.input, ours.output})
      close_if_open(descriptor);
    keep(launch, theirs);
  }
  const int fork_error = keeper < 0 ? errno : 0;
  for (const int descriptor :
       {theirs.control, theirs.report, theirs.program_input, theirs.program_output})
    close_if_open(descriptor);
  KeptProcess process(keeper, ours, launch);
  process.others_ = std::move(others);
  if (fork_error != 0) return failure(launch.arguments[0], fork_error);
  const auto started = read_message<KeeperStarted>(process.report_);
  if (!started) return failure(launch.arguments[0], ECHILD);
  if (started->error != 0) return failure(launch.arguments[0], started->error);
  return process;
}

KeptProcess::KeptProcess(pid_t keeper, const Ends& ends, const Launch& launch)
    : keeper_(keeper),
      control_(ends.control),
      report_(ends.report),
      input_(ends.input),
      output_(ends.output),
      family_{keeper, launch.mark.name + '=' + launch.mark.value},
      grace_(launch.grace) {}

KeptProcess::KeptProcess(KeptProcess&& other) noexcept
    : keeper_(std::exchange(other.keeper_, -1)),
      control_(std::exchange(other.control_, -1)),
      report_(std::exchange(other.report_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      family_(std::move(other.family_)),
      grace_(other.grace_),
      others_(std::move(other.others_)) {}

KeptProcess::~KeptProcess() {
  end();
  while (report_ >= 0)
    wait(kLong);
  if (keeper_ > 0) ::waitpid(keeper_, nullptr, 0);
  close_input();
  close_if_open(output_);
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

void KeptProcess::close_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

std::vector<pid_t> KeptProcess::processes() const {
  return descendants(family_.root, others_);
}

}  // namespace assay::core
