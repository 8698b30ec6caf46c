#include "simulate/groups.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/interrupt.h"
#include "simulate/event_heap.h"
#include "simulate/shared_nics.h"

namespace assay::simulate {
namespace {

using model::GroupCost;
using model::LaunchGroup;

struct LaunchId {
  std::uint32_t rank = 0;
  std::uint32_t launch = 0;
};

// A launch that starts or ends, or members of an instance of a group that end unless it has become
// slower or faster since.
struct GroupEvent {
  std::int64_t time_ns = 0;
  LaunchId id = {};
  enum class Kind : std::uint8_t { kStart, kEnd, kMembersEnd } kind = Kind::kStart;
  std::uint32_t instance = 0;
};

bool before(const GroupEvent& a, const GroupEvent& b) {
  const auto key = [](const GroupEvent& event) {
    return std::tuple(event.time_ns, event.id.rank, event.id.launch, event.instance);
  };
  return key(a) < key(b);
}

class GroupRun {
 public:
  explicit GroupRun(const model::GroupSchedule& schedule)
      : schedule_(schedule),
        cell_(static_cast<std::uint32_t>(schedule.cell.size())),
        nics_(schedule.cell.size() * schedule.replicas) {
    for (const model::RankLaunches& plan : schedule.cell) {
      auto& next = next_.emplace_back(plan.launches.size());
      for (std::uint32_t i = 0; i < plan.launches.size(); ++i) {
        for (const std::uint32_t before : plan.launches[i].after)
          next[before].push_back(i);
      }
    }
    spans_.resize(schedule.groups.size());
    in_groups_.resize(cell_);
    for (const LaunchGroup& group : schedule.groups) {
      first_instance_.push_back(static_cast<std::uint32_t>(started_.size()));
      started_.resize(started_.size() + (group.all_replicas ? 1 : schedule.replicas), 0U);
    }
    for (std::uint32_t rank = 0; rank < cell_ * schedule.replicas; ++rank)
      add_rank(plan_of(rank));
  }

  void run() {
    for (std::uint64_t count = 1; !events_.empty(); ++count) {
      const GroupEvent event = events_.top();
      events_.pop();
      take(event);
      if (count % kEventsBetweenLooks == 0 && core::interrupted()) return;
    }
  }

  [[nodiscard]] core::Result<GroupOutcome> outcome() const {
    GroupOutcome outcome{.finish_ns = finish_ns_, .spans = spans_, .launches = done_};
    std::uint64_t launches = 0;
    for (std::uint32_t rank = 0; rank < finish_ns_.size(); ++rank) {
      launches += plan_of(rank).launches.size();
      outcome.finish_ns[rank] += static_cast<std::int64_t>(plan_of(rank).tail_ns);
    }
    if (done_ < launches) {
      return core::Error{
          "operations wait for each other in a circle when each of them waits for all its ranks: "
          "--collectives exact"};
    }
    outcome.share_in_groups = share_in_groups(outcome.finish_ns);
    return outcome;
  }

 private:
  void take(const GroupEvent& event) {
    switch (event.kind) {
      case GroupEvent::Kind::kStart:
        return join(event.id);
      case GroupEvent::Kind::kEnd:
        return end(event.id, event.time_ns);
      case GroupEvent::Kind::kMembersEnd:
        if (!nics_.is_current({event.instance, event.time_ns})) return;
        for (const SharedNics::Part& part : nics_.end_next(event.instance, event.time_ns))
          end({part.rank, part.launch}, event.time_ns);
        return follow_nics();
    }
  }

  void follow_nics() {
    for (const SharedNics::NextEnd& end : nics_.take_changes())
      events_.push(
          {.time_ns = end.time_ns, .kind = GroupEvent::Kind::kMembersEnd, .instance = end.group});
  }

  static constexpr std::uint64_t kEventsBetweenLooks = 1 << 20;

  [[nodiscard]] const model::RankLaunches& plan_of(std::uint32_t rank) const {
    return schedule_.cell[rank % cell_];
  }

