// The GPUs that a command measures on and the program that measures: --device, --gpus, --worker.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::cli {

class App;

inline constexpr const char* kWorkerVariable = "ASSAY_WORKER";

// Returns the number of NVIDIA GPUs that CUDA_VISIBLE_DEVICES allows in this shell.
core::Result<int> count_gpus();

// Returns the program that `named` or else the environment names, or an empty path if neither names
// one.
core::Result<std::filesystem::path> named_worker(const std::filesystem::path& named);

// Returns the command line of this process, for the record.
std::string own_command_line();

// kUsual means that the user named no device. The command then decides and usually chooses GPUs.
enum class DeviceKind : std::uint8_t { kUsual, kCpu, kCuda };

struct DeviceArguments {
  DeviceKind kind = DeviceKind::kUsual;
  std::vector<int> gpus = {};
  std::filesystem::path worker = {};

  // Fails for wrong usage.
  [[nodiscard]] core::Status check() const;

  // Returns the same arguments, with this device if they name neither a device nor GPUs.
  [[nodiscard]] DeviceArguments with_default(DeviceKind usual) const;

  // Returns the GPUs to use, and none for the CPU. Fails if there is no GPU.
  [[nodiscard]] core::Result<std::vector<int>> used_gpus() const;

  // Fails if this build has no such worker.
  [[nodiscard]] core::Result<std::filesystem::path> worker_program() const;
};

// Declares the options. `usual_device` is the default that help shows for --device.
void add_device_options(App& app,
                        DeviceArguments& arguments,
                        const char* usual_device,
                        const char* group);

}  // namespace assay::cli
