#include "core/interrupt.h"

#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

#include "core/output_file.h"
#include "core/task.h"

namespace assay::core {
namespace {

// The time that work has to react to the first signal, in seconds.
std::atomic<unsigned> g_grace_seconds{1};
std::atomic<bool> g_interrupted{false};
std::atomic<int> g_finishing{0};
std::atomic<const char*> g_last_words{""};
std::atomic<bool> g_silent{false};
static_assert(std::atomic<bool>::is_always_lock_free, "written by a signal handler");

// On a terminal the cursor may stand behind a progress line.
void say_interrupted() {
  if (g_silent) return;
  constexpr std::string_view kWords = "\nassay: interrupted\n";
  termios settings{};
  const bool terminal = ::tcgetattr(STDERR_FILENO, &settings) == 0;
  const std::string_view words = kWords.substr(terminal ? 0 : 1);
  if (::write(STDERR_FILENO, words.data(), words.size()) < 0) return;
  const char* last = g_last_words;
  if (::write(STDERR_FILENO, last, ::strlen(last)) < 0) return;
}

void end_now(int /*signal*/) {
  remove_temporary_files();
  say_interrupted();
  ::_exit(kInterruptedExitCode);
}

void ask_to_stop(int signal) {
  if (g_interrupted.exchange(true)) end_now(signal);
  ::alarm(g_grace_seconds);
}

void do_nothing(int /*signal*/) {}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

// nohup and `command &` in scripts start programs with signals ignored; we respect that.
void handle_unless_ignored(int signal, void (*handler)(int)) {
  struct sigaction current = {};
  ::sigaction(signal, nullptr, &current);
  if (current.sa_handler != SIG_IGN) handle(signal, handler);
}

}  // namespace

void handle_interrupts() {
  handle_unless_ignored(SIGINT, ask_to_stop);
  handle_unless_ignored(SIGHUP, ask_to_stop);
  handle(SIGTERM, ask_to_stop);
  handle(SIGALRM, end_now);
  // Not SIG_IGN: programs that we start would inherit it.
  handle(SIGPIPE, do_nothing);
  // A file that may not grow (ulimit -f) is an error like a full disk.
  handle(SIGXFSZ, do_nothing);
}

void allow_seconds_to_stop(unsigned seconds) {
  g_grace_seconds = seconds;
}

void set_last_words(const char* words) {
  g_last_words = words;
}

void end_in_silence() {
  g_silent = true;
}

bool interrupted() {
  if (g_interrupted.load(std::memory_order_relaxed)) return true;
  Task* task = Task::current();
  return task != nullptr && task->stopped();
}

Status check_interrupt() {
  if (interrupted() && g_finishing == 0) return Error{"interrupted"};
  return {};
}

FinishingTouches::FinishingTouches() {
  ++g_finishing;
}

FinishingTouches::~FinishingTouches() {
  --g_finishing;
}

}  // namespace assay::core
