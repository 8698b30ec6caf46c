#include "core/kept_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace assay::core {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};
constexpr pid_t kNobody = -1;

// The messages that the keeper writes to its report pipe, in this order.
struct KeeperStarted {
  int error = 0;  // errno of exec, or 0
};

using KeeperEnded = ProcessEnd;

// The keeper's ends of the pipes, and the program's standard streams (-1: none).
struct KeeperEnds {
  int control = -1;
  int report = -1;
  int program_input = -1;
  int program_output = -1;
};

constexpr int kFirstRealTimeSignal = 32;

template <class Message>
void tell(int descriptor, const Message& message) {
  // A write that fails means that nobody listens any more.
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

// Opening a FIFO would wait for a reader, and what was said could not be read again.
Status check_log(const std::filesystem::path& log) {
  std::error_code error;
  const auto type = std::filesystem::status(log, error).type();
  using std::filesystem::file_type;
  if (log.empty() || type == file_type::not_found || type == file_type::regular ||
      type == file_type::character)
    return {};
  return Error{fmt::format("cannot write the log '{}': it is no regular file", log.string())};
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

// The mark may be changed like any variable.
ReadyProgram ready_program(const Launch& launch) {
  EnvironmentChanges changes = {{launch.mark.name, launch.mark.value}};
  changes.insert(changes.end(), launch.environment.begin(), launch.environment.end());
  return {launch.arguments, changes};
}

[[noreturn]] void become(const ReadyProgram& program, const KeeperEnds& ends, int exec_error) {
  ::setpgid(0, 0);
  if (ends.program_input >= 0) ::dup2(ends.program_input, STDIN_FILENO);
  if (ends.program_output >= 0) ::dup2(ends.program_output, STDOUT_FILENO);
  default_signals();
  tell(exec_error, program.become());
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

// Only the program may hold these ends, or whoever waits for them to close would wait for the
// keeper.
void close_program_ends(const KeeperEnds& ends) {
  if (ends.program_input >= 0) ::close(ends.program_input);
  if (ends.program_output >= 0) ::close(ends.program_output);
}

Started start_program(const Launch& launch, const ReadyProgram& ready, const KeeperEnds& ends) {
  std::array<int, 2> exec_error{};
  if (!redirect_streams(launch)) return {.error = errno};
  if (::pipe2(exec_error.data(), O_CLOEXEC) != 0) return {.error = errno};
  const pid_t program = ::fork();
  if (program == 0) become(ready, ends, exec_error[1]);
  const int fork_error = program < 0 ? errno : 0;
  ::close(exec_error[1]);
  close_program_ends(ends);
  const int error = fork_error != 0 ? fork_error : read_exec_error(exec_error[0]);
  ::close(exec_error[0]);
  return {program, error};
}

// Terminals and job managers signal groups and sessions; the keeper must outlive that.
int watch_children() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGPIPE})
    ::signal(signal, SIG_IGN);
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  return ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Reaps every dead child, adopted ones included.
void reap(pid_t program, std::optional<int>& status) {
  int child_status = 0;
  for (pid_t child = 0; (child = ::waitpid(-1, &child_status, WNOHANG)) > 0;) {
    if (child == program) status = child_status;
  }
}

// Waits until the program has ended or nobody holds the other end of `control`.
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

// Runs in the forked child and does not return.
[[noreturn]] void keep(const Launch& launch, const ReadyProgram& ready, const KeeperEnds& ends) {
  ::setsid();
  adopt_orphans();
  const int child_signals = watch_children();
  const Started started = start_program(launch, ready, ends);
  tell(ends.report, KeeperStarted{started.error});
  std::optional<int> status;
  if (started.error == 0) status = wait_for_end(started.program, ends.control, child_signals);
  KeeperEnded ended;
  ended.time = std::chrono::steady_clock::now();
  const bool ended_by_itself = status.has_value();
  const ProcessFamily family{::getpid(), launch.mark.name + '=' + launch.mark.value,
                             start_time(::getpid())};
  ended.rest = end_family(family, launch.grace);
  if (!ended_by_itself) ended.time = std::chrono::steady_clock::now();
  reap(started.program, status);
  if (status && WIFEXITED(*status)) ended.exit_code = WEXITSTATUS(*status);
  if (status && WIFSIGNALED(*status)) ended.signal = WTERMSIG(*status);
  tell(ends.report, ended);
  ::_exit(EXIT_SUCCESS);
}

using Pipe = std::array<int, 2>;  // read end, write end

// `input` and `output` are the program's, and are opened for Streams::kPipes only.
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
  ASSAY_TRY(check_log(launch.log));
  Pipes pipes;
  if (const int error = open_pipes(pipes, launch.streams)) {
    return cannot_start(launch.arguments[0], error);
  }
  const Ends ours{pipes.control[1], pipes.report[0], pipes.input[1], pipes.output[0]};
  const KeeperEnds theirs{pipes.control[0], pipes.report[1], pipes.input[0], pipes.output[1]};
  adopt_orphans();
  const ReadyProgram ready = ready_program(launch);
  std::vector<pid_t> others = all_pids();
  const pid_t keeper = ::fork();
  if (keeper == 0) {
    for (const int descriptor : {ours.control, ours.report, ours.input, ours.output})
      close_if_open(descriptor);
    keep(launch, ready, theirs);
  }
  const int fork_error = keeper < 0 ? errno : 0;
  for (const int descriptor :
       {theirs.control, theirs.report, theirs.program_input, theirs.program_output})
    close_if_open(descriptor);
  KeptProcess process(keeper, ours, launch);
  process.others_ = std::move(others);
  if (fork_error != 0) return cannot_start(launch.arguments[0], fork_error);
  const auto started = read_message<KeeperStarted>(process.report_);
  if (!started) return cannot_start(launch.arguments[0], ECHILD);
  if (started->error != 0) return cannot_start(launch.arguments[0], started->error);
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

// The keeper itself was killed, so its family is ours now; its mark distinguishes it from our other
// children.
ProcessEnd KeptProcess::replace_keeper() {
  ProcessEnd end;
  end.signal = SIGKILL;
  ::waitpid(std::exchange(keeper_, -1), nullptr, 0);
  end.time = std::chrono::steady_clock::now();
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
