// The measured databases that ship inside assay: systems/NAME.db.zst and systems/NAME.yaml of the
// source tree. systems/README.md says how to add one.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/database/store.h"
#include "store/systems/system_yaml.h"

namespace assay::store {

struct ShippedSystem {
  std::string_view name;      // "h200_sxm"
  std::string_view database;  // a store's file, packed by zstd
  std::string_view yaml;      // as system_text() writes it
  std::string_view tables;    // those of the database, as pack_tables() makes them
};

// They are sorted by name.
std::span<const ShippedSystem> shipped_systems();

// "h200_sxm, mi300x"
std::string shipped_names();

// Null if none has this name.
const ShippedSystem* find_shipped(std::string_view name);

// The shipped system that an argument names. Null if there is none, or if there is a file of this
// name, which comes first.
const ShippedSystem* shipped_at(const std::filesystem::path& file_or_name);

// Opens its database, which takes a few milliseconds for each 10 MB. Nothing may write into it.
core::Result<Store> open_shipped(const ShippedSystem& system);

// Whether the file begins as a store does.
bool is_store(const std::filesystem::path& path);

// Opens a store by its file or by the name of a shipped one. The error for anything else lists
// those names.
core::Result<Store> open_to_read(const std::filesystem::path& file_or_name);

core::Result<Peaks> peaks_of(const ShippedSystem& system);

// Reads the peaks of a system, by its YAML file or by the name of a shipped one, in the same way.
core::Result<Peaks> peaks_of_system(const std::filesystem::path& file_or_name);

// The error for an argument that could be the name of a shipped system, but is neither that nor a
// file. Any other argument is no error.
core::Status check_shipped_name(const std::filesystem::path& file_or_name);

}  // namespace assay::store
