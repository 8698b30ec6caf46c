// Which rank the others wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/collectives/study.h"

namespace assay::trace::collectives {

struct Straggler {
  const RankEvents* rank = nullptr;
  double total_wait_us = 0;
  std::int64_t arrived_last = 0;
  std::int64_t arrived_first = 0;
  std::int64_t collectives = 0;  // synchronising ones that it took part in
  double total_duration_us = 0;  // of all its communication kernels

  [[nodiscard]] double mean_wait_us() const {
    return collectives == 0 ? 0 : total_wait_us / static_cast<double>(collectives);
  }

  [[nodiscard]] double last_percent() const {
    return collectives == 0
               ? 0
               : 100 * static_cast<double>(arrived_last) / static_cast<double>(collectives);
  }
};

// All ranks, the one that waited least first: it is the one the others wait for.
std::vector<Straggler> stragglers(const Study& study);

}  // namespace assay::trace::collectives
