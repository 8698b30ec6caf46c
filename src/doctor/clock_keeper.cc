#include "doctor/clock_keeper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "core/text.h"
#include "gpu/devices.h"

namespace assay::doctor {
namespace {

using Devices = std::vector<gpu::Device>;
constexpr std::chrono::milliseconds kBetweenLooks{250};

core::Error with_commands(const std::string& problem, const std::vector<std::string>& commands) {
  return core::Error{problem + "\n  " + core::join(commands, "\n  ")};
}

const gpu::Device* find(const Devices& devices, int index) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const gpu::Device& device) { return device.index == index; });
  return found == devices.end() ? nullptr : &*found;
}

core::Status check_clock(int gpu, const char* what, std::int64_t mhz, const gpu::Clock& clock) {
  if (!clock.max_mhz || mhz <= *clock.max_mhz) return {};
  return core::Error{fmt::format(
      "{} MHz is more than the {} clock of GPU {} reaches, {} MHz; '--lock-clocks' takes "
      "the SM clock first, then the memory's",
      mhz, what, gpu, *clock.max_mhz)};
}

core::Status check_gpu(const ClockOrder& order, const Devices& devices, int gpu) {
  const gpu::Device* device = find(devices, gpu);
  if (device == nullptr) {
    return core::Error{fmt::format("there is no GPU {} to lock the clocks of; this machine has {}",
                                   gpu, devices.size())};
  }
  if (!device->problem.empty()) {
    return core::Error{fmt::format("GPU {} does not answer: {}", gpu, device->problem)};
  }
  core::Status sm = check_clock(gpu, "SM", order.clocks.sm_mhz, device->sm);
  if (!sm.ok() || !order.clocks.memory_mhz) return sm;
  return check_clock(gpu, "memory", *order.clocks.memory_mhz, device->memory);
}

core::Status check_not_set(const ClockOrder& order, const Devices& devices) {
  for (const int gpu : order.gpus) {
    const ClockEvidence evidence = clock_evidence(*find(devices, gpu));
    if (evidence.locked != ClockEvidence::Locked::kSeems) continue;
    return with_commands(
        fmt::format("the clocks of GPU {} seem to be set already: {}. They could not be restored. "
                    "Measure without --lock-clocks, or undo them first:",
                    gpu, evidence.words),
        unlock_commands(order.gpus, order.clocks));
  }
  return {};
}

// Clocks that are high only from earlier work fall within seconds.
core::Status wait_until_not_set(const ClockOrder& order, gpu::DeviceReader& reader) {
  const auto end = std::chrono::steady_clock::now() + order.options.patience;
  while (true) {
    const gpu::Machine machine = ASSAY_TRY(reader.read(gpu::DeviceReader::Detail::kAll));
    core::Status free = check_not_set(order, machine.devices);
    if (free.ok() || std::chrono::steady_clock::now() >= end) return free;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

core::Status check(const ClockOrder& order) {
  const auto reader = gpu::nvidia_reader(order.options.nvml_library);
  const gpu::Machine machine = ASSAY_TRY(reader->read(gpu::DeviceReader::Detail::kAll));
  for (const int gpu : order.gpus) {
    core::Status checked = check_gpu(order, machine.devices, gpu);
    if (!checked.ok()) return checked;
  }
  if (order.options.existing == ClockLockOptions::Existing::kReplace) return {};
  return wait_until_not_set(order, *reader);
}

core::Status lock_all(const ClockOrder& order) {
  core::Status checked = check(order);
  if (!checked.ok()) return checked;
  const auto control = ASSAY_TRY(gpu::ClockControl::open(order.options.nvml_library));
  ClockOrder locked = order;
  locked.gpus.clear();
  for (const int gpu : order.gpus) {
    const core::Status done = control.lock(gpu, order.clocks);
    if (done.ok()) {
      locked.gpus.push_back(gpu);
      continue;
    }
    const core::Status undone = unlock_all(locked);
    return with_commands(done.error().message + (undone.ok() ? "" : "; " + undone.error().message) +
                             ". Run as root, or lock them yourself:",
                         lock_commands(order.gpus, order.clocks));
  }
  return {};
}

void close_range_between(int first, int last) {
  if (first <= last) {
    ::close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0);
  }
}

// Files that the keeper holds open would stay locked, and pipes unfinished, until it ends. Standard
// error stays open, because only the keeper can report that unlocking failed.
void close_others(const ClockKeeperEnds& ends) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  const auto [low, high] = std::minmax(ends.control, ends.report);
  close_range_between(STDERR_FILENO + 1, low - 1);
  close_range_between(low + 1, high - 1);
  ::close_range(static_cast<unsigned>(high) + 1, ~0U, 0);
}

void ignore_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
    ::signal(signal, SIG_IGN);
  ::alarm(0);  // a signal that came between fork() and here may have set one
}

// Returns false when nobody reads any more.
bool tell(int report, const core::Status& status) {
  const std::string text = status.ok() ? "" : status.error().message;
  const auto bytes = text.size() + 1;
  return ::write(report, text.c_str(), bytes) == static_cast<ssize_t>(bytes);
}

// Waits for a byte, or until nobody can write one any more.
void wait_for_end(int control) {
  pollfd watched{control, POLLIN, 0};
  while (::poll(&watched, 1, -1) <= 0) {
  }
}

}  // namespace

core::Status unlock_all(const ClockOrder& order) {
  const auto control = ASSAY_TRY(gpu::ClockControl::open(order.options.nvml_library));
  std::vector<int> left;
  std::string why;
  for (const int gpu : order.gpus) {
    const core::Status done = control.unlock(gpu, order.clocks);
    if (done.ok()) continue;
    left.push_back(gpu);
    why = done.error().message;
  }
  if (left.empty()) return {};
  return with_commands("clocks stay locked: " + why + ". Unlock them with:",
                       unlock_commands(left, order.clocks));
}

void keep_clocks(const ClockOrder& order, const ClockKeeperEnds& ends) {
  ::setsid();
  ignore_signals();
  close_others(ends);
  const core::Status locked = lock_all(order);
  tell(ends.report, locked);
  if (!locked.ok()) ::_exit(EXIT_SUCCESS);
  wait_for_end(ends.control);
  const core::Status unlocked = unlock_all(order);
  if (!tell(ends.report, unlocked) && !unlocked.ok()) {
    std::fprintf(stderr, "assay: %s\n", unlocked.error().message.c_str());
  }
  ::_exit(EXIT_SUCCESS);
}

}  // namespace assay::doctor
