#include "simulate/shared_nics.h"

#include <algorithm>
#include <cmath>

namespace assay::simulate {
namespace {

// Ends that are closer than this are one, which rounding has parted.
constexpr double kRoundingNs = 1e-3;

void move_to(std::int64_t now_ns, double pace, double& reached_ns, std::int64_t& at_ns) {
  if (now_ns <= at_ns) return;
  reached_ns += static_cast<double>(now_ns - at_ns) * pace;
  at_ns = now_ns;
}

// Returns how long messages wait for those of other groups. The sum falls ever more slowly with the
// wait, so that Newton's steps from 0 on never go too far.
double wait_ns(const std::vector<model::NicUse>& uses) {
  constexpr int kMostSteps = 50;
  constexpr double kExact = 1e-12;
  double wait = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    double excess = -1;
    double slope = 0;
    for (const model::NicUse& use : uses) {
      if (use.share == 0) continue;
      const double part = use.share * use.turn_ns / (use.turn_ns + wait);
      excess += part;
      slope += part / (use.turn_ns + wait);
    }
    if (excess <= kExact) break;
    wait += excess / slope;
  }
  return wait;
}

}  // namespace

void SharedNics::begin(std::uint32_t group, std::int64_t now_ns, std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.rank > b.rank;
  });
  for (const Part& part : parts) {
    mark_all_on(part.rank);
    running_on_[part.rank].push_back({group, part.uses});
  }
  groups_[group] = {.parts = std::move(parts),
                    .reached_ns = static_cast<double>(now_ns),
                    .now_ns = now_ns,
                    .pace = 0,
                    .next_end_ns = 0};
  mark(group);
  settle(now_ns);
}

std::vector<SharedNics::Part> SharedNics::end_next(std::uint32_t group, std::int64_t now_ns) {
  Group& running = groups_.at(group);
  move_to(now_ns, running.pace, running.reached_ns, running.now_ns);
  const auto first_ns = static_cast<double>(running.parts.back().end_ns);
  const double until_ns = std::max(running.reached_ns, first_ns) + kRoundingNs;
  running.reached_ns = std::max(running.reached_ns, first_ns);
  std::vector<Part> ended;
  while (!running.parts.empty() && static_cast<double>(running.parts.back().end_ns) <= until_ns) {
    ended.push_back(running.parts.back());
    running.parts.pop_back();
    std::vector<Sender>& senders = running_on_[ended.back().rank];
    senders.erase(std::find_if(senders.begin(), senders.end(),
                               [&](const Sender& sender) { return sender.group == group; }));
    mark_all_on(ended.back().rank);
  }
  if (running.parts.empty()) {
    groups_.erase(group);
    std::erase(marked_, group);
  } else {
    running.pace = 0;
    mark(group);
  }
  settle(now_ns);
  return ended;
}

bool SharedNics::is_current(const NextEnd& end) const {
  const auto found = groups_.find(end.group);
  return found != groups_.end() && found->second.next_end_ns == end.time_ns;
}

void SharedNics::mark(std::uint32_t group) {
  if (std::find(marked_.begin(), marked_.end(), group) == marked_.end()) marked_.push_back(group);
}

void SharedNics::mark_all_on(std::uint32_t rank) {
  for (const Sender& sender : running_on_[rank])
    mark(sender.group);
}

// Finds the paces of the marked groups from `now_ns` on.
void SharedNics::settle(std::int64_t now_ns) {
  for (const std::uint32_t number : std::exchange(marked_, {})) {
    Group& group = groups_.at(number);
    const double pace = pace_of(number, group);
    if (pace == group.pace) continue;
    move_to(now_ns, group.pace, group.reached_ns, group.now_ns);
    group.pace = pace;
    const double left_ns = static_cast<double>(group.parts.back().end_ns) - group.reached_ns;
    group.next_end_ns =
        group.now_ns + static_cast<std::int64_t>(std::ceil(std::max(left_ns, 0.0) / pace));
    changes_.push_back({number, group.next_end_ns});
  }
}

double SharedNics::pace_of(std::uint32_t number, const Group& group) const {
  double pace = 1;
  for (const Part& part : group.parts) {
    for (std::size_t nic = 0; nic < part.uses.size(); ++nic) {
      const model::NicUse& own = part.uses[nic];
      if (own.share == 0) continue;
      uses_.assign(1, own);
      for (const Sender& sender : running_on_[part.rank]) {
        if (sender.group != number) uses_.push_back(sender.uses[nic]);
      }
      pace = std::min(pace, own.turn_ns / (own.turn_ns + wait_ns(uses_)));
    }
  }
  return pace;
}

}  // namespace assay::simulate
