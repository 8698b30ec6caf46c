// Which device kernels are measured on, and which program does it: --device, --gpus, --worker.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::cli {

class App;

// kUsual: as the command says, GPUs if it says nothing.
enum class DeviceKind : std::uint8_t { kUsual, kCpu, kCuda };

struct DeviceArguments {
  DeviceKind kind = DeviceKind::kUsual;
  std::vector<int> gpus = {};
  std::filesystem::path worker = {};

  // Wrong usage.
  [[nodiscard]] core::Status check() const;

  // GPUs to use; none for the CPU. Error: there is no GPU.
  [[nodiscard]] core::Result<std::vector<int>> used_gpus() const;

  // Error: this build has no such worker.
  [[nodiscard]] core::Result<std::filesystem::path> worker_program() const;
};

// `usual_device` is what help says of --device.
void add_device_options(App& app,
                        DeviceArguments& arguments,
                        const char* usual_device,
                        const char* group);

}  // namespace assay::cli
