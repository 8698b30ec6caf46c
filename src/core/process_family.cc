#include "core/process_family.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "core/files.h"

namespace assay::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStatBytes = 1024;  // a line of /proc/<pid>/stat is shorter
constexpr std::chrono::milliseconds kKillPatience{10'000};
constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{100};

struct Process {
  ProcessId id;
  pid_t parent = 0;
};

// Returns field `number`, counted as in proc(5), of /proc/<pid>/stat. `after_name` is the text
// behind the name, the only field that may hold spaces; it begins with field 3.
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

// The beginning of a file, as much as the buffer holds; "" when it cannot be read. There
// may be thousands of files to read.
std::string_view read_start(const std::string& path, std::array<char, kStatBytes>& buffer) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  ::close(descriptor);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

// std::nullopt for zombies and for processes that are gone.
std::optional<Process> read_process(pid_t pid) {
  std::array<char, kStatBytes> buffer;
  const std::string_view text = read_start(fmt::format("/proc/{}/stat", pid), buffer);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  const std::string_view fields = text.substr(name_end + 2);
  const std::string_view state = stat_field(fields, 3);
  const auto parent = parse<pid_t>(stat_field(fields, 4));
  const auto start_time = parse<std::uint64_t>(stat_field(fields, 22));
  if (state == "Z" || state == "X" || !parent || !start_time) return std::nullopt;
  return Process{{pid, *start_time}, *parent};
}

std::vector<Process> read_processes(const std::vector<pid_t>& pids) {
  std::vector<Process> processes;
  for (const pid_t pid : pids) {
    if (const auto process = read_process(pid)) processes.push_back(*process);
  }
  return processes;
}

// Adds the descendants of `root` and of the processes that are in `family` already. A child may
// come before its parent in the list.
void add_descendants(pid_t root, const std::vector<Process>& processes, std::set<pid_t>& family) {
  for (std::size_t before = family.size() + 1; before != family.size();) {
    before = family.size();
    for (const Process& process : processes) {
      const bool child = process.parent == root || family.count(process.parent) != 0;
      if (child && process.id.pid != root) family.insert(process.id.pid);
    }
  }
}

bool is_marked(pid_t pid, const std::string& mark) {
  if (mark.empty()) return false;
  const Result<std::string> environment = read_file(fmt::format("/proc/{}/environ", pid));
  if (!environment.ok()) return false;
  const std::string entry = '\0' + mark + '\0';
  return ('\0' + environment.value() + '\0').find(entry) != std::string::npos;
}

// Signals the listed process, but not another one that got its number since.
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
    // A stopped process handles SIGTERM only when it is continued.
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
  const std::vector<Process> processes = read_processes(all_pids());
  std::set<pid_t> known;
  for (const Process& process : processes) {
    const bool young = process.id.start_time >= family.since;
    if (young && is_marked(process.id.pid, family.mark)) known.insert(process.id.pid);
  }
  add_descendants(family.root, processes, known);
  known.erase(::getpid());
  std::vector<ProcessId> result;
  for (const Process& process : processes)
    if (known.count(process.id.pid) != 0) result.push_back(process.id);
  return result;
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return pids;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (const auto pid = parse<pid_t>(entry->d_name)) pids.push_back(*pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::vector<pid_t> descendants(pid_t root, const std::vector<pid_t>& known) {
  const std::vector<pid_t> now = all_pids();
  std::vector<pid_t> others;
  std::set_difference(now.begin(), now.end(), known.begin(), known.end(),
                      std::back_inserter(others));
  std::set<pid_t> family;
  add_descendants(root, read_processes(others), family);
  return {family.begin(), family.end()};
}

std::uint64_t start_time(pid_t pid) {
  const auto process = read_process(pid);
  return process ? process->id.start_time : 0;
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
    // A process that forks and exits while the list is made can hide its child once.
    if (alive.empty()) alive = members(family);
  }
  return {static_cast<int>(asked.size()), static_cast<int>(forced.size()),
          static_cast<int>(alive.size())};
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

}  // namespace assay::core
