// The state and the health of NVIDIA GPUs: what a worker reads before and after every measurement,
// and what NVML knows beyond the settings of a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::gpu {

namespace nvml {
class Library;
}  // namespace nvml

struct DeviceState {
  std::optional<std::int64_t> sm_mhz = {};
  std::optional<std::int64_t> most_sm_mhz = {};  // read when the reader was opened
  std::optional<std::int64_t> memory_mhz = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> power_limit_watts = {};  // read when the reader was opened: it takes 5 ms
  std::vector<std::string> slowdowns = {};  // why clocks are lowered, unless idle or by a setting
};

class NvidiaStateReader {
 public:
  // `gpu` is a PCI bus id as CUDA gives it ("0000:19:00.0") or an UUID ("GPU-…", "MIG-…"): CUDA
  // numbers GPUs differently from NVML. Errors: no driver, no such GPU.
  static core::Result<NvidiaStateReader> open(const std::string& library, const std::string& gpu);

  NvidiaStateReader(NvidiaStateReader&& other) noexcept;
  NvidiaStateReader& operator=(NvidiaStateReader&& other) noexcept;
  ~NvidiaStateReader();

  // Makes four calls that read values which the driver has at hand, in some 10 us. Error: the GPU
  // is lost.
  [[nodiscard]] core::Result<DeviceState> read() const;

  // The energy since the driver was loaded; std::nullopt where the GPU does not count it. Takes 3
  // ms on an H200.
  [[nodiscard]] std::optional<double> energy_joules() const;

 private:
  explicit NvidiaStateReader(std::unique_ptr<nvml::Library> library);

  std::unique_ptr<nvml::Library> library_;
  void* handle_ = nullptr;
  std::optional<double> power_limit_watts_;
  std::optional<std::int64_t> most_sm_mhz_;
};

struct Link {  // NVLink
  bool active = false;
  std::uint64_t recoveries = 0;  // how often it was down and came back
  std::uint64_t corrected = 0;   // checksum errors and replays
};

// Values that the driver does not tell are empty.
struct Health {
  int index = 0;  // the Device::index
  std::optional<double> default_power_limit_watts = {};
  std::optional<double> thermal_margin_celsius = {};         // until the GPU slows itself down
  std::optional<std::uint64_t> uncorrected_ecc_errors = {};  // since the driver was loaded
  std::optional<std::int64_t> pcie_width = {};               // lanes in use
  std::optional<std::int64_t> max_pcie_width = {};
  std::vector<Link> links = {};       // the links that this GPU has
  std::vector<int> unreachable = {};  // GPUs whose memory it cannot read or write, by their index
};

// The GPUs that answer; none without a driver.
core::Result<std::vector<Health>> nvidia_health(const std::string& library);

}  // namespace assay::gpu