  // Of the first replica; groups that overlap count once.
  [[nodiscard]] double share_in_groups(const std::vector<std::int64_t>& finish_ns) const {
    double in_groups_ns = 0;
    double all_ns = 0;
    for (std::uint32_t rank = 0; rank < cell_; ++rank) {
      std::vector<Span> spans = in_groups_[rank];
      std::sort(spans.begin(), spans.end(),
                [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
      std::int64_t until_ns = 0;
      for (const Span& span : spans) {
        in_groups_ns += static_cast<double>(std::max(span.end_ns, until_ns) -
                                            std::max(span.start_ns, until_ns));
        until_ns = std::max(until_ns, span.end_ns);
      }
      all_ns += static_cast<double>(finish_ns[rank]);
    }
    return all_ns > 0 ? in_groups_ns / all_ns : 0;
  }

  void add_rank(const model::RankLaunches& plan) {
    const auto rank = static_cast<std::uint32_t>(finish_ns_.size());
    finish_ns_.push_back(0);
    time_ns_.emplace_back(plan.launches.size(), 0);
    auto& waits = waits_for_.emplace_back();
    for (std::uint32_t i = 0; i < plan.launches.size(); ++i) {
      waits.push_back(static_cast<std::uint16_t>(plan.launches[i].after.size()));
      if (waits.back() == 0) start({rank, i});
    }
  }

  [[nodiscard]] const model::GroupPlace& place_of(LaunchId id) const {
    return schedule_.places[id.rank % cell_][id.launch];
  }

  [[nodiscard]] std::uint32_t instance_of(LaunchId id) const {
    const std::uint32_t group = place_of(id).group;
    return first_instance_[group] + (schedule_.groups[group].all_replicas ? 0 : id.rank / cell_);
  }

  // All that it waits for has ended.
  void start(LaunchId id) {
    const model::GroupPlace& place = place_of(id);
    const std::uint64_t length = plan_of(id.rank).launches[id.launch].start_ns;
    std::int64_t& time_ns = time_of(id);
    time_ns += static_cast<std::int64_t>(length - place.launch_ns);
    const bool computes = place.group == model::kNoGroup;
    events_.push({.time_ns = time_ns,
                  .id = id,
                  .kind = computes ? GroupEvent::Kind::kEnd : GroupEvent::Kind::kStart});
  }

  void join(LaunchId id) {
    const LaunchGroup& group = schedule_.groups[place_of(id).group];
    const std::size_t all = group.members.size() * (group.all_replicas ? schedule_.replicas : 1);
    const std::uint32_t instance = instance_of(id);
    if (++started_[instance] < all) return;
    if (group.all_replicas) {
      end_all(group);
    } else {
      end_one(group, id.rank / cell_);
    }
    if (!running_.empty()) nics_.begin(instance, time_of(id), std::exchange(running_, {}));
    follow_nics();
  }

  [[nodiscard]] LaunchId member(const LaunchGroup& group,
                                std::size_t i,
                                std::uint32_t replica) const {
    return {replica * cell_ + group.members[i].gpu, group.members[i].launch};
  }

  std::int64_t& time_of(LaunchId id) { return time_ns_[id.rank][id.launch]; }

  void end_one(const LaunchGroup& group, std::uint32_t replica) {
    const GroupCost& cost = schedule_.costs[group.cost];
    const std::size_t members = group.members.size();
    starts_.resize(members);
    for (std::size_t i = 0; i < members; ++i)
      starts_[i] = time_of(member(group, i, replica));
    const std::int64_t first = *std::min_element(starts_.begin(), starts_.end());
    const std::int64_t last = *std::max_element(starts_.begin(), starts_.end());
    for (std::size_t i = 0; i < members; ++i) {
      std::int64_t end_ns = first + cost.together_ns[i];
      for (std::size_t j = 0; j < members; ++j)
        end_ns = std::max(end_ns, starts_[j] + cost.own_ns[i * members + j]);
      plan_end(member(group, i, replica), end_ns, last);
    }
  }

  static std::int64_t together_ns(const GroupCost& cost, std::uint32_t replica, std::size_t i) {
    if (cost.each_ns.empty()) return cost.together_ns[i];
    return cost.each_ns[std::size_t{replica} * cost.members + i];
  }

  // The latest of start - slope r over the replicas before one, and over those behind it, gives the
  // latest of start + slope d over all others in two passes.
  void end_all(const LaunchGroup& group) {
    const GroupCost& cost = schedule_.costs[group.cost];
    const std::size_t members = group.members.size();
    const std::uint32_t replicas = schedule_.replicas;
    starts_.resize(members * replicas);
    far_.assign(members * replicas, kLongAgo);
    std::int64_t first = kForeverNs;
    std::int64_t last = kLongAgo;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      for (std::size_t j = 0; j < members; ++j) {
        const std::int64_t start = time_of(member(group, j, replica));
        starts_[replica * members + j] = start;
        first = std::min(first, start);
        last = std::max(last, start);
      }
    }
    for (std::size_t j = 0; j < members; ++j)
      spread(j, members, cost.slope_ns);
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      for (std::size_t i = 0; i < members; ++i) {
        std::int64_t end_ns = first + together_ns(cost, replica, i);
        for (std::size_t j = 0; j < members; ++j) {
          const std::size_t at = replica * members + j;
          end_ns = std::max({end_ns, starts_[at] + cost.own_ns[i * members + j],
                             far_[at] + cost.far_ns[i * members + j]});
        }
        plan_end(member(group, i, replica), end_ns, last);
      }
    }
  }

