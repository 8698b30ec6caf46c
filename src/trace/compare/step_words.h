// Sentences about the steps of a comparison: which are not steady, and which ranks keep it waiting.
#pragma once

#include <string>

#include "trace/compare/configuration.h"
#include "trace/compare/timeline_comparison.h"

namespace assay::trace {

// Tells the modes of one side's steps, and names the transient ones with their causes and what they
// do to its mean; empty when there are none.
std::string transients_in_words(const Configuration& side);

// Names the ranks of one side that wait for their host in the steady steps; empty for none.
std::string host_bound_in_words(const Configuration& side);

// Sets the means of all profiled steps beside the steady period; empty where a side has no steps.
std::string mean_in_words(const std::vector<TimelineChange>& changes,
                          Basis basis,
                          const Sides& sides);

// Says that one side alone has the wait behind its steps in its traces, since the other's runs have
// a single step; empty where the sides are alike.
std::string lacking_wait_in_words(const Sides& sides);

// Makes the sheet Steps: every step of every rank and run of both sides, with its state, its period
// and the launches behind it.
model::Table steps_of_sides(const Sides& sides);

}  // namespace assay::trace
