#include "store/database/judged_power.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/counted.h"

namespace assay::store {
namespace {

constexpr std::size_t kFewestPoweredRows = 50;
constexpr double kLargestPowerError = 0.15;  // in the median

}  // namespace

std::string judge(PowerSample& sample) {
  if (sample.rows.size() < kFewestPoweredRows) {
    return fmt::format("{} power, and a model takes {}",
                       core::counted(sample.rows.size(), "row has its", "rows have their"),
                       kFewestPoweredRows);
  }
  sample.errors = power_errors(sample.rows, sample.limit_watts);
  sample.errors_of_other_types = power_errors_of_other_types(sample.rows, sample.limit_watts);
  if (sample.errors.median <= kLargestPowerError) return "";
  return fmt::format("a model is {:.0f} % off", sample.errors.median * 100);
}

JudgedPower::JudgedPower(const PowerSample& sample)
    : model_(sample.rows),
      limit_watts_(sample.limit_watts),
      error_(sample.errors.median),
      error_of_other_types_(
          sample.errors_of_other_types.value_or(PowerErrors{.median = 1}).median) {
  for (const PoweredRow& row : sample.rows)
    types_.insert(row.load.type);
}

std::optional<ModelledWatts> JudgedPower::at(const RowLoad& load) const {
  const double error = types_.contains(load.type) ? error_ : error_of_other_types_;
  if (error > kLargestPowerError) return std::nullopt;
  const double watts = model_.watts(load);
  return ModelledWatts{.watts = limit_watts_ > 0 ? std::min(limit_watts_, watts) : watts,
                       .error = error};
}

}  // namespace assay::store
