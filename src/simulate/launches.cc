#include "simulate/launches.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/interrupt.h"
#include "simulate/alike_ranks.h"
#include "simulate/crew.h"

namespace assay::simulate {
namespace {

// The ranks of a node. It runs alone up to a time that follows from how far the nodes have come
// from which its running launches receive. A message for a launch that has not started waits for
// it, so that it may come at any time before.
struct Node {
  std::vector<std::uint32_t> members;
  std::vector<std::unique_ptr<LaunchRank>> ranks;
  std::vector<std::int64_t> next_ns;  // by member
  unsigned share = 0;                 // the thread that runs it
  // All events before this time have been handled, and their messages were delivered.
  std::atomic<std::int64_t> done_ns = 0;
  std::mutex mutex;
  std::vector<SentMessage> mail;  // from other threads
};

// What one thread has for itself.
struct Share {
  std::vector<std::uint32_t> nodes;
  std::vector<SentMessage> sent;
};

struct Place {
  std::uint32_t node = 0;
  std::uint32_t member = 0;
};

class Run {
 public:
  Run(const model::LaunchSchedule& schedule, const Network& network, unsigned threads)
      : schedule_(schedule),
        network_(network),
        near_ns_(network.intra().shortest_ns()),
        far_ns_(network.inter().shortest_ns()),
        places_(schedule.num_ranks()),
        nodes_(make_nodes()),
        crew_(static_cast<unsigned>(
            std::max<std::size_t>(1, std::min<std::size_t>(threads, nodes_.size())))),
        shares_(crew_.size()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i]->share = static_cast<unsigned>(i * shares_.size() / nodes_.size());
      shares_[nodes_[i]->share].nodes.push_back(static_cast<std::uint32_t>(i));
    }
  }

  void run() {
    crew_.run([this](unsigned number) { run_share(number); });
  }

  [[nodiscard]] core::Result<LaunchOutcome> outcome() const;

 private:
  std::vector<std::unique_ptr<Node>> make_nodes() {
    std::vector<std::unique_ptr<Node>> nodes;
    const std::vector<std::uint32_t>& node_of_rank = network_.node_of_rank();
    std::vector<std::uint32_t> number(schedule_.num_ranks(), kNone);  // by node of the network
    for (std::uint32_t rank = 0; rank < schedule_.num_ranks(); ++rank) {
      const std::uint32_t name = node_of_rank.empty() ? rank : node_of_rank[rank];
      if (name >= number.size()) number.resize(name + 1, kNone);
      if (number[name] == kNone) {
        number[name] = static_cast<std::uint32_t>(nodes.size());
        nodes.push_back(std::make_unique<Node>());
      }
      Node& node = *nodes[number[name]];
      places_[rank] = {number[name], static_cast<std::uint32_t>(node.members.size())};
      node.members.push_back(rank);
    }
    return nodes;
  }

  // A round lets every node run as far as it can.
  void run_share(unsigned number) {
    Share& share = shares_[number];
    crew_.guard(number, [&] { make_ranks(share); });
    while (const auto now_ns = crew_.meet(number, [&] { return earliest(share); })) {
      for (const std::uint32_t node : share.nodes)
        raise(*nodes_[node], *now_ns);
      crew_.guard(number, [&] {
        for (const std::uint32_t node : share.nodes)
          advance(share, *nodes_[node]);
      });
    }
  }

  static void raise(Node& node, std::int64_t now_ns) {
    if (node.done_ns.load(std::memory_order_relaxed) < now_ns) node.done_ns.store(now_ns);
  }

  void make_ranks(Share& share) {
    for (const std::uint32_t number : share.nodes) {
      Node& node = *nodes_[number];
      for (const std::uint32_t rank : node.members) {
        node.ranks.push_back(std::make_unique<LaunchRank>(schedule_, network_, rank));
        node.next_ns.push_back(node.ranks.back()->next_ns());
      }
    }
  }

