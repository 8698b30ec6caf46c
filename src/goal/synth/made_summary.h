// Describes a made job to people: its size, what it computes, and how sure its times are.
#pragma once

#include <vector>

#include "goal/synth/assemble.h"
#include "goal/synth/operator_log.h"
#include "goal/synth/stage_program.h"
#include "goal/synth/training.h"
#include "model/table.h"

namespace assay::goal {

struct TrainingFacts {
  const std::vector<StagePlan>& stages;
  const AssembledJob& assembled;
};

// Tables "step", "stages" and "operators".
model::Book training_summary(const serving::Model& model,
                             const TrainingPlan& plan,
                             const TrainingFacts& facts,
                             const OperatorLog& log);

}  // namespace assay::goal
