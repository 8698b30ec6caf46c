// The names and numbers of the all-reduce strategies, of the operations that may be fused after
// them, and of the data types.
//
// strategies/strategy_kernel.h says how to add a strategy. The names and numbers of public ones are
// TensorRT-LLM's (AllReduceStrategyType); our own start at 100.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/data_type.h"
#include "model/perf.h"

namespace assay::allreduce {

enum class Strategy : std::uint8_t {
  kNccl = 0,
  kAuto = 3,  // the table's choice for each message; it is measured but never chosen
  kOneshot = 4,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kTwoshotPush = 100,
};

// Whose kernels a strategy runs. Ours sum in float32 and in the order of the ranks, so that all
// ranks' results agree to the bit.
enum class KernelsOf : std::uint8_t { kAssay, kNccl, kChosen };

// A GPU sends a message whole to every other GPU, or its parts twice.
enum class Sends : std::uint8_t { kAll, kPartsTwice };

constexpr int kNeverInstead = 0;

struct StrategySpec {
  Strategy strategy;
  std::string_view name;
  bool is_public;  // TensorRT-LLM knows its number
  int rank;        // in a sensible table, larger messages never go back to a lower rank
  KernelsOf kernels;
  Sends sends;
  int turn_instead;     // AUTO tries them in this order where its choice cannot run
  std::string_view is;  // a description for help texts and legends

  [[nodiscard]] constexpr bool same_on_all_ranks() const { return kernels == KernelsOf::kAssay; }
};

// The strategies in the order in which tables and figures show them. NCCL takes its turn before
// TWOSHOT, whose tiles are small unless memory was reserved: on 4 H200 a message of 64 MiB then
// takes it 376 us, and NCCL 321.
inline constexpr std::array kStrategies = {
    StrategySpec{.strategy = Strategy::kOneshot,
                 .name = "ONESHOT",
                 .is_public = true,
                 .rank = 0,
                 .kernels = KernelsOf::kAssay,
                 .sends = Sends::kAll,
                 .turn_instead = 4,
                 .is = "push to all, sum everywhere"},
    StrategySpec{.strategy = Strategy::kTwoshotPush,
                 .name = "TWOSHOT_PUSH",
                 .is_public = false,
                 .rank = 1,
                 .kernels = KernelsOf::kAssay,
                 .sends = Sends::kPartsTwice,
                 .turn_instead = 1,
                 .is = "push parts, sum, push sums; no barrier"},
    StrategySpec{.strategy = Strategy::kTwoshot,
                 .name = "TWOSHOT",
                 .is_public = true,
                 .rank = 2,
                 .kernels = KernelsOf::kAssay,
                 .sends = Sends::kPartsTwice,
                 .turn_instead = 3,
                 .is = "reduce-scatter, all-gather; flags"},
    StrategySpec{.strategy = Strategy::kNcclSymmetric,
                 .name = "NCCL_SYMMETRIC",
                 .is_public = true,
                 .rank = 3,
                 .kernels = KernelsOf::kNccl,
                 .sends = Sends::kPartsTwice,
                 .turn_instead = kNeverInstead,
                 .is = "NCCL, symmetric windows"},
    StrategySpec{.strategy = Strategy::kNccl,
                 .name = "NCCL",
                 .is_public = true,
                 .rank = 4,
                 .kernels = KernelsOf::kNccl,
                 .sends = Sends::kPartsTwice,
                 .turn_instead = 2,
                 .is = "NCCL's choice"},
    StrategySpec{.strategy = Strategy::kAuto,
                 .name = "AUTO",
                 .is_public = true,
                 .rank = 5,
                 .kernels = KernelsOf::kChosen,
                 .sends = Sends::kPartsTwice,
                 .turn_instead = kNeverInstead,
                 .is = "what the loaded table says"},
};

// The numbers are positions on the tables' second axis, not those of TensorRT-LLM's enum
// AllReduceFusionOp.
enum class Fusion : std::uint8_t {
  kNone = 0,
  kResidualRmsNorm = 1,
  kResidualRmsNormQuantFp8 = 2,
  kResidualRmsNormQuantNvfp4 = 3,
};

inline constexpr std::array<std::string_view, 4> kFusionNames = {
    "NONE", "RESIDUAL_RMS_NORM", "RESIDUAL_RMS_NORM_QUANT_FP8", "RESIDUAL_RMS_NORM_QUANT_NVFP4"};

using model::bytes_of;
using model::DataType;
using model::kLaunchNames;
using model::Launch;
using model::launch_named;
using model::name_of;

// The types that can be summed, by their numbers in DataType and in assay/allreduce.h.
inline constexpr std::array<std::string_view, 3> kDataTypeNames = {"bfloat16", "float16",
                                                                   "float32"};

const StrategySpec& spec_of(Strategy strategy);
std::string_view name_of(Strategy strategy);
std::string_view name_of(Fusion fusion);

// These accept the exact names above. Summed data types also have short names (bf16, half, float).
std::optional<Strategy> strategy_named(std::string_view name);
std::optional<Fusion> fusion_named(std::string_view name);
std::optional<DataType> summed_type_named(std::string_view name);

// Return strategies in the order of kStrategies: those whose kernels are ours; in the order of
// their turns: those that AUTO tries where its choice cannot run.
const std::vector<Strategy>& own_strategies();
const std::vector<Strategy>& strategies_instead();

// Returns which part of its message a GPU sends: (N-1) with Sends::kAll, otherwise 2 (N-1)/N.
double sent_part(Strategy strategy, int world_size);

// Returns the time in microseconds in which a GPU sends that at a rate.
double sending_us(Strategy strategy, int world_size, double bytes, double bytes_per_us);

inline constexpr double kBytesPerUsOfGbps = 1e3;  // of a GB/s

// Returns the rate, in bytes a microsecond, of all NVLinks of a GPU in one direction: 150 GB/s with
// SM 70, 300 with 80, 450 with 90, 900 with 100 and 103; 0 for other SMs, whose GPUs may have none.
double link_bytes_per_us(int sm_version);

// Returns whether the links' switches can sum what they carry, which NCCL uses (NVLS): from SM 90.
bool switches_may_sum(int sm_version);

// Returns the shortest time in microseconds in which the links of such GPUs can send it; 0 where
// they are not known. It is sent_part() at link_bytes_per_us(), but NCCL sends a message once where
// switches may sum.
double link_limit_us(Strategy strategy, int world_size, std::int64_t bytes, int sm_version);

// The links carry data at this rate.
struct UsableRate {
  double bytes_per_us;
  bool is_measured;
};

// Returns what kernels carry that do nothing but send to all other GPUs, measured on 2 and 4 H200
// by `assay-worker allreduce --measure links`; for other numbers of GPUs about what NCCL's
// developers say; for other SMs than 90 nothing.
std::optional<UsableRate> usable_rate(int world_size, int sm_version);

}  // namespace assay::allreduce
