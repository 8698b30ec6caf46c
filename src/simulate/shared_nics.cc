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

}  // namespace

void SharedNics::begin(std::uint32_t group, std::int64_t now_ns, std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.rank > b.rank;
  });
  for (const Part& part : parts)
    add_sender(group, part);
  Group& begun = groups_[group];
  begun.parts = std::move(parts);
  begun.reached_ns = static_cast<double>(now_ns);
  begun.now_ns = now_ns;
  settle(now_ns);
}

std::vector<SharedNics::Part> SharedNics::end_next(std::uint32_t group, std::int64_t now_ns) {
  Group& running = groups_.at(group);
  move_to(now_ns, running.pace, running.reached_ns, running.now_ns);
  const auto first_ns = static_cast<double>(running.parts.back().end_ns);
  const double until_ns = std::max(running.reached_ns, first_ns) + kRoundingNs;
  running.reached_ns = std::max(running.reached_ns, first_ns);
  running.pace = 0;
  std::vector<Part> ended;
  while (!running.parts.empty() && static_cast<double>(running.parts.back().end_ns) <= until_ns) {
    ended.push_back(running.parts.back());
    running.parts.pop_back();
    remove_sender(group, ended.back().rank);
  }
  const bool has_ended = running.parts.empty();
  if (has_ended) groups_.erase(group);
  settle(now_ns);
  if (!has_ended) follow_ranks(group, now_ns);
  return ended;
}

bool SharedNics::is_current(const NextEnd& end) const {
  const auto found = groups_.find(end.group);
  return found != groups_.end() && found->second.next_end_ns == end.time_ns;
}

// Returns how long messages wait for those of other groups. The sum falls ever more slowly with the
// wait, so that Newton's steps from 0 on never go too far.
double SharedNics::wait_ns(const std::vector<Sender>& senders, std::size_t nic) {
  constexpr int kMostSteps = 50;
  constexpr double kExact = 1e-12;
  double wait = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    double excess = -1;
    double slope = 0;
    for (const Sender& sender : senders) {
      const model::NicUse& use = sender.uses[nic];
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

void SharedNics::remove_pace(Group& group, double pace) {
  const auto found = group.paces.find(pace);
  if (--found->second == 0) group.paces.erase(found);
}

void SharedNics::add_sender(std::uint32_t group, const Part& part) {
  std::vector<Sender>& senders = running_on_[part.rank];
  changed_ranks_.push_back(part.rank);
  if (!senders.empty() && senders.back().group == group) {
    ++senders.back().launches;
    return;
  }
  senders.push_back({.group = group, .launches = 1, .uses = part.uses, .pace = 0});
  ++groups_[group].paces[0];
}

void SharedNics::remove_sender(std::uint32_t group, std::uint32_t rank) {
  std::vector<Sender>& senders = running_on_[rank];
  const auto found = std::find_if(senders.begin(), senders.end(),
                                  [&](const Sender& sender) { return sender.group == group; });
  changed_ranks_.push_back(rank);
  if (--found->launches > 0) return;
  remove_pace(groups_.at(group), found->pace);
  senders.erase(found);
}

void SharedNics::find_paces(std::uint32_t rank) {
  std::vector<Sender>& senders = running_on_[rank];
  std::array<double, model::kNics> waits_ns{};
  for (std::size_t nic = 0; nic < model::kNics; ++nic)
    waits_ns[nic] = wait_ns(senders, nic);
  for (Sender& sender : senders) {
    double pace = 1;
    for (std::size_t nic = 0; nic < model::kNics; ++nic) {
      const model::NicUse& use = sender.uses[nic];
      if (use.share > 0) pace = std::min(pace, use.turn_ns / (use.turn_ns + waits_ns[nic]));
    }
    if (pace == sender.pace) continue;
    Group& group = groups_.at(sender.group);
    remove_pace(group, sender.pace);
    ++group.paces[pace];
    sender.pace = pace;
  }
}

// Finds the paces from `now_ns` on of the groups on the ranks whose senders have changed.
void SharedNics::settle(std::int64_t now_ns) {
  const std::vector<std::uint32_t> ranks = std::exchange(changed_ranks_, {});
  for (const std::uint32_t rank : ranks)
    find_paces(rank);
  for (const std::uint32_t rank : ranks) {
    for (const Sender& sender : running_on_[rank])
      follow_ranks(sender.group, now_ns);
  }
}

// Lets a group get on as its slowest rank does.
void SharedNics::follow_ranks(std::uint32_t number, std::int64_t now_ns) {
  Group& group = groups_.at(number);
  const double pace = group.paces.begin()->first;
  if (pace == group.pace) return;
  move_to(now_ns, group.pace, group.reached_ns, group.now_ns);
  group.pace = pace;
  const double left_ns = static_cast<double>(group.parts.back().end_ns) - group.reached_ns;
  group.next_end_ns =
      group.now_ns + static_cast<std::int64_t>(std::ceil(std::max(left_ns, 0.0) / pace));
  changes_.push_back({number, group.next_end_ns});
}

}  // namespace assay::simulate
