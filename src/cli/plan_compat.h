// plan estimate and plan search as a public planner answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "plan/closed_form.h"
#include "plan/search/search.h"

namespace assay::cli {

enum class PlannerCompat : std::uint8_t { kNone, kAiconfigurator };

// Declares --compat.
Option* add_planner_compat(App& app, PlannerCompat& compat);

// Prints the answer. Error: there is no folder of public tables, or no row answers.
core::Result<Outcome> estimate_as_public(const ServedModel& served,
                                         const plan::Worker& worker,
                                         const plan::SteadyLoad& load,
                                         const Presentation& presentation);

// `requests_per_s`: the fewest GPUs for so many, instead of the most tokens on the request's GPUs.
core::Result<Outcome> search_as_public(const ServedModel& served,
                                       const plan::SearchRequest& request,
                                       std::optional<double> requests_per_s,
                                       std::size_t most,
                                       const Presentation& presentation);

}  // namespace assay::cli
