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

struct AnswerLine {
  std::string question;
  std::string answer;
};

struct Answer {
  std::vector<AnswerLine> lines;  // the first one is the headline
  Change headline;                // per step; all means are NaN when a side has no timeline
  std::string compared;           // "a: 2 ranks, 3 profiled steps; b: …"
  // True when the headline is Worse: its confidence interval excludes zero and reaches beyond the
  // tolerance.
  bool regression = false;
  Basis basis;                     // basis of the headline
  std::size_t baseline_steps = 0;  // over all runs; 0 when the basis is whole traces
  std::size_t test_steps = 0;
  std::vector<EnvironmentDifference> environment_differences;
};

Answer answer(const Sides& sides);

// Returns the sheet `Answer`, with the columns Question and Answer.
model::Table answer_table(const Answer& answer);

}  // namespace assay::trace
