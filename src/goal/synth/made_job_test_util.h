// Training jobs whose operators take simple times.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "goal/synth/training.h"
#include "model/serving/family.h"

namespace assay::goal {

inline constexpr double kPassNs = 1e6;

// A layer is one product, of which each pass takes as long; nothing else takes any time.
class EqualTimes final : public OperatorTimes {
 public:
  core::Result<LaunchTime> time(const serving::OperatorUse& use,
                                const LaunchAmounts& /*amounts*/) override {
    return LaunchTime{.ns = use.role == "qkv projection" ? kPassNs : 0, .source = "test"};
  }
};

inline MadeJob made_of(const TrainingPlan& plan) {
  EqualTimes times;
  auto made = make_training_job(serving::read_model("llama-3.1-8b").value(), plan, times);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::move(made).value();
}

}  // namespace assay::goal
