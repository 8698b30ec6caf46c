#include "core/tool.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/interrupt.h"

namespace assay::core {
namespace {

constexpr int kSignalBase = 128;

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

int wait_for(pid_t program) {
  int status = 0;
  while (::waitpid(program, &status, 0) < 0 && errno == EINTR) {
    if (interrupted()) ::kill(program, SIGTERM);
  }
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<ToolEnd> run_tool(const std::vector<std::string>& arguments, std::string_view input) {
  ASSAY_CHECK(!arguments.empty(), "a program to start");
  const auto failure = [&](int error) {
    return Error{fmt::format("cannot start '{}': {}", arguments[0], std::strerror(error))};
  };
  const MemoryStream in;
  const MemoryStream out;
  if (in.descriptor() < 0 || out.descriptor() < 0) return failure(errno);
  if (!in.fill(input)) {
    return Error{fmt::format("cannot hand '{}' its input: {}", arguments[0], std::strerror(errno))};
  }
  SpawnActions actions;
  actions.connect(in.descriptor(), STDIN_FILENO);
  actions.connect(out.descriptor(), STDOUT_FILENO);
  actions.connect(out.descriptor(), STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_t program = 0;
  const int error =
      ::posix_spawnp(&program, words[0], actions.get(), nullptr, words.data(), environ);
  if (error != 0) return failure(error);
  const int exit_code = wait_for(program);
  return ToolEnd{exit_code, out.text()};
}

}  // namespace assay::core
