// A job whose operations are costs: launches that exchange data are groups, and a group's cost is a
// function of when its ranks start. Data-parallel replicas are a rule: every replica has the
// launches of the cell, and a group is either in each replica or one of all replicas.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/launch_schedule.h"

namespace assay::model {

inline constexpr std::int64_t kNotAfter = std::numeric_limits<std::int64_t>::min() / 4;

// How a group uses a NIC when it is alone.
struct NicUse {
  double share = 0;  // of the time in which the NIC sends
  // A message's turn, from when it is ready to send until the one that it lets be sent is ready, if
  // as many are on their way at any time as are at the most.
  double turn_ns = 0;
};

// When the members of a group end, from when they start (after their gap). Member i of replica r
// ends at the latest of
//
//   together[i] after the first start of all members,
//   own[i][j] after the start of member j of its own replica,
//   far[i][j] + slope d after the start of member j of the replica d before it, in a circle.
//
// Other groups are not in these ends. `sending` has how each NIC of member i sends until
// together[i].
struct GroupCost {
  std::uint32_t members = 0;              // of one replica
  std::vector<std::int64_t> together_ns;  // [i]; over replicas the mean
  // together[i] of each replica, [replica * members + i]; empty where replicas are alike.
  std::vector<std::int64_t> each_ns = {};
  std::vector<std::int64_t> own_ns;  // [i * members + j]; kNotAfter: i does not wait for j
  std::vector<std::int64_t> far_ns;  // the same; empty for a group within a replica
  double slope_ns = 0;
  std::vector<std::array<NicUse, kNics>> sending = {};  // [i]
};

struct GroupMember {
  std::uint32_t gpu = 0;
  std::uint32_t launch = 0;
};

struct LaunchGroup {
  std::uint32_t cost = 0;     // GroupSchedule::costs
  bool all_replicas = false;  // one group of all replicas
  std::vector<GroupMember> members;
};

inline constexpr std::uint32_t kNoGroup = 0xFFFFFFFF;

struct GroupPlace {
  std::uint32_t group = kNoGroup;  // kNoGroup: a computation
  std::uint32_t member = 0;
  std::uint64_t launch_ns = 0;  // the part of the launch's start that belongs to the group's cost
};

struct GroupSchedule {
  std::uint32_t replicas = 1;
  std::vector<RankLaunches> cell;               // by GPU of the cell
  std::vector<std::vector<GroupPlace>> places;  // by GPU, launch
  std::vector<LaunchGroup> groups;
  std::vector<GroupCost> costs;
};

}  // namespace assay::model
