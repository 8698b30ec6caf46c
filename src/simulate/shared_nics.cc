#include "simulate/shared_nics.h"

#include <algorithm>
#include <cmath>

namespace assay::simulate {

void SharedNics::add(std::uint32_t group,
                     std::uint32_t rank,
                     std::int64_t start_ns,
                     std::int64_t end_ns,
                     const Shares& shares) {
  const Part part{group, start_ns, end_ns, shares};
  std::vector<Part>& others = parts_[rank];
  std::erase_if(others, [&](const Part& other) { return end_of(other) <= start_ns; });
  std::int64_t own_ns = 0;
  for (const Part& other : others) {
    const std::int64_t delay_ns = delay_of(other, part);
    if (delay_ns == 0) continue;
    own_ns += delay_ns;
    note(other.group, delay_ns);
  }
  own_ns_ = std::max(own_ns_, own_ns);
  others.push_back(part);
}

std::int64_t SharedNics::delay_of(const Part& before, const Part& part) const {
  const std::int64_t overlap_ns =
      std::min(end_of(before), part.end_ns) - std::max(before.start_ns, part.start_ns);
  if (overlap_ns <= 0) return 0;
  const auto alone = static_cast<double>(before.end_ns - before.start_ns);
  const double pace = alone / (alone + static_cast<double>(delay_ns_[before.group]));
  double wanted = 0;
  for (std::size_t nic = 0; nic < part.shares.size(); ++nic)
    wanted = std::max(wanted, before.shares[nic] * pace + part.shares[nic]);
  if (wanted <= 1) return 0;
  return std::llround(static_cast<double>(overlap_ns) * (wanted - 1));
}

void SharedNics::note(std::uint32_t group, std::int64_t delay_ns) {
  const auto known =
      std::find_if(met_.begin(), met_.end(), [&](const Met& met) { return met.group == group; });
  if (known == met_.end()) {
    met_.push_back({group, delay_ns});
  } else {
    known->delay_ns = std::max(known->delay_ns, delay_ns);
  }
}

void SharedNics::settle(std::uint32_t group) {
  delay_ns_[group] += own_ns_;
  for (const Met& met : met_)
    delay_ns_[met.group] += met.delay_ns;
  own_ns_ = 0;
  met_.clear();
}

}  // namespace assay::simulate
