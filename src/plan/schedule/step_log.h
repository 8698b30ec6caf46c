// The steps that instances of an engine ran, those that are alike as their mean: a few hundred for
// a run of any length, whose prices tell what all of it took.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "plan/step.h"

namespace assay::plan {

// Steps of one group that are alike.
struct AlikeSteps {
  double steps = 0;
  Chunks chunks = {};  // without requests where the steps have no prompts
  std::int64_t finished_prompts = 0;
  std::int64_t decodes = 0;
  double decode_cached = 0;
  double group_tokens = 0;

  // Refers to this.
  [[nodiscard]] Step step() const;
};

class StepLog {
 public:
  // So many steps in a row, of which this is the mean.
  void add(const Step& step, std::int64_t steps);

  // In the order of their size.
  [[nodiscard]] std::vector<AlikeSteps> alike() const;

 private:
  // Alike are steps that differ by less than an eighth in requests that decode and in tokens of
  // prompts, of as many prompts of which as many end.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  struct Sums {
    double steps = 0;
    double new_tokens = 0;  // of all prompts
    double cached_tokens = 0;
    double decodes = 0;
    double decode_cached = 0;
    double group_tokens = 0;
  };

  std::map<Key, Sums> sums_;
};

}  // namespace assay::plan
