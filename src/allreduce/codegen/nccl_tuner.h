// Makes a configuration file for NCCL's example tuner plugin from measurements in which NCCL was
// forced to use one algorithm and protocol after another.
//
// The format is that of plugins/tuner/example (formerly ext-tuner/example) in NCCL 2.27 to 2.30,
// with the 8 fields that all of these versions read:
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks
// Both sizes are inclusive, and the first row that matches counts. Two properties of the plugin
// limit what may be written:
//   - It takes a word that it does not know for ring or simple, so there is no "default".
//   - It answers "one channel" to every call for which no row names channels: because the row says
//     -1, because no row matches, or because the call is another collective.
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
  int channels = kNcclChooses;  // at least 1, or kNcclChooses

  bool operator==(const NcclSetting&) const = default;
};

// Reads "NCCL_RING_LL128" or, with 16 channels, "NCCL_RING_LL128_16". Returns std::nullopt for
// other names.
std::optional<NcclSetting> nccl_setting_named(std::string_view name);

// The time of a plain all-reduce by NCCL with this setting, on all GPUs of one host.
struct NcclTiming {
  int world_size = 0;
  std::int64_t size_bytes = 0;
  NcclSetting setting;
  double time_us = 0;
};

// Returns the measurements with CUDA graphs and without fusion whose strategy names a setting.
std::vector<NcclTiming> nccl_timings(const Benchmark& benchmark);

struct NcclTunerFacts {
  int sm_version = 0;
  std::string provenance = {};  // one line
  // As size grows, a setting is kept until another is faster by more than this fraction.
  double tie = 0.02;
};

// Returns the text of the file, which has, for each number of ranks, ranges of sizes with the
// fastest setting in each. Borders lie at the geometric mean of neighbouring measured sizes.
// Without timings the file has only comments.
std::string nccl_tuner_config(std::span<const NcclTiming> timings, const NcclTunerFacts& facts);

}  // namespace assay::allreduce
