#include "store/systems/shipped.h"

#include <fmt/core.h>

#include <fstream>

#include "core/files.h"
#include "core/text.h"

namespace assay::store {

namespace fs = std::filesystem;

std::string shipped_names() {
  std::vector<std::string> names;
  for (const ShippedSystem& system : shipped_systems())
    names.emplace_back(system.name);
  return core::join(names, ", ");
}

const ShippedSystem* find_shipped(std::string_view name) {
  for (const ShippedSystem& system : shipped_systems()) {
    if (system.name == name) return &system;
  }
  return nullptr;
}

const ShippedSystem* shipped_at(const fs::path& file_or_name) {
  std::error_code unknown;
  const bool is_there = fs::exists(file_or_name, unknown) && !core::is_folder(file_or_name);
  return is_there ? nullptr : find_shipped(file_or_name.string());
}

core::Result<Store> open_shipped(const ShippedSystem& system) {
  return Store::unpack(fmt::format("the shipped database {}", system.name), system.database);
}

bool is_store(const fs::path& path) {
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  std::string head(kMagic.size(), ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return file.good() && head == kMagic;
}

core::Result<Store> open_to_read(const fs::path& file_or_name) {
  const ShippedSystem* shipped = shipped_at(file_or_name);
  if (shipped != nullptr) return open_shipped(*shipped);
  ASSAY_TRY(check_shipped_name(file_or_name));
  return Store::open(file_or_name, Store::Mode::kRead);
}

core::Result<Peaks> peaks_of(const ShippedSystem& system) {
  return parse_peaks(system.yaml, fmt::format("the shipped system {}", system.name));
}

core::Result<Peaks> peaks_of_system(const fs::path& file_or_name) {
  const ShippedSystem* shipped = shipped_at(file_or_name);
  if (shipped != nullptr) return peaks_of(*shipped);
  ASSAY_TRY(check_shipped_name(file_or_name));
  return read_peaks(file_or_name);
}

core::Status check_shipped_name(const fs::path& file_or_name) {
  std::error_code unknown;
  const std::string name = file_or_name.string();
  const bool is_path = name.find_first_of("/.") != std::string::npos;
  if (is_path || fs::exists(fs::symlink_status(file_or_name, unknown))) return {};
  const std::string names = shipped_names();
  return core::Error{fmt::format("{}: no such file, and no system of this name ships with assay{}",
                                 name, names.empty() ? "" : fmt::format(" (these do: {})", names))};
}

}  // namespace assay::store
