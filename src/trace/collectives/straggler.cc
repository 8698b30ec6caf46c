#include "trace/collectives/straggler.h"

#include <algorithm>

namespace assay::trace::collectives {

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
    const Collective& collective = study.collective(item.collective);
    for (std::uint32_t m = 0; m < collective.size; ++m) {
      const std::uint32_t position = collective.first + m;
      Straggler& row = result[study.matching.members[position].rank];
      row.total_wait_us += study.wait_us[position];
      ++row.collectives;
      if (m == item.last_member) ++row.arrived_last;
      if (row.rank->rank == item.earliest_rank) ++row.arrived_first;
    }
  }
  for (Straggler& row : result) {
    row.total_wait_us = study.recording.time.exact(row.total_wait_us);
    row.total_duration_us = study.recording.time.exact(row.total_duration_us);
  }
  std::stable_sort(result.begin(), result.end(), [](const Straggler& a, const Straggler& b) {
    return a.total_wait_us < b.total_wait_us;
  });
  return result;
}

}  // namespace assay::trace::collectives
