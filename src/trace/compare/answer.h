// Answers "Which setting is better, where, and is it real?" in words, for the dashboard and the
// terminal.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/configuration.h"
#include "trace/compare/environment.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

inline constexpr const char* kWhyQuestion = "Where does it come from?";
inline constexpr const char* kCauseQuestion = "What caused it?";
inline constexpr const char* kNextQuestion = "What next?";
inline constexpr const char* kMissingQuestion = "What is missing?";
inline constexpr const char* kSteadyQuestion = "Are the steps steady?";
inline constexpr const char* kPhasesQuestion = "And by phase?";
inline constexpr const char* kHostQuestion = "Does a rank wait for its host?";

struct AnswerLine {
  std::string question;
  std::string answer;
};

struct Answer {
  std::vector<AnswerLine> lines;  // the first one is the headline
  Change headline;                // per step; all means are NaN when a side has no timeline
  std::string compared;           // "a: 2 ranks, 3 profiled steps; b: …"
  // Whether the test is slower, be it in these runs alone: the confidence interval of the headline
  // excludes zero and reaches beyond the tolerance, or that of all steps does in repeated runs.
  bool regression = false;
  Basis basis;                     // basis of the headline
  std::size_t baseline_steps = 0;  // profiled, over all runs; 0 when the basis is whole traces
  std::size_t test_steps = 0;
  Change mean;                      // of all profiled steps; NaN like `headline`
  std::string baseline_transients;  // the steps that are not steady, in words; may be empty
  std::string test_transients;
  std::vector<EnvironmentDifference> environment_differences;
};

Answer answer(const Sides& sides);

// Returns the sheet `Answer`, with the columns Question and Answer.
model::Table answer_table(const Answer& answer);

}  // namespace assay::trace
