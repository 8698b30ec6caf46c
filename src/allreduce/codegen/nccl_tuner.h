// A configuration file for NCCL's example tuner plugin, from measurements of NCCL made to use one
// algorithm and protocol after the other.
//
// The format is that of plugins/tuner/example (ext-tuner/example before) as of NCCL 2.27 to 2.30,
// in its 8 fields that all of them read:
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks
// Both sizes are inclusive and the first row that matches counts. What the plugin does with it, and
// what therefore may not be written:
//   - a word that it does not know is taken for ring or simple, so there is no "default";
//   - it answers "one channel" to every call for which no row names channels, be it that the row
//     says -1, that no row matches, or that the call is another collective.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/timings.h"

namespace assay::allreduce {

inline constexpr int kNcclChooses = -1;

struct NcclSetting {
  std::string algorithm;        // "ring", "tree"
  std::string protocol;         // "ll", "ll128", "simple"
  int channels = kNcclChooses;  // or at least 1

  bool operator==(const NcclSetting&) const = default;
};

// "NCCL_RING_LL128" or, with 16 channels, "NCCL_RING_LL128_16". Nothing for other names.
std::optional<NcclSetting> nccl_setting_named(std::string_view name);

// NCCL with this setting, all GPUs of one host, plain all-reduce.
struct NcclTiming {
  int world_size = 0;
  std::int64_t size_bytes = 0;
  NcclSetting setting;
  double time_us = 0;
};

// Those measurements from graphs and without fusion whose strategy names a setting.
std::vector<NcclTiming> nccl_timings(const Benchmark& benchmark);

struct NcclTunerFacts {
  int sm_version = 0;
  std::string provenance = {};  // one line
  double tie = 0.02;            // a setting is kept as size grows until another leads by this part
};

// For each number of ranks the ranges of sizes and the fastest setting in each; borders lie in the
// geometric middle of neighbouring measured sizes. Without timings the file holds comments only.
std::string nccl_tuner_config(std::span<const NcclTiming> timings, const NcclTunerFacts& facts);

}  // namespace assay::allreduce
