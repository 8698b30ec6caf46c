// What kernels run on. One implementation a kind: oneDNN and MPI on CPUs, CUDA in assay-worker.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "collect/kernels/kernels.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

struct DeviceFacts {
  std::string kind;  // "cpu", "cuda"
  std::string name;  // "NVIDIA H200"
  std::string framework = "assay";
  std::string version;            // of our own backend: assay's
  int sm_version = 0;             // 90; 0 for a CPU
  int count = 1;                  // devices that a collective may use
  std::int64_t memory_bytes = 0;  // free when the worker started
  std::int64_t l2_bytes = 0;      // what buffers must exceed to be cold
  std::map<std::string, std::string> more =
      {};  // "driver", "cuBLASLt", "cuDNN", "NCCL": exact versions
};

// The largest deviation from a float64 reference over a sample of outputs, in units of what the
// data type allows (1: just right).
struct Accuracy {
  double worst = 0;
  std::int64_t compared = 0;
  std::string where;  // "output[3, 17] is 1.25, should be 1.5"
};

// A kernel with its buffers, filled with random numbers.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  // Enqueues it once. With L2State::kCold each call uses the next of its copies of the buffers.
  virtual core::Status launch() = 0;

  // "cublaslt", "cudnn_sdpa", "onednn": what really runs.
  [[nodiscard]] virtual std::string kernel_source() const = 0;

  // Launches it once and waits.
  virtual core::Result<Accuracy> check() = 0;
};

// A kernel that this device has not, or not for this shape.
struct Unsupported {
  std::string reason;  // "cuDNN has no plan for head size 576"
};

using MadeWork = std::variant<std::unique_ptr<Work>, Unsupported>;

// Times a work, a sample at a time.
class Stopwatch {
 public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  virtual ~Stopwatch() = default;

  // Milliseconds of a launch, of `count` samples of `launches_per_sample` launches each; of several
  // ranks those of the slowest.
  virtual core::Result<std::vector<double>> sample(std::int64_t count) = 0;

  // Slowest less fastest rank, median of the samples so far; nothing of a single device.
  [[nodiscard]] virtual std::optional<double> skew_ms() const { return std::nullopt; }
};

struct StopwatchRequest {
  model::Launch launch = model::Launch::kGraph;
  std::int64_t launches_per_sample = 1;
};

// Of an SM, in MHz.
struct ClockSeen {
  double now_mhz = 0;
  double highest_mhz = 0;  // so far
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceFacts& facts() const = 0;

  // make() of it comes soon: what takes long on the CPU may begin now.
  virtual void expect(const KernelSpec& /*spec*/) {}

  // Errors: out of memory, a library that fails.
  virtual core::Result<MadeWork> make(const KernelSpec& spec, model::L2State l2) = 0;

  // Error with kGraph: it cannot be captured; kEager remains. The work outlives the watch.
  virtual core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& work,
                                                             const StopwatchRequest& request) = 0;

  // Waits for all launches.
  virtual core::Status finish() = 0;

  // Counted right now. Nothing: the device has no such counter.
  virtual core::Result<std::optional<ClockSeen>> clock() { return std::optional<ClockSeen>(); }

  // After an error that leaves the device unusable until the process ends.
  [[nodiscard]] virtual bool is_lost() const { return false; }
};

}  // namespace assay::collect
