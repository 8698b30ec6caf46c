#include "plan/search/least_count.h"

#include <algorithm>

namespace assay::plan {

std::optional<std::int64_t> least_count(std::int64_t guess,
                                        std::int64_t most,
                                        const std::function<bool(std::int64_t count)>& is_enough) {
  if (most < 1) return std::nullopt;
  std::int64_t too_few = 0;
  std::int64_t enough = most + 1;
  std::int64_t at = std::clamp<std::int64_t>(guess, 1, most);
  for (std::int64_t stride = 1; too_few + 1 < enough; stride *= 2) {
    const bool holds = is_enough(at);
    (holds ? enough : too_few) = at;
    // Away from the guess until both sides are known, then by halves.
    if (too_few == 0 && enough <= most) {
      at = std::max<std::int64_t>(1, enough - stride);
    } else if (enough > most) {
      if (at == most) return std::nullopt;
      at = std::min(most, too_few + stride);
    } else {
      at = too_few + (enough - too_few) / 2;
    }
  }
  return enough > most ? std::nullopt : std::optional(enough);
}

}  // namespace assay::plan
