// plan estimate and plan search as a public planner answers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "plan/closed_form.h"
#include "plan/search/search.h"
#include "plan/search/serving_modes.h"
#include "plan/search/size.h"

namespace assay::cli {

enum class PlannerCompat : std::uint8_t { kNone, kAiconfigurator };

// Declares --compat, which has no use for the options named `without`.
void add_planner_compat(App& app,
                        PlannerCompat& compat,
                        std::initializer_list<const char*> without);

// Prints the answer. Error: there is no folder of public tables, or no row answers.
core::Result<Outcome> estimate_as_public(const ServedModel& served,
                                         const plan::Worker& worker,
                                         const plan::SteadyLoad& load,
                                         const SpeculationOptions& drafts,
                                         const Presentation& presentation);

struct PublicSearch {
  plan::ServingMode mode = plan::ServingMode::kBoth;
  // The fewest GPUs for this load, instead of the most tokens on the request's GPUs.
  std::optional<plan::TargetLoad> load = std::nullopt;
  std::size_t most = 5;
  SpeculationOptions drafts = {};
};

core::Result<Outcome> search_as_public(const ServedModel& served,
                                       const plan::SearchRequest& request,
                                       const PublicSearch& search,
                                       const Presentation& presentation);

}  // namespace assay::cli
