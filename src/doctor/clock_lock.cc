#include "doctor/clock_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include "core/text.h"
#include "doctor/clock_keeper.h"
#include "gpu/devices.h"
#include "gpu/nvml.h"

namespace assay::doctor {
namespace {

using Locked = ClockEvidence::Locked;

// An idle GPU whose clocks are not locked runs at an eighth to a fifth of its highest SM clock.
constexpr std::int64_t kIdleShare = 4;

bool limited_by_setting(const gpu::Device& device) {
  return std::any_of(device.clock_reasons.begin(), device.clock_reasons.end(),
                     [](const gpu::ClockReason& reason) {
                       return reason.kind == gpu::ClockReason::Kind::kExpected &&
                              reason.words == "application clock setting";
                     });
}

// NVML takes some milliseconds for each GPU; a driver that hangs must not hang this process.
constexpr std::chrono::seconds kPatience{60};
constexpr int kPollMilliseconds = 1000;

std::optional<std::int64_t> megahertz(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (!whole || value < 1 || value > 100'000) return {};
  return value;
}

std::vector<std::string> commands(const std::vector<int>& gpus,
                                  const std::vector<std::string>& options) {
  std::vector<std::string> lines;
  lines.reserve(options.size());
  for (const std::string& option : options)
    lines.push_back(fmt::format("sudo nvidia-smi -i {} {}", core::join(gpus, ","), option));
  return lines;
}

using Pipe = std::array<int, 2>;

void close_all(std::initializer_list<int> descriptors) {
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

struct Report {
  enum class Kind { kText, kEnded, kSilent } kind = Kind::kSilent;
  std::string text = {};

  [[nodiscard]] bool success() const { return kind == Kind::kText && text.empty(); }
};

// Reads the next report of the keeper, unless the keeper ended without one or hangs.
Report read_report(int descriptor) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Report report;
  while (std::chrono::steady_clock::now() < end) {
    pollfd watched{descriptor, POLLIN, 0};
    if (::poll(&watched, 1, kPollMilliseconds) <= 0) continue;
    char byte = 0;
    const ssize_t count = ::read(descriptor, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {.kind = Report::Kind::kEnded};
    if (byte == '\0') {
      report.kind = Report::Kind::kText;
      return report;
    }
    report.text += byte;
  }
  return {};
}

core::Error cannot_start() {
  return core::Error{
      fmt::format("cannot start the process that keeps the clocks: {}", std::strerror(errno))};
}

}  // namespace

ClockEvidence clock_evidence(const gpu::Device& device) {
  const gpu::Clock& sm = device.sm;
  if (limited_by_setting(device)) {
    return {Locked::kSeems, "the driver says that a setting limits its clocks"};
  }
  if (sm.application_mhz && sm.default_application_mhz &&
      *sm.application_mhz != *sm.default_application_mhz) {
    return {Locked::kSeems,
            fmt::format("its application clock was set to {} MHz ({} MHz by default)",
                        *sm.application_mhz, *sm.default_application_mhz)};
  }
  // Even a process that does nothing may keep the clocks high.
  const bool idle =
      device.processes.empty() && device.utilization_percent.value_or(100) < kBusyPercent;
  if (!idle || !sm.now_mhz || !sm.max_mhz) return {};
  if (*sm.now_mhz * kIdleShare <= *sm.max_mhz) {
    return {Locked::kNo, fmt::format("{} MHz while idle", *sm.now_mhz)};
  }
  return {Locked::kSeems, fmt::format("it holds {} MHz while idle", *sm.now_mhz)};
}

core::Result<gpu::Clocks> parse_clocks(std::string_view text) {
  const auto comma = text.find(',');
  const auto sm = megahertz(text.substr(0, comma));
  gpu::Clocks clocks;
  if (comma != std::string_view::npos) clocks.memory_mhz = megahertz(text.substr(comma + 1));
  if (!sm || (comma != std::string_view::npos && !clocks.memory_mhz)) {
    return core::Error{fmt::format(
        "'{}' is not SM,MEM: two clocks in MHz such as 1980,3201 ('assay doctor' names those of "
        "this machine)",
        text)};
  }
  clocks.sm_mhz = *sm;
  return clocks;
}

std::vector<std::string> lock_commands(const std::vector<int>& gpus, const gpu::Clocks& clocks) {
  std::vector<std::string> options = {fmt::format("-lgc {0},{0}", clocks.sm_mhz)};
  if (clocks.memory_mhz) options.push_back(fmt::format("-lmc {0},{0}", *clocks.memory_mhz));
  return commands(gpus, options);
}

std::vector<std::string> unlock_commands(const std::vector<int>& gpus, const gpu::Clocks& clocks) {
  std::vector<std::string> options = {"-rgc"};
  if (clocks.memory_mhz) options.emplace_back("-rmc");
  return commands(gpus, options);
}

ClockLock::ClockLock(std::vector<int> gpus, gpu::Clocks clocks, std::string nvml_library)
    : gpus_(std::move(gpus)), clocks_(clocks), nvml_library_(std::move(nvml_library)) {}

ClockLock::ClockLock(ClockLock&& other) noexcept
    : gpus_(std::move(other.gpus_)),
      clocks_(other.clocks_),
      nvml_library_(std::move(other.nvml_library_)),
      keeper_(std::exchange(other.keeper_, -1)),
      control_(std::exchange(other.control_, -1)),
      report_(std::exchange(other.report_, -1)) {}

core::Result<ClockLock> ClockLock::acquire(const std::vector<int>& gpus,
                                           const gpu::Clocks& clocks,
                                           const ClockLockOptions& options) {
  ASSAY_CHECK(gpu::nvml::Library::open_count() == 0, "NVML is open and would be forked");
  ClockLock lock(gpus, clocks, options.nvml_library);
  const core::Status started = lock.start_keeper({gpus, clocks, options});
  if (!started.ok()) return started.error();
  const Report report = read_report(lock.report_);
  if (report.success()) return lock;
  if (report.kind == Report::Kind::kText) {
    lock.gpus_.clear();  // nothing is locked
    return core::Error{report.text};
  }
  const core::Status released = lock.release();
  return core::Error{"the process that locks the clocks has ended or hangs" +
                     (released.ok() ? "" : "; " + released.error().message)};
}

core::Status ClockLock::start_keeper(const ClockOrder& order) {
  Pipe control{-1, -1};
  Pipe report{-1, -1};
  // A write to a socket whose reader is gone raises no signal.
  const bool piped = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control.data()) == 0 &&
                     ::pipe2(report.data(), O_CLOEXEC) == 0;
  keeper_ = piped ? ::fork() : -1;
  if (keeper_ == 0) {
    // The keeper must not hold the end that it waits to see closed.
    close_all({control[1], report[0]});
    keep_clocks(order, {control[0], report[1]});
  }
  if (keeper_ < 0) {
    const core::Error error = cannot_start();
    close_all({control[0], control[1], report[0], report[1]});
    return error;
  }
  close_all({control[0], report[1]});
  control_ = control[1];
  report_ = report[0];
  return {};
}

ClockLock::~ClockLock() {
  const core::Status released = release();
  if (!released.ok()) std::fprintf(stderr, "assay: %s\n", released.error().message.c_str());
}

std::string ClockLock::summary() const {
  const std::string memory =
      clocks_.memory_mhz ? fmt::format(" and {} MHz (memory)", *clocks_.memory_mhz) : "";
  return fmt::format("locked {} at {} MHz (SM){} until the end",
                     gpu::gpu_names({gpus_.begin(), gpus_.end()}), clocks_.sm_mhz, memory);
}

core::Status ClockLock::release() {
  if (control_ < 0) return {};
  // The byte ends the keeper even while another process holds a copy of the socket, which closing
  // alone would not.
  const char any = 0;
  ::send(control_, &any, 1, MSG_NOSIGNAL);
  ::close(std::exchange(control_, -1));
  const Report report = read_report(report_);
  ::close(std::exchange(report_, -1));
  if (report.kind != Report::Kind::kSilent) ::waitpid(keeper_, nullptr, 0);
  if (gpus_.empty() || report.success()) return {};
  if (report.kind == Report::Kind::kText) return core::Error{report.text};
  // The keeper was killed, or hangs.
  ClockOrder order{.gpus = gpus_, .clocks = clocks_, .options = {}};
  order.options.nvml_library = nvml_library_;
  return unlock_all(order);
}

}  // namespace assay::doctor
