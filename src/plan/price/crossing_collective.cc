#include "plan/price/crossing_collective.h"

#include <cmath>
#include <variant>

namespace assay::plan {
namespace {

using model::NcclFunction;

double rounds_of(NcclFunction function, std::int64_t nodes) {
  const double levels = std::ceil(std::log2(static_cast<double>(nodes)));
  return function == NcclFunction::kAllReduce ? 2 * levels : levels;
}

}  // namespace

double CrossingUse::between_ms(double bytes, const NodeLinks& links) const {
  constexpr double kMsPerSecond = 1e3;
  const double sent = model::bus_factor(function, static_cast<int>(nodes)) * bytes;
  const std::int64_t sharing = function == NcclFunction::kAllToAll ? 1 : gpus / nodes;
  const double of_gpu = sent / static_cast<double>(sharing);
  return kMsPerSecond *
         (rounds_of(function, nodes) * links.latency_s + of_gpu / links.bytes_per_s(gpus));
}

std::optional<CrossingUse> crossing_use(const serving::OperatorUse& use, const NodeLinks& links) {
  const model::PerfValue* key = serving::find_key(use, "num_gpus");
  const auto* gpus = key == nullptr ? nullptr : std::get_if<std::int64_t>(key);
  const std::optional<NcclFunction> function = model::nccl_function_of_table(use.op_name);
  if (gpus == nullptr || !function || *gpus <= links.gpus_per_node ||
      *gpus % links.gpus_per_node != 0 || !links.bytes_per_s || !(links.bytes_per_s(*gpus) > 0))
    return std::nullopt;
  CrossingUse crossing{
      .within = use, .function = *function, .gpus = *gpus, .nodes = *gpus / links.gpus_per_node};
  for (model::PerfField& field : crossing.within.key)
    if (field.column == "num_gpus") field.value = links.gpus_per_node;
  if (*function == NcclFunction::kAllToAll)
    crossing.within_share = 1 / static_cast<double>(crossing.nodes);
  return crossing;
}

}  // namespace assay::plan
