// NCCL as it can be told to work: an algorithm, a protocol and a number of channels (CTAs), their
// names, and what was measured with them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allreduce/timings.h"

namespace assay::allreduce {

// The collectives that are swept. Their words are those of a tuner's file and of the column `op`.
enum class NcclCollective : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast };

inline constexpr std::array<std::string_view, 4> kNcclCollectiveNames = {
    "allreduce", "allgather", "reducescatter", "broadcast"};

std::string_view name_of(NcclCollective collective);

// Returns whether it adds, so that its time may depend on the data type; the others move bytes.
bool adds(NcclCollective collective);
std::optional<NcclCollective> nccl_collective_named(std::string_view name);

inline constexpr int kNcclChooses = -1;
inline constexpr int kMostNcclChannels = 64;  // NCCL's MAXCHANNELS

struct NcclSetting {
  std::string algorithm;        // "ring", "tree"
  std::string protocol;         // "ll", "ll128", "simple"
  int channels = kNcclChooses;  // at least 1, or kNcclChooses

  bool operator==(const NcclSetting&) const = default;
};

// NVLS needs multicast and is left out, as are algorithms that do not support all-reduce.
inline constexpr std::array<std::string_view, 2> kNcclAlgorithms = {"ring", "tree"};
inline constexpr std::array<std::string_view, 3> kNcclProtocols = {"ll", "ll128", "simple"};

// Reads "NCCL_RING_LL128" or, with 16 channels, "NCCL_RING_LL128_16". Returns std::nullopt for
// other names.
std::optional<NcclSetting> nccl_setting_named(std::string_view name);

std::string name_of(const NcclSetting& setting);

// What competes in a sweep: a setting, or what NCCL chooses by itself ("NCCL").
using NcclArm = std::optional<NcclSetting>;

std::string nccl_arm_name(const NcclArm& arm);

// Returns std::nullopt for a name of neither.
std::optional<NcclArm> nccl_arm_named(std::string_view name);

struct NcclCell {
  NcclCollective collective = NcclCollective::kAllReduce;
  int world_size = 2;  // on one host
  // NCCL's size of a call: the larger of what a rank sends and what it receives.
  std::int64_t size_bytes = 0;
  Launch launch = Launch::kGraph;
  DataType data_type = DataType::kBfloat16;

  // NOLINTNEXTLINE(modernize-use-nullptr): the check mistakes the generated code for ours.
  auto operator<=>(const NcclCell&) const = default;
};

struct NcclMeasurement {
  NcclCell cell;
  NcclArm arm;
  Outcome outcome = Outcome::kOk;
  // Times of one call on the slowest rank, as in Measurement.
  double time_us = kUnknown;
  double low_us = kUnknown;
  double high_us = kUnknown;
  double min_us = kUnknown;
  std::int64_t samples = 0;
  // What NCCL says that it ran, such as "NCCL_RING_LL_8"; "" where it does not say.
  std::string ran = {};
  std::string reason = {};  // for any outcome except ok
};

}  // namespace assay::allreduce