  void spread(std::size_t j, std::size_t members, double slope) {
    const std::uint32_t replicas = schedule_.replicas;
    const auto along = [&](std::uint64_t steps) -> std::int64_t {
      return std::llround(slope * static_cast<double>(steps));
    };
    std::int64_t latest = kLongAgo;
    for (std::uint32_t r = 0; r < replicas; ++r) {
      far_[r * members + j] = latest + along(r);
      latest = std::max(latest, starts_[r * members + j] - along(r));
    }
    latest = kLongAgo;
    for (std::uint32_t r = replicas; r-- > 0;) {
      std::int64_t& far = far_[r * members + j];
      far = std::max(far, latest + along(std::uint64_t{replicas} + r));
      latest = std::max(latest, starts_[r * members + j] - along(r));
    }
  }

  // The last start of its group is `now_ns`: what ended before that needed nobody who was late.
  void plan_end(LaunchId id, std::int64_t end_ns, std::int64_t now_ns) {
    if (end_ns <= now_ns) {
      events_.push({.time_ns = end_ns, .id = id, .kind = GroupEvent::Kind::kEnd});
      return;
    }
    const model::GroupPlace& place = place_of(id);
    const GroupCost& cost = schedule_.costs[schedule_.groups[place.group].cost];
    running_.push_back({id.rank, id.launch, end_ns, cost.sending[place.member]});
  }

  void end(LaunchId id, std::int64_t time_ns) {
    const std::uint32_t group = place_of(id).group;
    if (group == model::kNoGroup) return free_next(id, time_ns);
    if (schedule_.groups[group].all_replicas || id.rank < cell_)
      spans_[group].add(time_of(id), time_ns);
    if (id.rank < cell_) in_groups_[id.rank].push_back({time_of(id), time_ns});
    free_next(id, time_ns);
  }

  void free_next(LaunchId id, std::int64_t end_ns) {
    ++done_;
    finish_ns_[id.rank] = std::max(finish_ns_[id.rank], end_ns);
    for (const std::uint32_t next : next_[id.rank % cell_][id.launch]) {
      std::int64_t& time_ns = time_ns_[id.rank][next];
      time_ns = std::max(time_ns, end_ns);
      if (--waits_for_[id.rank][next] == 0) start({id.rank, next});
    }
  }

  static constexpr std::int64_t kLongAgo = model::kNotAfter;

  const model::GroupSchedule& schedule_;
  std::uint32_t cell_;
  std::vector<std::vector<std::vector<std::uint32_t>>> next_;  // by GPU of the cell, launch
  std::vector<std::vector<std::int64_t>>
      time_ns_;  // by rank, launch: when it may start, then starts
  std::vector<std::vector<std::uint16_t>> waits_for_;  // by rank, launch
  std::vector<std::uint32_t> first_instance_;          // by group: of its replicas, or of all
  std::vector<std::uint32_t> started_;                 // by instance
  std::vector<std::int64_t> finish_ns_;
  std::vector<Span> spans_;
  EventHeap<GroupEvent> events_;
  SharedNics nics_;
  std::vector<SharedNics::Part> running_;  // of the group whose ends are planned
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> far_;
  std::uint64_t done_ = 0;
  std::vector<std::vector<Span>> in_groups_;  // of the first replica's ranks
};

}  // namespace

core::Result<GroupOutcome> simulate_groups(const model::GroupSchedule& schedule) {
  GroupRun run(schedule);
  run.run();
  ASSAY_TRY(core::check_interrupt());
  return run.outcome();
}

}  // namespace assay::simulate
