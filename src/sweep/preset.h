// A family of settings, each a pair of values: "56,256" is 56 compute units with 256 threads.
//
// To add one: write src/sweep/presets/<name>.cc with a spec and register it.
#pragma once

#include "core/registry.h"
#include "sweep/setting.h"

namespace assay::sweep {

struct PresetSpec {
  const char* name;           // such as "nccl-ctas"
  const char* summary;        // the variables and their purpose
  const char* pair;           // names of the two values: "CTAS,THREADS"
  const char* default_pairs;  // in the form that -p takes
  // Makes the setting. The error says what is wrong with the two values.
  core::Result<Setting> (*make)(const std::string& first, const std::string& second);
};

inline constexpr const char* kDefaultPreset = "rccl-warp-speed";

// The word that stands for the setting in which every swept variable is unset.
inline constexpr const char* kDefaultSetting = "default";

// `pairs` are separated by spaces, as the preset's default_pairs are.
core::Result<Settings> preset_settings(const PresetSpec& preset, const std::string& pairs);

// Returns a positive whole number, or an error that names `what`.
core::Result<int> positive_number(const std::string& text, const char* what);

}  // namespace assay::sweep
