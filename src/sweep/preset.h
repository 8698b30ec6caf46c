// A family of settings, each a pair of values: "56,256" is 56 compute units with 256 threads.
//
// To add one: write src/sweep/presets/<name>.cc with a spec and register it.
#pragma once

#include "core/registry.h"
#include "sweep/setting.h"

namespace assay::sweep {

struct PresetSpec {
  const char* name;           // "nccl-ctas"
  const char* summary;        // which variables, for what
  const char* pair;           // "CTAS,THREADS"
  const char* default_pairs;  // what `-p` would say
  // Fails with what is wrong about the two values.
  core::Result<Setting> (*make)(const std::string& first, const std::string& second);
};

inline constexpr const char* kDefaultPreset = "rccl-warp-speed";

// The word for a setting of its own: every swept variable unset.
inline constexpr const char* kDefaultSetting = "default";

// `pairs` are parted by spaces; empty: the preset's own.
core::Result<Settings> preset_settings(const PresetSpec& preset, const std::string& pairs);

// For presets: a positive whole number, or an error that names `what`.
core::Result<int> positive_number(const std::string& text, const char* what);

}  // namespace assay::sweep
