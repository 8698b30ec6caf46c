// The runs of a served model by what they do: prefill, decode or both, and by batch size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {

inline constexpr const char* kInferenceStepsSheet = "inference_steps";

// Means of one side, in milliseconds; NaN where nothing is known.
struct PhaseParts {
  double compute_ms = kNaN;
  double exposed_comm_ms = kNaN;
  double idle_ms = kNaN;
};

struct PhaseChange {
  std::string phase;                                    // "decode"
  std::optional<std::int64_t> requests = std::nullopt;  // the batch size; std::nullopt: all of them
  std::size_t baseline_steps = 0;                       // over all runs
  std::size_t test_steps = 0;
  Change time_ms;  // of a step, mean over ranks
  PhaseParts baseline;
  PhaseParts test;
};

// Returns a row for each phase that either side has and, where a phase has several batch sizes, one
// for each of those. Empty where no step of either side carries a phase. The verdicts are judged
// together.
std::vector<PhaseChange> compare_phases(const Sides& sides);

// Tells the time of each phase on both sides; "" for none.
std::string phases_in_words(const std::vector<PhaseChange>& changes, const Sides& sides);

// Makes the sheet Phases.
model::Table phases_table(const std::vector<PhaseChange>& changes, const Sides& sides);

}  // namespace assay::trace
