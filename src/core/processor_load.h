// The processors that this process may use, and how many of them other work keeps busy.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

namespace assay::core {

struct ProcessorLoad {
  double allowed = 0;   // processors, by this process's affinity and its cgroup's quota
  double taken = 0;     // how many of these other work leaves no time on
  double runnable = 0;  // the load of the last minute, as `uptime` shows it; it covers the machine
};

// Returns how many of `processors` were busy between two readings of /proc/stat, or std::nullopt if
// they tell of no time.
std::optional<double> busy_processors(std::string_view before,
                                      std::string_view after,
                                      const std::set<int>& processors);

// The number of processors that the cgroups of this process may use by their quota ("cpu.max", or
// cpu.cfs_quota_us of version 1); std::nullopt if it is not limited.
std::optional<double> processor_quota(const std::filesystem::path& root);

// Sleeps for `watched`, so that what is busy meanwhile is other work. Without /proc/stat below
// `root`, the load of the last minute answers; without that either, nothing is known. The
// affinity counts if `root` is "/".
std::optional<ProcessorLoad> processor_load(const std::filesystem::path& root,
                                            std::chrono::milliseconds watched);

}  // namespace assay::core
