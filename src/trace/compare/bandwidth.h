// Bus bandwidth of the collectives of any number of settings, by the size of their messages and by
// their channels, beside what NCCL reaches alone and what the links carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/collective.h"
#include "model/table.h"
#include "trace/compare/setting_figures.h"

namespace assay::trace {

// What a shipped system says of NCCL on this GPU, without other work beside it.
struct NcclCurve {
  struct Point {
    double bytes = 0;  // of a rank's largest buffer
    double bus_gbps = 0;
  };

  model::NcclFunction function = model::NcclFunction::kAllReduce;
  int ranks = 0;
  std::vector<Point> points;  // by size
  std::string source;         // "NCCL 2.28.9 alone, h200_sxm"
};

// Messages of one kind and size, with one number of channels, in one setting.
struct BandwidthPoint {
  std::size_t setting = 0;
  std::string collective = {};
  std::string dtype = {};
  int ranks = 0;
  double bytes = 0;           // of a rank's largest buffer
  std::string channels = {};  // "24", "8, 24"; "" where the trace does not tell
  double bus_gbps = 0;        // mean over instances and runs
  double low_gbps = 0;
  double high_gbps = 0;
  std::int64_t instances = 0;  // in all runs
};

// Returns them by collective, size and setting. The time of messages below 4 KiB is latency, so
// they are left out.
std::vector<BandwidthPoint> bandwidth_points(std::span<const SettingFigures> settings);

// Returns the curve of this collective whose number of ranks is nearest; null for none.
const NcclCurve* curve_for(std::span<const NcclCurve> curves, const BandwidthPoint& point);

// Returns the bus bandwidth at this size, along a line over the logarithm of the size. Above the
// largest size it no longer grows, and below the smallest one it is NaN.
double bus_gbps_at(const NcclCurve& curve, double bytes);

// What one GPU's links carry in one direction, and who says so. 0 where nothing is known.
struct LinkLimit {
  double gbps = 0;
  std::string gpu;
  std::string source;
};

LinkLimit link_limit(std::span<const SettingFigures> settings);

// Make the sheets Bandwidth, one row for each kind and size of message with a column for each
// setting, and Bandwidth_Channels, one row for each setting of those. They have no rows where no
// setting has a collective of known bandwidth.
inline constexpr const char* kBandwidthSheet = "Bandwidth";
inline constexpr const char* kChannelsSheet = "Bandwidth_Channels";
model::Table bandwidth_table(std::span<const SettingFigures> settings,
                             std::span<const NcclCurve> curves);
model::Table channels_table(std::span<const SettingFigures> settings,
                            std::span<const NcclCurve> curves);

}  // namespace assay::trace
