// What NVML knows about NVIDIA GPUs beyond their settings and state: links, errors, headroom. It
// only reads, and takes some tens of milliseconds for a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::gpu {

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
