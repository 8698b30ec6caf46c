// The GPUs of this machine as their drivers describe them. No CUDA or ROCm is needed to build this
// or to run it: the vendor's library is opened when it is there, and no GPU is a normal state.
// All of this only reads; clock_control.h alone changes a GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/facts.h"

namespace assay::gpu {

// Values that the driver does not report are empty in all of these structs.

struct Process {
  // The number that the driver knows: for a process in a container it may be that of the host.
  std::int64_t pid = 0;
  std::string name = {};
  std::optional<std::uint64_t> used_bytes = {};
};

struct Clock {
  std::optional<std::int64_t> now_mhz = {};
  std::optional<std::int64_t> max_mhz = {};  // the limit of the hardware, or the last of its steps
  std::optional<std::int64_t> application_mhz = {};  // set by the administrator
  std::optional<std::int64_t> default_application_mhz = {};
};

// Why the clocks are not higher right now.
// The words of the slowdown that keeps a GPU's power within its limit.
inline constexpr const char* kPowerCap = "software power cap";

struct ClockReason {
  // kExpected: idle, or set so by the administrator; kSlowdown: the GPU protects itself or saves
  // power, so that a measurement now differs from what it can do.
  enum class Kind { kExpected, kSlowdown };

  std::string words;
  Kind kind = Kind::kSlowdown;
};

struct Device {
  int index = 0;  // in the order of PCI bus ids, as nvidia-smi counts
  std::string name = {};
  std::string uuid = {};
  std::string bus_id = {};   // "00000000:19:00.0"
  std::string problem = {};  // why nothing below is known: "GPU is lost"
  Clock sm = {};             // AMD: the clock of the compute units
  Clock memory = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> power_watts = {};
  std::optional<double> power_limit_watts = {};
  std::optional<std::int64_t> utilization_percent = {};  // over a time of up to one second
  std::vector<ClockReason> clock_reasons = {};
  std::optional<bool> persistence_mode = {};
  std::optional<bool> ecc = {};
  std::optional<bool> mig = {};
  std::vector<Process> processes = {};  // processes that compute, not those that draw
};

struct Machine {
  std::string driver_version = {};       // "580.159.04"
  std::string cuda_driver_version = {};  // the newest CUDA that the driver serves: "13.0"
  std::string nvml_version = {};
  std::vector<Device> devices = {};
};

class DeviceReader {
 public:
  DeviceReader() = default;
  DeviceReader(const DeviceReader&) = delete;
  DeviceReader& operator=(const DeviceReader&) = delete;
  virtual ~DeviceReader() = default;

  // kState: only values that change while work runs (current clocks, temperature, power,
  // utilization, clock reasons, processes without their names); the rest is empty. NVML takes some
  // 5 ms for the limits and modes of a GPU, and next to nothing for its state.
  enum class Detail { kAll, kState };

  // Without a driver there are no devices. Error: a driver is there and does not work.
  virtual core::Result<Machine> read(Detail detail) = 0;
};

// "GPU 3", "GPUs 0-7", "GPUs 0, 2-3".
std::string gpu_names(const std::set<int>& gpus);

// Reads NVIDIA's GPUs through NVML. `library` is what dlopen gets: "libnvidia-ml.so.1". It is
// opened and initialised at the first read, which takes up to a second, and stays open as long as
// the reader lives.
std::unique_ptr<DeviceReader> nvidia_reader(std::string library);

// Reads AMD's GPUs through the amdgpu driver's files in <root>/sys and <root>/proc.
std::unique_ptr<DeviceReader> amd_reader(std::filesystem::path root);

// The facts about a machine that are kept beside results. Their names do not depend on what was
// found (there is one fact for all GPUs), so that runs can be compared.

// Driver, GPUs and their settings; none without GPUs. `machine` must have been read with
// DeviceReader::Detail::kAll.
model::Facts machine_facts(const Machine& machine);

// Host, kernel and CPU governor. `root` is the folder that has /proc and /sys.
model::Facts host_facts(const std::filesystem::path& root);

}  // namespace assay::gpu
