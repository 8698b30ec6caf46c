// What a trace is to be split by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::trace {

enum class SplitBy {
  kStep,   // a new trace for each step
  kPhase,  // for each phase of a serving engine: prefill, decode, …
  kRange,  // one for all that is chosen
};

// Steps from `first` to `last`, by number.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct SplitChoice {
  SplitBy by = SplitBy::kStep;
  std::vector<StepRange> steps = {};  // empty: all
  // The name of the annotations to split by instead of steps, of which * stands for any text; ""
  // for the steps. Steps are then the positions of the annotations, from 0 on.
  std::string annotation = {};
};

}  // namespace assay::trace
