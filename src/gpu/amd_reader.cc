#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Reads lines such as "1: 2100Mhz *"; the star is on the current step.
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
  // The junction (hot spot) makes the GPU slow down; old cards have the edge only.
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

constexpr const char* kMemoryFile = "vram_";  // followed by the GPU's id

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return {};
  return value;
}

// A node's location_id is the PCI bus, device and function in 16 bits.
std::string address_of(const fs::path& properties) {
  const auto location = whole_number(sysfs_value(properties, "location_id"));
  if (!location) return {};
  const auto domain = whole_number(sysfs_value(properties, "domain")).value_or(0);
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, *location >> 8 & 0xff,
                     *location >> 3 & 0x1f, *location & 7);
}

std::map<std::string, std::string> addresses_of_ids(const fs::path& kfd) {
  std::map<std::string, std::string> addresses;
  for (const fs::path& node : sysfs_entries(kfd / "topology/nodes")) {
    const std::string id = sysfs_text(node / "gpu_id");
    if (id.empty() || id == "0") continue;  // a CPU
    addresses[id] = address_of(node / "properties");
  }
  return addresses;
}

// The processes by PCI address ("0000:c1:00.0").
using ProcessesByAddress = std::map<std::string, std::vector<Process>>;

// Which processes compute on AMD GPUs, by the kernel's list of ROCm processes (KFD).
ProcessesByAddress amd_processes(const fs::path& root) {
  const fs::path kfd = root / "sys/class/kfd/kfd";
  const std::vector<fs::path> folders = sysfs_entries(kfd / "proc");
  ProcessesByAddress found;
  if (folders.empty()) return found;
  const auto addresses = addresses_of_ids(kfd);
  for (const fs::path& folder : folders) {
    const auto pid = whole_number(folder.filename().string());
    if (!pid) continue;
    const std::string name = sysfs_text(root / "proc" / folder.filename() / "comm");
    for (const fs::path& file : sysfs_entries(folder)) {
      const std::string file_name = file.filename().string();
      if (!file_name.starts_with(kMemoryFile)) continue;
      const auto address = addresses.find(file_name.substr(std::string(kMemoryFile).size()));
      const auto bytes = sysfs_number(file);
      // A process has a file for every GPU that it may use, and memory on those that it uses.
      if (address == addresses.end() || bytes.value_or(0) <= 0) continue;
      found[address->second].push_back(
          {.pid = *pid, .name = name, .used_bytes = static_cast<std::uint64_t>(*bytes)});
    }
  }
  return found;
}

class AmdReader : public DeviceReader {
 public:
  explicit AmdReader(fs::path root) : root_(std::move(root)) {}

  // Reading files takes next to no time, so all is read.
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
