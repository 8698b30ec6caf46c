// How much longer groups take whose ranks send for several of them at once
// (model/group_schedule.h).
//
// When a group is alone, a NIC sends its messages in a share a of the time, and each of them has
// its turn every t. Where the shares of the groups that run on a rank exceed all of the time,
// messages wait for those of other groups, each of them as long, by w, as a queue has it: a group
// then gets on t / (t + w) times as fast, and w is what makes the sum of all a t / (t + w) 1. So
// groups with many messages on their way hold back those that wait for one before they send the
// next. A group gets on as its slowest rank and NIC does, since its ranks wait for each other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/group_schedule.h"

namespace assay::simulate {

class SharedNics {
 public:
  using Uses = std::array<model::NicUse, model::kNics>;

  // A launch in a group. `end_ns` is when it ends if nothing slows the group from now on.
  struct Part {
    std::uint32_t rank = 0;
    std::uint32_t launch = 0;
    std::int64_t end_ns = 0;
    Uses uses = {};
  };

  // When the first part of a group ends that has not ended, as things stand.
  struct NextEnd {
    std::uint32_t group = 0;
    std::int64_t time_ns = 0;
  };

  explicit SharedNics(std::size_t ranks) : running_on_(ranks) {}

  // Begins a group, of whose parts each ends after `now_ns`. There must be one.
  void begin(std::uint32_t group, std::int64_t now_ns, std::vector<Part> parts);

  // Ends the parts of a group whose next end is `now_ns`, and returns them.
  std::vector<Part> end_next(std::uint32_t group, std::int64_t now_ns);

  // Returns whether that is a group's next end still.
  [[nodiscard]] bool is_current(const NextEnd& end) const;

  // Returns the next ends that have changed since the last call.
  std::vector<NextEnd> take_changes() { return std::exchange(changes_, {}); }

 private:
  struct Group {
    std::vector<Part> parts;                // that have not ended; the first to end is the last
    std::map<double, std::uint32_t> paces;  // how many of its ranks could get on so fast
    double reached_ns = 0;                  // of the time that its ends are counted in
    std::int64_t now_ns = 0;                // when it had reached that
    double pace = 0;                        // 1: as when it is alone; 0: not known yet
    std::int64_t next_end_ns = 0;
  };

  // A group on a rank, whose launches there have the same uses.
  struct Sender {
    std::uint32_t group = 0;
    std::uint32_t launches = 0;
    Uses uses = {};
    double pace = 0;  // as Group::pace
  };

  static double wait_ns(const std::vector<Sender>& senders, std::size_t nic);
  static void remove_pace(Group& group, double pace);

  void add_sender(std::uint32_t group, const Part& part);
  void remove_sender(std::uint32_t group, std::uint32_t rank);
  void find_paces(std::uint32_t rank);
  void settle(std::int64_t now_ns);
  void follow_ranks(std::uint32_t number, std::int64_t now_ns);

  std::unordered_map<std::uint32_t, Group> groups_;  // that run
  std::vector<std::vector<Sender>> running_on_;      // by rank
  std::vector<std::uint32_t> changed_ranks_;         // whose senders have changed
  std::vector<NextEnd> changes_;
};

}  // namespace assay::simulate
