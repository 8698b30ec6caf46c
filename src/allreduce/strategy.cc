#include "allreduce/strategy.h"

#include <algorithm>
#include <cstddef>

#include "core/check.h"
#include "model/collective.h"

namespace assay::allreduce {
namespace {

template <class Condition>
std::vector<Strategy> strategies_where(Condition holds) {
  std::vector<Strategy> found;
  for (const StrategySpec& spec : kStrategies)
    if (holds(spec)) found.push_back(spec.strategy);
  return found;
}

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

const std::vector<Strategy>& own_strategies() {
  static const std::vector<Strategy> own =
      strategies_where([](const StrategySpec& spec) { return spec.kernels == KernelsOf::kAssay; });
  return own;
}

const std::vector<Strategy>& strategies_instead() {
  static const std::vector<Strategy> instead = [] {
    std::vector<Strategy> found = strategies_where(
        [](const StrategySpec& spec) { return spec.turn_instead != kNeverInstead; });
    std::sort(found.begin(), found.end(), [](Strategy a, Strategy b) {
      return spec_of(a).turn_instead < spec_of(b).turn_instead;
    });
    return found;
  }();
  return instead;
}

double sent_part(Strategy strategy, int world_size) {
  if (spec_of(strategy).sends == Sends::kAll) return world_size - 1;
  return model::bus_factor(model::NcclFunction::kAllReduce, world_size);
}

double sending_us(Strategy strategy, int world_size, double bytes, double bytes_per_us) {
  return sent_part(strategy, world_size) * bytes / bytes_per_us;
}

double link_bytes_per_us(int sm_version) {
  switch (sm_version) {
    case 70:
      return 150e3;
    case 80:
      return 300e3;
    case 90:
      return 450e3;
    case 100:
    case 103:
      return 900e3;
    default:
      return 0;
  }
}

bool switches_may_sum(int sm_version) {
  constexpr int kFirst = 90;
  return sm_version >= kFirst;
}

double link_limit_us(Strategy strategy, int world_size, std::int64_t bytes, int sm_version) {
  const double rate = link_bytes_per_us(sm_version);
  if (rate == 0) return 0;
  const bool may_be_nccl = spec_of(strategy).kernels != KernelsOf::kAssay;
  const bool once = may_be_nccl && switches_may_sum(sm_version);
  const double part = once ? 1 : sent_part(strategy, world_size);
  return part * static_cast<double>(bytes) / rate;
}

std::optional<UsableRate> usable_rate(int world_size, int sm_version) {
  if (sm_version != 90) return std::nullopt;
  if (world_size == 2) return UsableRate{.bytes_per_us = 361e3, .is_measured = true};
  if (world_size == 4) return UsableRate{.bytes_per_us = 351e3, .is_measured = true};
  return UsableRate{.bytes_per_us = 370e3, .is_measured = false};
}

}  // namespace assay::allreduce
