// The engines that a command of assay plan ranks, with what it knows of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/calibrated_pools.h"
#include "cli/plan_compat.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "core/result.h"
#include "model/serving/model.h"
#include "model/table.h"
#include "plan/engine.h"
#include "plan/search/serving_modes.h"

namespace assay::cli {

// Engines that are left out have a note each that says why; another says what they keep the cache
// in.
struct SearchedEngines {
  std::vector<plan::EngineSystems> systems = {};
  std::vector<CalibratedPools> pools = {};
  std::vector<std::string> notes = {};

  // Names the calibrations that the answer was made with.
  void add_calibrations(model::Book& book) const;

  // Their texts, or "none".
  [[nodiscard]] std::string calibrations_text() const;
};

// What is asked of the engines that serve a model. `served` names all but the engine.
struct EnginesAsked {
  const ServedModel& served;
  const std::vector<plan::Engine>& engines;
  std::string decode_system = {};          // "": as `served`
  std::filesystem::path calibration = {};  // empty: none
};

// Where several engines are asked for, those without tables or calibration are left out. Error:
// none is left; it says why.
core::Result<SearchedEngines> searched_engines(PlanInputs& inputs,
                                               const serving::Model& model,
                                               const EnginesAsked& asked);

// Error: the version of one engine, or the rules of a public planner, are asked of several.
core::Status check_several_engines(const std::vector<plan::Engine>& engines,
                                   const ServedModel& served,
                                   PlannerCompat compat);

}  // namespace assay::cli
