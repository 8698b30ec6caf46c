#include "core/process_family.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "core/files.h"

namespace assay::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kKillPatience{10'000};
constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{100};

struct Process {
  ProcessId id;
  pid_t parent = 0;
};

// Field `number` of /proc/<pid>/stat, counted as in proc(5), of the text after the name, which is
// the only field that may hold spaces and starts at field 3.
std::string_view stat_field(std::string_view after_name, int number) {
  for (int field = 3; field < number; ++field) {
    const std::size_t space = after_name.find(' ');
    if (space == std::string_view::npos) return {};
    after_name.remove_prefix(space + 1);
  }
  return after_name.substr(0, after_name.find(' '));
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Nothing for zombies and for processes that are gone.
std::optional<Process> read_process(pid_t pid) {
  const Result<std::string> stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat.ok()) return std::nullopt;
  const std::string_view text = stat.value();
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  const std::string_view fields = text.substr(name_end + 2);
  const std::string_view state = stat_field(fields, 3);
  const auto parent = parse<pid_t>(stat_field(fields, 4));
  const auto start_time = parse<std::uint64_t>(stat_field(fields, 22));
  if (state == "Z" || state == "X" || !parent || !start_time) return std::nullopt;
  return Process{{pid, *start_time}, *parent};
}

std::vector<Process> all_processes() {
  std::vector<Process> processes;
  const auto names = list_directory("/proc");
  if (!names.ok()) return processes;
  for (const auto& name : names.value()) {
    const auto pid = parse<pid_t>(name.native());
    const auto process = pid ? read_process(*pid) : std::nullopt;
    if (process) processes.push_back(*process);
  }
  return processes;
}

bool is_marked(pid_t pid, const std::string& mark) {
  if (mark.empty()) return false;
  const Result<std::string> environment = read_file(fmt::format("/proc/{}/environ", pid));
  if (!environment.ok()) return false;
  const std::string entry = '\0' + mark + '\0';
  return ('\0' + environment.value() + '\0').find(entry) != std::string::npos;
}

// Signals the process that was listed, not one that has its number since.
bool send_signal(const ProcessId& process, int signal) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
  const auto now = read_process(process.pid);
  const bool same = now && now->id.start_time == process.start_time;
  bool sent = false;
  if (descriptor >= 0) {
    sent = same && ::syscall(SYS_pidfd_send_signal, descriptor, signal, nullptr, 0) == 0;
    ::close(descriptor);
  } else {
    sent = same && ::kill(process.pid, signal) == 0;  // kernels before 5.3
  }
  return sent;
}

void send_to_all(const std::vector<ProcessId>& processes, int signal, std::set<pid_t>& reached) {
  for (const ProcessId& process : processes) {
    if (send_signal(process, signal)) reached.insert(process.pid);
    // One that is stopped would handle SIGTERM only when continued.
    if (signal == SIGTERM) send_signal(process, SIGCONT);
  }
}

std::vector<ProcessId> without(std::vector<ProcessId> processes, const std::set<pid_t>& pids) {
  const auto known = [&](const ProcessId& process) { return pids.count(process.pid) != 0; };
  processes.erase(std::remove_if(processes.begin(), processes.end(), known), processes.end());
  return processes;
}

}  // namespace

std::vector<ProcessId> members(const ProcessFamily& family) {
  const std::vector<Process> processes = all_processes();
  std::set<pid_t> known;
  for (const Process& process : processes)
    if (is_marked(process.id.pid, family.mark)) known.insert(process.id.pid);
  // A child may come before its parent in the list.
  for (std::size_t before = known.size() + 1; before != known.size();) {
    before = known.size();
    for (const Process& process : processes) {
      const bool child = process.parent == family.root || known.count(process.parent) != 0;
      if (child && process.id.pid != family.root) known.insert(process.id.pid);
    }
  }
  known.erase(::getpid());
  std::vector<ProcessId> result;
  for (const Process& process : processes)
    if (known.count(process.id.pid) != 0) result.push_back(process.id);
  return result;
}

EndedFamily end_family(const ProcessFamily& family, std::chrono::milliseconds grace) {
  const Clock::time_point kill_at = Clock::now() + grace;
  const Clock::time_point give_up_at = kill_at + kKillPatience;
  std::set<pid_t> asked;
  std::set<pid_t> forced;
  std::chrono::milliseconds pause = kFirstPause;
  std::vector<ProcessId> alive = members(family);
  while (!alive.empty() && Clock::now() < give_up_at) {
    send_to_all(without(alive, asked), SIGTERM, asked);
    if (Clock::now() >= kill_at) send_to_all(alive, SIGKILL, forced);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
    alive = members(family);
    // One that forks and exits while the list is made can hide its child once.
    if (alive.empty()) alive = members(family);
  }
  return {static_cast<int>(asked.size()), static_cast<int>(forced.size()),
          static_cast<int>(alive.size())};
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

}  // namespace assay::core
