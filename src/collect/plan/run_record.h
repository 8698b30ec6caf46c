// The record that a run leaves in the store: its settings and its device, each under a prefix.
#pragma once

#include <map>
#include <string>

#include "collect/kernels/device.h"
#include "store/database/store.h"

namespace assay::collect {

// Kinds of runs in the store.
inline constexpr const char* kCollectRun = "collect";
inline constexpr const char* kRerun = "rerun";  // a collection's points measured again

using Settings = std::map<std::string, std::string>;

inline constexpr const char* kSettingPrefix = "setting ";
inline constexpr const char* kDevicePrefix = "device ";

Settings with_prefix(const Settings& settings, const std::string& prefix);

// Returns the settings that have the prefix, with the prefix removed.
Settings without_prefix(const Settings& settings, const std::string& prefix);

// The setting of this name; "" if there is none.
std::string fact_of(const Settings& facts, const char* name);

// The device as runs keep it: "driver": "580.159", ...
Settings facts_of(const DeviceFacts& device);

// The settings of a recorded run, and its device as facts_of() returns it.
Settings recorded_settings(const store::Run& run);
Settings recorded_device(const store::Run& run);

// The settings of `then` with this prefix that differ in `now`, separated by commas: "--l2 was hot
// and is cold"; "" if none differs. A setting that only `now` has makes no difference.
std::string differences(const Settings& then, const Settings& now, const std::string& prefix);

}  // namespace assay::collect
