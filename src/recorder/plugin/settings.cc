#include "recorder/plugin/settings.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "model/recording.h"

namespace assay::recorder {
namespace {

constexpr std::uint64_t kMegabyte = 1024 * 1024;
constexpr std::uint64_t kDefaultLimitMb = 1024;
constexpr std::uint64_t kMaxLimitMb = 32 * 1024;  // record numbers have 32 bits

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns false unless the whole text is a number.
bool read_number(const std::string& text, std::uint64_t& number) {
  char* end = nullptr;
  number = std::strtoull(text.c_str(), &end, 0);
  return !text.empty() && text[0] != '-' && *end == '\0';
}

void add_problem(std::string& problems, const std::string& problem) {
  problems += (problems.empty() ? "" : "; ") + problem;
}

std::uint32_t events_of_word(const std::string& word, std::string& problems) {
  namespace rec = model::recording;
  if (word == "kernel-channels") return rec::kKernelChannelBit;
  if (word == "proxy") return rec::kProxyOpBit | rec::kProxyStepBit;
  if (word != "default" && !word.empty()) {
    add_problem(problems, "ASSAY_RECORDER_EVENTS: '" + word +
                              "' is none of default, kernel-channels, proxy, nor a number");
  }
  return 0;
}

std::uint32_t read_events(std::string& problems) {
  const std::string text = variable("ASSAY_RECORDER_EVENTS");
  std::uint64_t mask = 0;
  if (read_number(text, mask)) return static_cast<std::uint32_t>(mask);
  std::uint32_t events = model::recording::kDefaultEvents;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    events |= events_of_word(text.substr(start, comma - start), problems);
    start = comma + 1;
  }
  return events;
}

// Who names a CUPTI wants it; "off" there was the way to do without kernel times.
model::recording::KernelTimer read_kernel_times(std::string& cupti, std::string& problems) {
  namespace rec = model::recording;
  const std::string text = variable("ASSAY_RECORDER_KERNEL_TIMES");
  const bool off = cupti == "off";
  if (off) cupti.clear();
  if (text == "cupti") return rec::kCuptiTimer;
  if (text == "nccl") return rec::kNcclTimer;
  if (text == "off") return rec::kNoTimer;
  if (!text.empty()) {
    add_problem(problems,
                "ASSAY_RECORDER_KERNEL_TIMES: '" + text + "' is none of nccl, cupti, nor off");
  }
  if (off) return rec::kNoTimer;
  return cupti.empty() ? rec::kNcclTimer : rec::kCuptiTimer;
}

// A limit on the job's addresses must leave nearly all of them to the job.
std::uint64_t within_addresses(std::uint64_t limit_bytes) {
  constexpr std::uint64_t kOurPart = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return limit_bytes;
  const std::uint64_t megabytes = limit.rlim_cur / kOurPart / kMegabyte;
  return std::min(limit_bytes, std::max<std::uint64_t>(megabytes, 1) * kMegabyte);
}

std::uint64_t read_limit(std::string& problems) {
  const std::string text = variable("ASSAY_RECORDER_LIMIT_MB");
  std::uint64_t megabytes = 0;
  if (text.empty()) return kDefaultLimitMb * kMegabyte;
  if (read_number(text, megabytes) && megabytes >= 1 && megabytes <= kMaxLimitMb) {
    return megabytes * kMegabyte;
  }
  add_problem(problems, "ASSAY_RECORDER_LIMIT_MB: '" + text + "' is no number from 1 to 32768");
  return kDefaultLimitMb * kMegabyte;
}

std::string read_folder() {
  const std::string pattern = variable("ASSAY_RECORDER_OUTPUT");
  if (pattern.empty()) return "assay-recording";
  std::string folder;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] == '%' && (next == 'h' || next == 'p')) {
      folder += next == 'h' ? host_name() : std::to_string(::getpid());
      ++i;
    } else {
      folder += pattern[i];
    }
  }
  return folder;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  std::string host = name.data();
  host = host.substr(0, host.find('.'));
  for (char& letter : host) {
    if (letter == '/') letter = '_';
  }
  return host.empty() ? "unknown" : host;
}

Settings read_settings() {
  Settings settings;
  settings.folder = read_folder();
  settings.events = read_events(settings.problems);
  settings.limit_bytes = within_addresses(read_limit(settings.problems));
  settings.cupti = variable("ASSAY_RECORDER_CUPTI");
  settings.kernel_times = read_kernel_times(settings.cupti, settings.problems);
  if (settings.kernel_times == model::recording::kNcclTimer)
    settings.events |= model::recording::kKernelChannelBit;
  return settings;
}

int nccl_version(const void* function) {
  Dl_info library{};
  if (function == nullptr || ::dladdr(function, &library) == 0) return 0;
  void* handle = ::dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(handle, "ncclGetVersion"));
  int version = 0;
  if (get != nullptr && get(&version) != 0) version = 0;
  ::dlclose(handle);
  return version;
}

int current_device() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return -1;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuCtxGetDevice"));
  int device = -1;
  if (get != nullptr && get(&device) != 0) device = -1;
  ::dlclose(driver);
  return device;
}

}  // namespace assay::recorder
