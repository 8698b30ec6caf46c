// Measured databases that ship inside assay: systems/NAME.db.zst and systems/NAME.yaml of the
// source tree. systems/README.md says how to add one.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/database/store.h"
#include "store/systems/peaks.h"

namespace assay::store {

struct ShippedSystem {
  std::string_view name;      // "h200_sxm"
  std::string_view database;  // a store's file, zstd
  std::string_view yaml;      // as system_text() writes it
};

// Sorted by name.
std::span<const ShippedSystem> shipped_systems();

// "h200_sxm, mi300x"
std::string shipped_names();

// Null: none has this name.
const ShippedSystem* find_shipped(std::string_view name);

// The shipped system that an argument means. Null: none, or a file of this name is there, which
// comes first.
const ShippedSystem* shipped_at(const std::filesystem::path& file_or_name);

// Takes a few milliseconds for each 10 MB. Nothing may write into it.
core::Result<Store> open_shipped(const ShippedSystem& system);

// "NVIDIA H200, assay 0.1.0, measured 2026-01-02"
std::string origin_text(const Origin& origin);

// A store by its file or by the name of a shipped one. The error for what is neither names those
// that there are.
core::Result<Store> open_to_read(const std::filesystem::path& file_or_name);

core::Result<Peaks> peaks_of(const ShippedSystem& system);

// The peaks of a system by its YAML file or by the name of a shipped one, in the same way.
core::Result<Peaks> peaks_of_system(const std::filesystem::path& file_or_name);

// What to say of an argument that could be the name of a shipped system, but is neither that nor a
// file: no error for any other.
core::Status check_shipped_name(const std::filesystem::path& file_or_name);

}  // namespace assay::store
