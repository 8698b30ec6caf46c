// A job's file as groups with costs (model/group_schedule.h), learned from the groups' own graphs.
//
// Each kind of group is simulated alone: with all ranks starting together, and with each rank of
// one replica starting so late that all others wait for it. A ring of many ranks is learned from
// two shorter ones with the same messages, since its times grow with each rank by the same amount;
// trees, rings with a root (chains) and others are simulated at their size, and all of their ranks
// are taken to wait for all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/result.h"
#include "goal/choose_algorithms.h"
#include "goal/job_file.h"
#include "goal/launch_source.h"
#include "model/group_schedule.h"
#include "model/warnings.h"

namespace assay::goal {

struct SimulatedRanks {
  std::vector<std::int64_t> finish_ns;  // by rank: the end of its last operation
  std::vector<std::array<model::NicWork, model::kNics>> nic_work;  // by rank, NIC
};

using SimulateLaunches = std::function<core::Result<SimulatedRanks>(const LaunchSource& schedule)>;

struct GroupJob {
  model::GroupSchedule schedule;
  std::vector<NewChoice> choices;  // of groups that grow, each kind of group counted once
  model::Warnings warnings;
  std::uint64_t extrapolated_groups = 0;  // kinds that were learned from shorter rings
  std::uint64_t simulations = 0;
};

// Fails when a group has several communicators that grow.
core::Result<GroupJob> make_group_job(const JobFile& file, const SimulateLaunches& simulate);

}  // namespace assay::goal
