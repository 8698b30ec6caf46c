#include "core/processor_load.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/files.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

struct Ticks {
  double busy = 0;
  double all = 0;
};

// The number after "cpu" in "cpu12"; none of "cpu", which sums all.
std::optional<int> number_of(std::string_view name) {
  if (!name.starts_with("cpu")) return std::nullopt;
  name.remove_prefix(3);
  int number = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (code != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// The number that the text begins with, whatever the locale.
std::optional<double> leading_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number).ec != std::errc()) return std::nullopt;
  return number;
}

// Lines are "cpu0 user nice system idle iowait irq softirq steal guest guest_nice"; the time of
// guests is part of the first two.
std::map<int, Ticks> ticks_of(std::string_view text) {
  constexpr std::size_t kCounted = 8;
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kWaiting = 4;
  std::map<int, Ticks> ticks;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const std::optional<int> number = number_of(word);
    if (!number) continue;
    Ticks& of = ticks[*number];
    for (std::size_t i = 0; i < kCounted && words >> word; ++i) {
      const double value = leading_number(word).value_or(0);
      of.all += value;
      if (i != kIdle && i != kWaiting) of.busy += value;
    }
  }
  return ticks;
}

std::string text_of(const fs::path& file) {
  auto text = read_file(file);
  return text.ok() ? std::move(text).value() : std::string();
}

std::set<int> own_affinity() {
  std::set<int> processors;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) processors.insert(i);
  }
  return processors;
}

std::set<int> processors_below(const fs::path& root) {
  std::set<int> processors = root == "/" ? own_affinity() : std::set<int>();
  if (!processors.empty()) return processors;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/cpu", error)) {
    if (const auto number = number_of(entry.path().filename().string())) processors.insert(*number);
  }
  return processors;
}

// "200000 100000" is two processors, "max 100000" all.
std::optional<double> quotient(const std::string& quota, const std::string& period) {
  const double least = leading_number(quota).value_or(0);
  const double whole = leading_number(period).value_or(0);
  if (least <= 0 || whole <= 0) return std::nullopt;
  return least / whole;
}

std::optional<double> quota_of(const fs::path& folder) {
  std::istringstream words(text_of(folder / "cpu.max"));
  std::string quota;
  std::string period;
  if (words >> quota >> period) return quotient(quota, period);
  return quotient(text_of(folder / "cpu.cfs_quota_us"), text_of(folder / "cpu.cfs_period_us"));
}

// Lines of /proc/self/cgroup are "0::/a/b", or "4:cpu,cpuacct:/a/b" for version 1.
std::vector<fs::path> cgroup_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  std::istringstream lines(text_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool counts = controllers == ",," || controllers.find(",cpu,") != std::string::npos;
    if (!counts) continue;
    const fs::path top = root / "sys/fs/cgroup" / (controllers == ",," ? "" : "cpu");
    for (fs::path below = fs::path(line.substr(second + 1)).relative_path();;
         below = below.parent_path()) {
      folders.push_back(top / below);
      if (below.empty()) break;
    }
  }
  return folders;
}

}  // namespace

std::optional<double> busy_processors(std::string_view before,
                                      std::string_view after,
                                      const std::set<int>& processors) {
  const std::map<int, Ticks> first = ticks_of(before);
  const std::map<int, Ticks> last = ticks_of(after);
  std::optional<double> busy;
  for (const int processor : processors) {
    const auto from = first.find(processor);
    const auto to = last.find(processor);
    if (from == first.end() || to == last.end()) continue;
    const double passed = to->second.all - from->second.all;
    if (passed <= 0) continue;
    busy = busy.value_or(0) + std::max(0.0, to->second.busy - from->second.busy) / passed;
  }
  return busy;
}

std::optional<double> processor_quota(const fs::path& root) {
  std::optional<double> least;
  for (const fs::path& folder : cgroup_folders(root)) {
    const std::optional<double> quota = quota_of(folder);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

std::optional<ProcessorLoad> processor_load(const fs::path& root,
                                            std::chrono::milliseconds watched) {
  const std::set<int> processors = processors_below(root);
  const std::string load = text_of(root / "proc/loadavg");
  const std::string before = text_of(root / "proc/stat");
  char* end = nullptr;
  const double runnable = std::strtod(load.c_str(), &end);
  const bool has_load = end != load.c_str();
  if (processors.empty() || (!has_load && before.empty())) return std::nullopt;
  ProcessorLoad result;
  result.runnable = runnable;
  const auto count = static_cast<double>(processors.size());
  result.allowed = std::min(count, processor_quota(root).value_or(count));
  if (!before.empty()) std::this_thread::sleep_for(watched);
  const double busy = busy_processors(before, text_of(root / "proc/stat"), processors)
                          .value_or(std::min(result.runnable, count));
  result.taken = result.allowed - std::clamp(count - busy, 0.0, result.allowed);
  return result;
}

}  // namespace assay::core
