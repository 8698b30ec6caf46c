#include "goal/synth/held_share.h"

#include <algorithm>
#include <utility>

namespace assay::goal {

HeldShare::HeldShare(const std::vector<Holding>& holdings) {
  std::vector<std::pair<std::int64_t, double>> steps;
  for (const Holding& holding : holdings) {
    steps.emplace_back(holding.start_ns, holding.share);
    steps.emplace_back(holding.end_ns, -holding.share);
  }
  std::sort(steps.begin(), steps.end());
  for (const auto& [at_ns, share] : steps)
    changes_.push_back(
        {at_ns, (changes_.empty() ? 0 : changes_.back().share) + share, held_until(at_ns)});
}

double HeldShare::held_until(std::int64_t at_ns) const {
  const auto after =
      std::partition_point(changes_.begin(), changes_.end(),
                           [&](const Change& change) { return change.at_ns <= at_ns; });
  if (after == changes_.begin()) return 0;
  const Change& last = *std::prev(after);
  return last.held_ns + last.share * static_cast<double>(at_ns - last.at_ns);
}

double HeldShare::held_ns(std::int64_t start_ns, std::int64_t end_ns) const {
  return held_until(end_ns) - held_until(start_ns);
}

}  // namespace assay::goal