  std::int64_t earliest(Share& share) {
    std::int64_t earliest_ns = kForeverNs;
    for (const std::uint32_t number : share.nodes) {
      open_mail(*nodes_[number]);
      for (const std::int64_t next : nodes_[number]->next_ns)
        earliest_ns = std::min(earliest_ns, next);
    }
    return earliest_ns;
  }

  static void deliver(Node& node, std::uint32_t member, const RankEvent& arrival) {
    node.ranks[member]->receive(arrival);
    node.next_ns[member] = std::min(node.next_ns[member], arrival.time_ns);
  }

  void open_mail(Node& node) {
    if (shares_.size() == 1) return;
    const std::lock_guard lock(node.mutex);
    for (const SentMessage& message : node.mail)
      deliver(node, places_[message.to].member, message.arrival);
    node.mail.clear();
  }

  // Returns the time before which no message can come that matters.
  [[nodiscard]] std::int64_t bound_of(const Node& node) const {
    std::int64_t bound_ns = kForeverNs;
    for (const auto& rank : node.ranks) {
      rank->for_each_receiving(
          [&](std::int64_t start_ns, const std::vector<std::uint32_t>& sources) {
            for (const std::uint32_t source : sources) {
              const Node& from = *nodes_[places_[source].node];
              const std::int64_t done_ns = from.done_ns.load(std::memory_order_acquire);
              bound_ns = std::min(bound_ns, std::max(start_ns, done_ns + far_ns_));
            }
          });
    }
    return bound_ns;
  }

  static std::uint32_t changes_of(const Node& node) {
    std::uint32_t changes = 0;
    for (const auto& rank : node.ranks)
      changes += rank->changes();
    return changes;
  }

  void advance(Share& share, Node& node) {
    std::int64_t end_ns = bound_of(node);
    std::uint32_t changes = changes_of(node);
    // What came from a node that is as far as the bound says lies in the mail by now.
    open_mail(node);
    for (;;) {
      const std::int64_t now_ns = *std::min_element(node.next_ns.begin(), node.next_ns.end());
      if (now_ns >= end_ns) break;
      step(share, node, node.ranks.size() == 1 ? end_ns : std::min(end_ns, now_ns + near_ns_));
      if (changes_of(node) == changes) continue;
      changes = changes_of(node);
      end_ns = bound_of(node);
      open_mail(node);
    }
    node.done_ns.store(std::max(end_ns, node.done_ns.load(std::memory_order_relaxed)),
                       std::memory_order_release);
  }

  void step(Share& share, Node& node, std::int64_t end_ns) {
    for (std::size_t i = 0; i < node.ranks.size(); ++i) {
      if (node.next_ns[i] >= end_ns) continue;
      share.sent.clear();
      node.ranks[i]->run(end_ns, share.sent);
      node.next_ns[i] = node.ranks[i]->next_ns();
      for (const SentMessage& message : share.sent) {
        const Place place = places_[message.to];
        Node& to = *nodes_[place.node];
        if (to.share == node.share) {
          deliver(to, place.member, message.arrival);
        } else {
          const std::lock_guard lock(to.mutex);
          to.mail.push_back(message);
        }
      }
    }
  }

  const model::LaunchSchedule& schedule_;
  const Network& network_;
  std::int64_t near_ns_;       // the shortest time of a message within a node
  std::int64_t far_ns_;        // and between nodes
  std::vector<Place> places_;  // by rank
  std::vector<std::unique_ptr<Node>> nodes_;
  Crew crew_;
  std::vector<Share> shares_;
};

