// Who comes last to collectives, and for how long the others wait.
#include <algorithm>
#include <cmath>

#include "trace/collectives/study.h"

namespace assay::trace::collectives {

// The number of times is about normal. Half a time less makes it continuous.
bool Straggler::may_be_chance(std::size_t ranks) const {
  constexpr double kMostProbable = 0.05;
  const double beyond = static_cast<double>(arrived_last) - chance_last - 0.5;
  const double probability = std::erfc(beyond / std::sqrt(2 * chance_variance)) / 2;
  return static_cast<double>(ranks) * probability > kMostProbable;
}

std::vector<Straggler> stragglers(const Study& study) {
  std::vector<Straggler> result;
  for (const RankEvents& rank : study.recording.ranks) {
    Straggler row;
    row.rank = &rank;
    for (const Event& event : rank.events)
      row.total_duration_us += event.duration_us;
    result.push_back(row);
  }
  for (const Synchronised& item : study.synchronised) {
    if (study.lacks_ranks(item.collective)) continue;
    const Collective& collective = study.collective(item.collective);
    for (std::uint32_t m = 0; m < collective.size; ++m) {
      const std::uint32_t position = collective.first + m;
      Straggler& row = result[study.matching.members[position].rank];
      const double chance = collective.size > 1 ? 1.0 / collective.size : 0;
      row.total_wait_us += study.wait_us[position];
      row.chance_last += chance;
      row.chance_variance += chance * (1 - chance);
      ++row.collectives;
      if (m == item.last_member && (item.one_is_last || study.is_compat())) ++row.arrived_last;
      if (row.rank->rank == item.earliest_rank && (item.one_is_first || study.is_compat()))
        ++row.arrived_first;
    }
  }
  for (Straggler& row : result) {
    const bool is_known = row.collectives > 0 || study.is_compat();
    row.total_wait_us = is_known ? study.recording.time.exact(row.total_wait_us) : kUnknown;
    row.total_duration_us = study.recording.time.exact(row.total_duration_us);
  }
  std::stable_sort(result.begin(), result.end(), [](const Straggler& a, const Straggler& b) {
    const bool is_known = !std::isnan(a.total_wait_us);
    return is_known && (std::isnan(b.total_wait_us) || a.total_wait_us < b.total_wait_us);
  });
  return result;
}

}  // namespace assay::trace::collectives
