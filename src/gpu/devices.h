// The GPUs of this machine as their drivers describe them. No CUDA or ROCm is needed to build this
// or to run it: the vendor's library is opened when it is there, and no GPU is a normal state.
// Reads only; what changes a GPU is in clock_control.h alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::gpu {

// What the driver does not tell is empty in all of these.

struct Process {
  // As the driver sees it: inside a container this may be a number of the host.
  std::int64_t pid = 0;
  std::string name = {};
  std::optional<std::uint64_t> used_bytes = {};
};

struct Clock {
  std::optional<std::int64_t> now_mhz = {};
  std::optional<std::int64_t> max_mhz = {};          // of the hardware, or the last of its steps
  std::optional<std::int64_t> application_mhz = {};  // asked for by the administrator
  std::optional<std::int64_t> default_application_mhz = {};
};

// Why the clocks are not higher right now.
struct ClockReason {
  // kExpected: idle, or set so by the administrator; kSlowdown: the GPU protects itself or saves
  // power, so that what is measured now differs from what it can do.
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
  Clock sm = {};             // AMD: of the compute units
  Clock memory = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> power_watts = {};
  std::optional<double> power_limit_watts = {};
  std::optional<std::int64_t> utilization_percent = {};  // over up to the last second
  std::vector<ClockReason> clock_reasons = {};
  std::optional<bool> persistence_mode = {};
  std::optional<bool> ecc = {};
  std::optional<bool> mig = {};
  std::vector<Process> processes = {};  // that compute, not those that draw
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

  // kState: only what changes while work runs (clocks of now, temperature, power, utilization,
  // clock reasons, processes without their names); the rest is empty. Limits and modes cost NVML
  // some 5 ms a GPU, the state next to nothing.
  enum class Detail { kAll, kState };

  // No driver: no devices. An error: a driver is there and does not work.
  virtual core::Result<Machine> read(Detail detail) = 0;
};

// "GPU 3", "GPUs 0-7", "GPUs 0, 2-3".
std::string gpu_names(const std::set<int>& gpus);

// NVIDIA through NVML. `library` is what dlopen is given, "libnvidia-ml.so.1". It is opened and
// initialised at the first read, which takes up to a second, and stays so for the reader's life.
std::unique_ptr<DeviceReader> nvidia_reader(std::string library);

// AMD through the amdgpu driver's files in <root>/sys and <root>/proc.
std::unique_ptr<DeviceReader> amd_reader(std::filesystem::path root);

}  // namespace assay::gpu
