// Files of the amdgpu driver: kernel.org, "Documentation/gpu/amdgpu" and hwmon's "sysfs-interface".
#include <algorithm>
#include <charconv>
#include <utility>

#include "gpu/amd_processes.h"
#include "gpu/devices.h"
#include "gpu/sysfs.h"

namespace assay::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAmdVendor = "0x1002";

// "card0", not its connectors "card0-DP-1".
bool is_card(const std::string& name) {
  return name.starts_with("card") && name.size() > 4 &&
         name.find_first_not_of("0123456789", 4) == std::string::npos;
}

// Lines such as "1: 2100Mhz *"; the star is on the step of now.
Clock read_clock(const fs::path& file) {
  Clock clock;
  for (const std::string& line : sysfs_lines(file)) {
    const auto colon = line.find(": ");
    std::int64_t mhz = 0;
    if (colon == std::string::npos) continue;
    const char* digits = line.data() + colon + 2;
    if (std::from_chars(digits, line.data() + line.size(), mhz).ec != std::errc()) continue;
    clock.max_mhz = std::max(clock.max_mhz.value_or(0), mhz);
    if (line.ends_with('*')) clock.now_mhz = mhz;
  }
  return clock;
}

std::optional<double> scaled(std::optional<std::int64_t> value, double per_unit) {
  if (!value) return {};
  return static_cast<double>(*value) / per_unit;
}

void read_sensors(const fs::path& hwmon, Device& device) {
  // The junction (hot spot) is what slows the GPU down; the edge is what old cards have.
  auto temperature = sysfs_number(hwmon / "temp2_input");
  if (!temperature) temperature = sysfs_number(hwmon / "temp1_input");
  auto power = sysfs_number(hwmon / "power1_average");
  if (!power) power = sysfs_number(hwmon / "power1_input");
  device.temperature_celsius = scaled(temperature, 1e3);
  device.power_watts = scaled(power, 1e6);
  device.power_limit_watts = scaled(sysfs_number(hwmon / "power1_cap"), 1e6);
}

std::string product_name(const fs::path& folder) {
  std::string name = sysfs_text(folder / "product_name");
  if (name.empty()) name = "AMD GPU " + sysfs_text(folder / "device");
  return name;
}

Device read_device(const fs::path& folder) {
  Device device{.name = product_name(folder),
                .uuid = sysfs_text(folder / "unique_id"),
                .bus_id = sysfs_value(folder / "uevent", "PCI_SLOT_NAME"),
                .sm = read_clock(folder / "pp_dpm_sclk"),
                .memory = read_clock(folder / "pp_dpm_mclk"),
                .utilization_percent = sysfs_number(folder / "gpu_busy_percent")};
  for (const fs::path& hwmon : sysfs_entries(folder / "hwmon"))
    read_sensors(hwmon, device);
  return device;
}

class AmdReader : public DeviceReader {
 public:
  explicit AmdReader(fs::path root) : root_(std::move(root)) {}

  // Files cost next to nothing: all is read.
  core::Result<Machine> read(Detail /*detail*/) override {
    Machine machine;
    for (const fs::path& card : sysfs_entries(root_ / "sys/class/drm")) {
      const fs::path folder = card / "device";
      if (!is_card(card.filename().string()) || sysfs_text(folder / "vendor") != kAmdVendor) {
        continue;
      }
      machine.devices.push_back(read_device(folder));
    }
    if (machine.devices.empty()) return machine;
    number(machine.devices);
    machine.driver_version = sysfs_text(root_ / "sys/module/amdgpu/version");
    ProcessesByAddress processes = amd_processes(root_);
    for (Device& device : machine.devices)
      device.processes = std::move(processes[device.bus_id]);
    return machine;
  }

 private:
  static void number(std::vector<Device>& devices) {
    std::sort(devices.begin(), devices.end(),
              [](const Device& a, const Device& b) { return a.bus_id < b.bus_id; });
    for (std::size_t i = 0; i < devices.size(); ++i)
      devices[i].index = static_cast<int>(i);
  }

  fs::path root_;
};

}  // namespace

std::unique_ptr<DeviceReader> amd_reader(std::filesystem::path root) {
  return std::make_unique<AmdReader>(std::move(root));
}

}  // namespace assay::gpu
