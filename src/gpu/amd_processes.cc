#include "gpu/amd_processes.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <utility>

#include "gpu/sysfs.h"

namespace assay::gpu {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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
      // A process has a file for every GPU that it may use, and memory on those that it does.
      if (address == addresses.end() || bytes.value_or(0) <= 0) continue;
      found[address->second].push_back(
          {.pid = *pid, .name = name, .used_bytes = static_cast<std::uint64_t>(*bytes)});
    }
  }
  return found;
}

}  // namespace assay::gpu
