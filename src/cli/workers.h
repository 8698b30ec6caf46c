// Which GPUs a command measures on and which program does it: --device, --gpus, --worker.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::cli {

class App;

inline constexpr const char* kWorkerVariable = "ASSAY_WORKER";

// The number of NVIDIA GPUs that this shell sees.
core::Result<int> count_gpus();

// The program that `named` or else the environment names; empty if neither does.
core::Result<std::filesystem::path> named_worker(const std::filesystem::path& named);

// The command line of this process, for the record.
std::string own_command_line();

// kUsual: nobody named a device; the command decides, usually for GPUs.
enum class DeviceKind : std::uint8_t { kUsual, kCpu, kCuda };

struct DeviceArguments {
  DeviceKind kind = DeviceKind::kUsual;
  std::vector<int> gpus = {};
  std::filesystem::path worker = {};

  // Error: wrong usage.
  [[nodiscard]] core::Status check() const;

  // The same arguments, with this device where they name neither a device nor GPUs.
  [[nodiscard]] DeviceArguments with_default(DeviceKind usual) const;

  // The GPUs to use; none for the CPU. Error: there is no GPU.
  [[nodiscard]] core::Result<std::vector<int>> used_gpus() const;

  // Error: this build has no such worker.
  [[nodiscard]] core::Result<std::filesystem::path> worker_program() const;
};

// Declares the options. `usual_device` is the default that help shows for --device.
void add_device_options(App& app,
                        DeviceArguments& arguments,
                        const char* usual_device,
                        const char* group);

}  // namespace assay::cli
