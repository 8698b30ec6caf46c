// How much longer groups take whose ranks send for several of them at once
// (model/group_schedule.h).
//
// Two groups of which a rank's NIC sends in shares a and b of the time want a + b of it while they
// overlap. What is above 1 has to wait: both end later by the overlap times a + b - 1, with all
// their ranks, since these wait for each other; then a group's share is as much smaller as it takes
// longer. Of several ranks and NICs the one counts that delays most; delays by several groups add
// up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/launch_schedule.h"

namespace assay::simulate {

class SharedNics {
 public:
  using Shares = std::array<double, model::kNics>;

  SharedNics(std::size_t ranks, std::size_t groups) : parts_(ranks), delay_ns_(groups, 0) {}

  // Adds the part of a group that a rank has a share in, by its times without other groups.
  void add(std::uint32_t group,
           std::uint32_t rank,
           std::int64_t start_ns,
           std::int64_t end_ns,
           const Shares& shares);

  // Delays the group, whose parts have all been added, and those that it met.
  void settle(std::uint32_t group);

  // How much later a group ends. Grows while groups are added that start before its end.
  [[nodiscard]] std::int64_t delay_ns(std::uint32_t group) const { return delay_ns_[group]; }

 private:
  struct Part {
    std::uint32_t group = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    Shares shares = {};
  };

  struct Met {
    std::uint32_t group = 0;
    std::int64_t delay_ns = 0;
  };

  [[nodiscard]] std::int64_t end_of(const Part& part) const {
    return part.end_ns + delay_ns_[part.group];
  }

  [[nodiscard]] std::int64_t delay_of(const Part& before, const Part& part) const;
  void note(std::uint32_t group, std::int64_t delay_ns);

  std::vector<std::vector<Part>> parts_;  // by rank: those that may not have ended
  std::vector<std::int64_t> delay_ns_;    // by group
  std::int64_t own_ns_ = 0;               // of the group that is being added
  std::vector<Met> met_;
};

}  // namespace assay::simulate
