// Locks the clocks of GPUs while work runs, and always unlocks them: at the end, after an error,
// after Ctrl-C or SIGTERM, and when this process is killed. A small process, the clock keeper, does
// both: it holds the other end of a pipe and unlocks when the pipe closes. Only a kill of the whole
// container or job at once ends the keeper, too; 'nvidia-smi -rgc' then unlocks the clocks.
//
//   auto lock = ASSAY_TRY(ClockLock::acquire({0, 1}, clocks));
//   print_note(lock.summary());
//   ...
//   ASSAY_TRY(lock.release());   // fails if clocks stay locked; the destructor releases, too
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "gpu/clock_control.h"
#include "gpu/devices.h"

namespace assay::doctor {

// A GPU counts as idle below this utilization.
inline constexpr std::int64_t kBusyPercent = 5;

// Evidence of whether the clocks of a GPU are locked. NVML does not report this, but the clocks of
// an idle GPU show it.
struct ClockEvidence {
  // kUnknown: the GPU is busy, so that its clocks are high either way, or it does not answer.
  enum class Locked : std::uint8_t { kNo, kSeems, kUnknown } locked = Locked::kUnknown;
  std::string words = {};  // "it holds 1500 MHz while idle"
};

ClockEvidence clock_evidence(const gpu::Device& device);

// Reads "1980,3201", the SM's and the memory's clock in MHz, or "1980", the SM's alone.
core::Result<gpu::Clocks> parse_clocks(std::string_view text);

// Lines for a shell: "sudo nvidia-smi -i 0,1 -lgc 1980,1980".
std::vector<std::string> lock_commands(const std::vector<int>& gpus, const gpu::Clocks& clocks);
std::vector<std::string> unlock_commands(const std::vector<int>& gpus, const gpu::Clocks& clocks);

struct ClockLockOptions {
  std::string nvml_library = "libnvidia-ml.so.1";
  // Clocks that somebody else has set cannot be read back and therefore not be restored: kReplace
  // leaves them unlocked in the end.
  enum class Existing : std::uint8_t { kRefuse, kReplace } existing = Existing::kRefuse;
  // The time that clocks may take to fall after earlier work on the GPU.
  std::chrono::milliseconds patience{5000};
};

struct ClockOrder;

class ClockLock {
 public:
  // `gpus` are counted as nvidia-smi does (CUDA does so with CUDA_DEVICE_ORDER=PCI_BUS_ID). Errors:
  // there is no such GPU or clock, the user may not lock, or the clocks were set before; then
  // nothing is locked. Call it before threads start, and while nothing in this process has NVML
  // open.
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

  // Error: some clocks stay locked; the message has the commands that unlock them.
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
