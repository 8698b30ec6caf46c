#include "simulate/alike_ranks.h"

#include <algorithm>

#include "core/interrupt.h"

namespace assay::simulate {
namespace {

using Replica = std::vector<std::unique_ptr<LaunchRank>>;

// It may cost more to find out that fewer replicas differ than is saved where they do not.
constexpr std::uint32_t kLeastReplicas = 8;

// Finds the period of a schedule.
class Period {
 public:
  Period(const model::LaunchSchedule& schedule, const Network& network)
      : schedule_(schedule), network_(network), ranks_(schedule.num_ranks()) {}

  // Returns how many ranks the others repeat; 0 if they do not.
  [[nodiscard]] std::uint32_t find() {
    for (std::uint32_t period = 1; period <= ranks_ / kLeastReplicas; ++period)
      if (ranks_ % period == 0 && has_plans(period) && has_work(period)) return period;
    return 0;
  }

 private:
  [[nodiscard]] bool has_plans(std::uint32_t period) const {
    for (std::uint32_t rank = period; rank < ranks_; ++rank)
      if (schedule_.rank(rank) != schedule_.rank(rank % period)) return false;
    return true;
  }

  [[nodiscard]] bool has_work(std::uint32_t period) {
    for (std::uint32_t like = 0; like < period; ++like) {
      for (std::uint32_t launch = 0; launch < schedule_.rank(like).launches.size(); ++launch) {
        list(like, launch, first_);
        for (std::uint32_t rank = like + period; rank < ranks_; rank += period) {
          list(rank, launch, other_);
          if (core::interrupted() || !same_work(like, rank)) return false;
        }
      }
    }
    return true;
  }

  void list(std::uint32_t rank, std::uint32_t launch, model::LaunchWork& work) const {
    work.clear();
    schedule_.list(rank, launch, work);
  }

  [[nodiscard]] bool same_work(std::uint32_t like, std::uint32_t rank) const {
    const auto same_peer = [&](const model::LanePeer& peer, const model::LanePeer& other) {
      return peer.way == other.way && (peer.rank + rank - like) % ranks_ == other.rank &&
             schedule_.same_node(like, peer.rank) == schedule_.same_node(rank, other.rank) &&
             &network_.between(like, peer.rank) == &network_.between(rank, other.rank);
    };
    return first_.end_op == other_.end_op && first_.lanes == other_.lanes &&
           first_.runs == other_.runs &&
           std::equal(first_.peers.begin(), first_.peers.end(), other_.peers.begin(),
                      other_.peers.end(), same_peer);
  }

  const model::LaunchSchedule& schedule_;
  const Network& network_;
  std::uint32_t ranks_;
  model::LaunchWork first_;
  model::LaunchWork other_;
};

// Runs the first replica. What it sends to the replica at a distance comes to it from the one at
// that distance on the other side.
class Circle {
 public:
  Circle(const model::LaunchSchedule& schedule, const Network& network, std::uint32_t period)
      : ranks_(schedule.num_ranks()),
        shortest_ns_(std::min(network.intra().shortest_ns(), network.inter().shortest_ns())) {
    for (std::uint32_t rank = 0; rank < period; ++rank)
      replica_.push_back(std::make_unique<LaunchRank>(schedule, network, rank));
  }

  // Returns no ranks where messages of different ranks came to one at the same time: their order is
  // that of the numbers of their senders, which is another one in other replicas.
  Replica run() && {
    while (!core::interrupted()) {
      std::int64_t now_ns = kForeverNs;
      for (const auto& rank : replica_)
        now_ns = std::min(now_ns, rank->next_ns());
      if (now_ns >= kForeverNs) break;
      for (std::uint32_t rank = 0; rank < replica_.size(); ++rank)
        while (replica_[rank]->next_ns() < now_ns + shortest_ns_)
          replica_[rank]->run(now_ns + shortest_ns_, sent_);
      if (!deliver()) return {};
    }
    return std::move(replica_);
  }

 private:
  bool deliver() {
    const auto period = static_cast<std::uint32_t>(replica_.size());
    for (SentMessage& message : sent_) {
      const std::uint32_t to = message.to % period;
      const std::uint32_t from = (message.arrival.source() + ranks_ - (message.to - to)) % ranks_;
      message.arrival.kind_and_source = pack(RankEventKind::kArrival, from);
      replica_[to]->receive(message.arrival);
    }
    sent_.clear();
    return std::none_of(replica_.begin(), replica_.end(),
                        [](const auto& rank) { return rank->had_rivals(); });
  }

  std::uint32_t ranks_;
  std::int64_t shortest_ns_;
  Replica replica_;
  std::vector<SentMessage> sent_;
};

}  // namespace

Replica run_alike(const model::LaunchSchedule& schedule, const Network& network) {
  const std::uint32_t period = Period(schedule, network).find();
  if (period == 0) return {};
  return Circle(schedule, network, period).run();
}

}  // namespace assay::simulate
