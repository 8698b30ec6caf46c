#include "allreduce/strategy.h"

#include <algorithm>
#include <cstddef>

#include "core/check.h"

namespace assay::allreduce {
namespace {

template <class Enum, std::size_t kCount>
std::optional<Enum> named(const std::array<std::string_view, kCount>& names,
                          std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

const StrategySpec& spec_of(Strategy strategy) {
  const auto* found =
      std::find_if(kStrategies.begin(), kStrategies.end(),
                   [&](const StrategySpec& spec) { return spec.strategy == strategy; });
  ASSAY_CHECK(found != kStrategies.end(), "a strategy without a line in kStrategies");
  return *found;
}

std::string_view name_of(Strategy strategy) {
  return spec_of(strategy).name;
}

std::string_view name_of(Fusion fusion) {
  return kFusionNames.at(static_cast<std::size_t>(fusion));
}

std::optional<Strategy> strategy_named(std::string_view name) {
  const auto* found = std::find_if(kStrategies.begin(), kStrategies.end(),
                                   [&](const StrategySpec& spec) { return spec.name == name; });
  if (found == kStrategies.end()) return std::nullopt;
  return found->strategy;
}

std::optional<Fusion> fusion_named(std::string_view name) {
  return named<Fusion>(kFusionNames, name);
}

std::optional<DataType> summed_type_named(std::string_view name) {
  const std::optional<DataType> type = model::data_type_named(name);
  const bool is_summed = type && static_cast<std::size_t>(*type) < kDataTypeNames.size();
  return is_summed ? type : std::nullopt;
}

}  // namespace assay::allreduce
