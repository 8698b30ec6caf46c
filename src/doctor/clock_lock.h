// Locks the clocks of GPUs while work runs, and always unlocks them: at the end, after an error,
// after Ctrl-C or SIGTERM, and when this process is killed. A small process of our own does both,
// the clock keeper: it holds the other end of a pipe and unlocks when that closes. Only a kill of
// the whole container or job at once reaches it too; 'nvidia-smi -rgc' undoes what is then left.
//
//   auto lock = ASSAY_TRY(ClockLock::acquire({0, 1}, clocks));
//   print_note(lock.summary());
//   ...
//   ASSAY_TRY(lock.release());   // tells if it could not; the destructor releases, too
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "gpu/clock_control.h"

namespace assay::doctor {

// Of "1980,3201": the SM's and the memory's clock in MHz; of "1980" the SM's alone.
core::Result<gpu::Clocks> parse_clocks(std::string_view text);

// Lines for a shell, "sudo nvidia-smi -i 0,1 -lgc 1980,1980".
std::vector<std::string> lock_commands(const std::vector<int>& gpus, const gpu::Clocks& clocks);
std::vector<std::string> unlock_commands(const std::vector<int>& gpus, const gpu::Clocks& clocks);

struct ClockLockOptions {
  std::string nvml_library = "libnvidia-ml.so.1";
  // Clocks that somebody else has set cannot be read back, and so not be restored: after kReplace
  // they are unlocked in the end.
  enum class Existing : std::uint8_t { kRefuse, kReplace } existing = Existing::kRefuse;
  // How long clocks may take to fall after the work of before.
  std::chrono::milliseconds patience{5000};
};

struct ClockOrder;

class ClockLock {
 public:
  // `gpus` as nvidia-smi counts them (CUDA does with CUDA_DEVICE_ORDER=PCI_BUS_ID). Errors: no such
  // GPU or clock, not permitted, clocks that were set before; then nothing is locked. Call it
  // before threads start, and while nothing in this process has NVML open.
  static core::Result<ClockLock> acquire(const std::vector<int>& gpus,
                                         const gpu::Clocks& clocks,
                                         const ClockLockOptions& options = {});

  ClockLock(ClockLock&& other) noexcept;
  ClockLock& operator=(ClockLock&&) = delete;
  ClockLock(const ClockLock&) = delete;
  ClockLock& operator=(const ClockLock&) = delete;
  ~ClockLock();

  // "locked GPUs 0-1 at 1980 MHz (SM) and 3201 MHz (memory) until the end".
  [[nodiscard]] std::string summary() const;

  // Error: clocks that stay locked, with the commands that unlock them.
  core::Status release();

 private:
  ClockLock(std::vector<int> gpus, gpu::Clocks clocks, std::string nvml_library);
  core::Status start_keeper(const ClockOrder& order);

  std::vector<int> gpus_;
  gpu::Clocks clocks_;
  std::string nvml_library_;
  pid_t keeper_ = -1;
  int control_ = -1;
  int report_ = -1;
};

}  // namespace assay::doctor
