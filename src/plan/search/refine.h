// Which of the deployments that the closed form priced are simulated, so that the answer is that of
// simulating all of them.
//
// Along the batches of a worker the simulation differs from the closed form by a factor that
// changes slowly. A few batches of each worker that comes near the frontier are simulated first;
// those between them are expected where the closed form, times the factors beside them, puts them.
// Then those are simulated that may decide, until none is left: a batch that may keep the limits
// and be better than the best of its worker, and one that the frontier has no simulated neighbour
// for.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "plan/search/search.h"

namespace assay::plan {

// How much a deployment's throughput and time of a token may be off what the simulation finds: by
// the closed form alone, by it and the nearest simulated batch, and between two of them that are
// not far from each other.
inline constexpr double kClosedFormError = 0.25;
inline constexpr double kBesideError = 0.15;
inline constexpr double kBetweenError = 0.05;

// Gives the candidate as the simulation has it; std::nullopt where it cannot run.
using Simulate = std::function<std::optional<Candidate>(const Candidate& candidate)>;

// `priced`: by the closed form; those of one place follow each other, by growing batch. Returns the
// simulated ones in the same order.
std::vector<Candidate> refine(const std::vector<Candidate>& priced,
                              const SearchRequest& request,
                              const Simulate& simulate);

}  // namespace assay::plan