core::Status add_rank(const LaunchRank& rank, LaunchOutcome& outcome) {
  if (rank.next_ns() < kNeverNs || rank.finish_ns() > kForeverNs) {
    return core::Error{
        fmt::format("the schedule takes longer than {:.1f} years: are its sizes "
                    "bytes and its calculations nanoseconds?",
                    static_cast<double>(kForeverNs) * 1e-9 / 86400 / 365)};
  }
  if (!rank.finished()) {
    return core::Error{fmt::format("the schedule cannot end: rank {} waits in its launch {}",
                                   outcome.finish_ns.size(), rank.running_launch())};
  }
  outcome.finish_ns.push_back(rank.finish_ns());
  outcome.spans.push_back(rank.spans());
  outcome.nic_work.push_back(rank.nic_work());
  outcome.operations += rank.operations();
  outcome.messages += rank.messages();
  return {};
}

core::Result<LaunchOutcome> Run::outcome() const {
  LaunchOutcome outcome;
  for (const Place& place : places_)
    ASSAY_TRY(add_rank(*nodes_[place.node]->ranks[place.member], outcome));
  return outcome;
}

struct Message {
  std::uint64_t bytes = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// Makes `largest` the largest message of a launch that waits for its receive, if it is larger.
void add_waiting(const Network& network,
                 std::uint32_t rank,
                 const model::LaunchWork& work,
                 Message& largest) {
  for (const model::StepRun& run : work.runs) {
    const std::uint64_t bytes = std::max(run.bytes, run.last_bytes);
    for (std::uint32_t i = 0; i < run.num_to && bytes > largest.bytes; ++i) {
      const std::uint32_t to = work.peers[run.first_peer + run.num_from + i].rank;
      if (network.between(rank, to).rendezvous(bytes)) largest = {bytes, rank, to};
    }
  }
}

core::Status check_eager(const model::LaunchSchedule& schedule, const Network& network) {
  if (!network.has_rendezvous()) return {};
  Message largest;
  model::LaunchWork work;
  for (std::uint32_t rank = 0; rank < schedule.num_ranks(); ++rank) {
    ASSAY_TRY(core::check_interrupt());
    for (std::uint32_t i = 0; i < schedule.rank(rank).launches.size(); ++i) {
      work.clear();
      schedule.list(rank, i, work);
      add_waiting(network, rank, work, largest);
    }
  }
  if (largest.bytes == 0) return {};
  return core::Error{
      fmt::format("a schedule of launches has eager messages only: S must be at least the largest "
                  "message, which rank {} sends to rank {} with {} bytes",
                  largest.from, largest.to, largest.bytes)};
}

core::Status check(const model::LaunchSchedule& schedule, const Network& network) {
  ASSAY_TRY(check_eager(schedule, network));
  if (network.inter().shortest_ns() == 0 || network.intra().shortest_ns() == 0) {
    return core::Error{"a schedule of launches needs messages that take time: L or o above 0"};
  }
  if (network.overtakes()) {
    return core::Error{
        "a schedule of launches needs messages that arrive as they left: O or G must be 0"};
  }
  return {};
}

}  // namespace

std::int64_t LaunchOutcome::longest_ns() const {
  return finish_ns.empty() ? 0 : *std::max_element(finish_ns.begin(), finish_ns.end());
}

core::Result<LaunchOutcome> simulate_launches(const model::LaunchSchedule& schedule,
                                              const Options& options,
                                              unsigned threads) {
  const Network network = ASSAY_TRY(
      Network::make(options.inter, options.intra, options.node_of_rank, schedule.num_ranks()));
  ASSAY_TRY(check(schedule, network));
  if (const auto first = run_alike(schedule, network); !first.empty()) {
    ASSAY_TRY(core::check_interrupt());
    LaunchOutcome outcome;
    for (std::uint32_t rank = 0; rank < schedule.num_ranks(); ++rank)
      ASSAY_TRY(add_rank(*first[rank % first.size()], outcome));
    return outcome;
  }
  const unsigned wanted =
      threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : threads;
  Run run(schedule, network, wanted);
  run.run();
  ASSAY_TRY(core::check_interrupt());
  return run.outcome();
}

}  // namespace assay::simulate
