// Answers how long operators take from performance tables, for jobs that are made.
#pragma once

#include <map>
#include <string>

#include "goal/synth/operator_times.h"
#include "plan/price/operator_price.h"
#include "plan/price/tables.h"

namespace assay::cli {

class TableTimes final : public goal::OperatorTimes {
 public:
  // The tables must outlive it.
  explicit TableTimes(plan::Tables& tables) : tables_(tables) {}

  core::Result<goal::LaunchTime> time(const serving::OperatorUse& use,
                                      const goal::LaunchAmounts& amounts) override;

 private:
  plan::Tables& tables_;
  std::map<std::string, plan::OperatorPrice> bound_;  // by what tells uses apart
};

}  // namespace assay::cli
