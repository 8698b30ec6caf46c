#include "plan/price/scaled_collective.h"

#include <algorithm>
#include <cstdint>

#include "model/collective.h"

namespace assay::plan {
namespace {

using model::NcclFunction;
using serving::OperatorUse;

constexpr std::int64_t kGpus = 8;
// 7 peers less 3, over 3 peers less 1.
constexpr double kPeerGrowth = 2;
// A round that scatters and one that gathers.
constexpr double kRounds = 2;

// Root mean squares of the logarithms of measured over predicted times, of H100's and H200's public
// tables: tools/plan_scaled_collectives.py prints them.
double sigma_of(const OperatorUse& use, NcclFunction function) {
  if (use.table == "custom_allreduce_perf") return 0.24;
  if (function == NcclFunction::kAllToAll) return 0.25;
  return 0.14;
}

OperatorUse with_gpus(OperatorUse use, std::int64_t gpus) {
  for (model::PerfField& field : use.key) {
    if (field.column == "num_gpus") field.value = gpus;
  }
  return use;
}

double bus_factor_of(NcclFunction function, std::int64_t gpus) {
  return model::bus_factor(function, static_cast<int>(gpus));
}

}  // namespace

double ScaledCollective::ms(double message, double half_ms, double quarter_ms) const {
  const double shortest_ms =
      shortest_half_ms + kPeerGrowth * std::max(0.0, shortest_half_ms - shortest_quarter_ms);
  const double by_peers = half_ms + kPeerGrowth * std::max(0.0, half_ms - quarter_ms);
  const double by_bandwidth =
      kRounds * shortest_ms + bus_growth * message * longest_half_ms / longest_message;
  return std::max(half_ms, std::min(by_peers, by_bandwidth));
}

std::optional<ScaledUse> scaled_use(const OperatorUse& use) {
  const model::PerfValue* gpus = serving::find_key(use, "num_gpus");
  if (gpus == nullptr || *gpus != model::PerfValue(kGpus)) return std::nullopt;
  const std::optional<NcclFunction> function = model::nccl_function_of_table(use.op_name);
  if (!function) return std::nullopt;
  return ScaledUse{
      .half = with_gpus(use, kGpus / 2),
      .quarter = with_gpus(use, kGpus / 4),
      .bus_growth = bus_factor_of(*function, kGpus) / bus_factor_of(*function, kGpus / 2),
      .sigma = sigma_of(use, *function)};
}

}  // namespace assay::plan
