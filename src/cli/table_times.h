// Answers how long operators take from performance tables, for jobs that are made. No product of a
// step is faster than the rate at which rows of its table go on for long (sustained_rate.h).
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
  struct Bound {
    plan::OperatorPrice price;
    double sustained_flops = 0;  // per second; 0: nothing tells
  };

  core::Result<Bound> bind(const serving::OperatorUse& use);

  plan::Tables& tables_;
  std::map<std::string, Bound> bound_;  // by what tells uses apart
};

}  // namespace assay::cli
