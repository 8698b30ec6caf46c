// The device that kernels run on. It is implemented by oneDNN and MPI on CPUs, and by CUDA in
// assay-worker.
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
  std::string version;            // of the framework
  int sm_version = 0;             // 90; 0 for a CPU
  int count = 1;                  // devices that a collective may use
  std::int64_t memory_bytes = 0;  // free when the worker started
  std::int64_t l2_bytes = 0;      // buffers larger than it are cold
  std::map<std::string, std::string> more =
      {};  // "driver", "cuBLASLt", "cuDNN", "NCCL": exact versions
};

// The largest deviation of sampled outputs from a float64 reference. Its unit is the deviation that
// the data type allows, so that 1 is just acceptable.
struct Accuracy {
  double worst = 0;
  std::int64_t compared = 0;
  std::string where;  // "output[3, 17] is 1.25, should be 1.5"
};

// A kernel that could do the same work, but was slower when a maker tried it.
struct OtherKernel {
  std::string kernel_source;
  std::vector<double> samples_ms;  // a few, of one launch each
};

// A kernel with its buffers, filled with random numbers.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  // Enqueues the kernel once. With L2State::kCold each call uses the next copy of the buffers.
  virtual core::Status launch() = 0;

  // The library or kernel that really runs: "cublaslt", "cudnn_sdpa", "onednn".
  [[nodiscard]] virtual std::string kernel_source() const = 0;

  // The kernels that were tried before this one was chosen.
  [[nodiscard]] virtual std::vector<OtherKernel> others() const { return {}; }

  // The works of which this one is the sequence; none of a single kernel. They live as long as it.
  [[nodiscard]] virtual std::vector<Work*> members() { return {}; }

  // Launches the kernel once, waits, and compares its output.
  virtual core::Result<Accuracy> check() = 0;
};

// The device does not have this kernel, or not for this shape.
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

  // Takes `count` samples of `launches_per_sample` launches each, and returns for each sample the
  // milliseconds of one launch. With several ranks these are the times of the slowest.
  virtual core::Result<std::vector<double>> sample(std::int64_t count) = 0;

  // The median, over the samples so far, of the slowest rank's time less the fastest's.
  // std::nullopt for a single device.
  [[nodiscard]] virtual std::optional<double> skew_ms() const { return std::nullopt; }
};

struct StopwatchRequest {
  model::Launch launch = model::Launch::kGraph;
  std::int64_t launches_per_sample = 1;
};

// The clock of an SM.
struct ClockSeen {
  double now_mhz = 0;
  double highest_mhz = 0;  // of all calls so far
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceFacts& facts() const = 0;

  // Announces that make() will soon be called for it, so that long work of the CPU can begin.
  virtual void expect(const KernelSpec& /*spec*/) {}

  // Errors: out of memory, a library that fails.
  virtual core::Result<MadeWork> make(const KernelSpec& spec, model::L2State l2) = 0;

  // Makes a work that launches these kernels one after the other, as a layer of a model does. What
  // is to be cold is cold for each of them, and what they compute is as hot as if each took the
  // output of the one before. Errors are those of make().
  virtual core::Result<MadeWork> make_sequence(const std::vector<KernelSpec>& /*specs*/,
                                               model::L2State /*l2*/) {
    return MadeWork(Unsupported{"this device launches no sequences of kernels"});
  }

  // Error with kGraph: the work cannot be captured into a graph, but kEager is possible. The work
  // must outlive the stopwatch.
  virtual core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& work,
                                                             const StopwatchRequest& request) = 0;

  // Waits for all launches.
  virtual core::Status finish() = 0;

  // Measures the clock now. std::nullopt: the device has no counter for it.
  virtual core::Result<std::optional<ClockSeen>> clock() { return std::optional<ClockSeen>(); }

  // Returns whether an error has made the device unusable until the process ends.
  [[nodiscard]] virtual bool is_lost() const { return false; }
};

}  // namespace assay::collect
