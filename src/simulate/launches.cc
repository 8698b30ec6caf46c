#include "simulate/launches.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "core/interrupt.h"

namespace assay::simulate {
namespace {

// Threads meet every few microseconds, so they wait without sleeping as long as all of them run.
class SpinBarrier {
 public:
  explicit SpinBarrier(unsigned threads) : threads_(threads) {}

  void meet() {
    const unsigned round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    constexpr int kPatience = 2000;
    for (int i = 0; round_.load(std::memory_order_acquire) == round; ++i) {
      if (i > kPatience) std::this_thread::yield();
    }
  }

 private:
  unsigned threads_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> round_{0};
};

// The ranks of one thread.
struct Share {
  std::uint32_t first = 0;
  std::vector<std::unique_ptr<LaunchRank>> ranks;
  std::vector<std::int64_t> next_ns;           // by rank of the share
  std::int64_t earliest_ns = 0;                // of next_ns
  std::vector<std::vector<Departure>> outbox;  // by the share that receives
  std::vector<Departure> departures;
  std::vector<Span> spans;
  std::exception_ptr failure;
  bool stops = false;
};

class Run {
 public:
  Run(const model::LaunchSchedule& schedule, const Network& network, unsigned threads)
      : schedule_(schedule),
        network_(network),
        ahead_ns_(network.shortest_message_ns()),
        shares_(threads),
        barrier_(threads) {
    const std::uint32_t ranks = schedule.num_ranks();
    per_share_ = (ranks + threads - 1) / threads;
    for (unsigned i = 0; i < threads; ++i) {
      shares_[i].first = std::min(ranks, i * per_share_);
      shares_[i].outbox.resize(threads);
    }
  }

  void run() {
    std::vector<std::jthread> pool;
    for (unsigned share = 1; share < shares_.size(); ++share)
      pool.emplace_back([this, share] { run_share(share); });
    run_share(0);
    pool.clear();
    for (const Share& share : shares_) {
      if (share.failure) std::rethrow_exception(share.failure);
    }
  }

  core::Result<LaunchOutcome> outcome() const;

 private:
  void make_ranks(Share& share, std::uint32_t end) {
    share.spans.resize(schedule_.num_exchanges());
    for (std::uint32_t rank = share.first; rank < end; ++rank) {
      share.ranks.push_back(std::make_unique<LaunchRank>(schedule_, network_, rank));
      share.next_ns.push_back(share.ranks.back()->next_ns());
    }
  }

  // All threads see the same `stops` and `earliest_ns`, because each writes its own only between
  // the second meeting of a round and the first one of the next.
  void run_share(unsigned index) {
    Share& share = shares_[index];
    const std::uint32_t end =
        index + 1 < shares_.size() ? shares_[index + 1].first : schedule_.num_ranks();
    guard(share, [&] { make_ranks(share, end); });
    for (;;) {
      share.earliest_ns = kForeverNs;
      for (const std::int64_t next : share.next_ns)
        share.earliest_ns = std::min(share.earliest_ns, next);
      share.stops = share.failure || (index == 0 && core::interrupted());
      barrier_.meet();
      std::int64_t now_ns = kForeverNs;
      bool stops = false;
      for (const Share& each : shares_) {
        now_ns = std::min(now_ns, each.earliest_ns);
        stops = stops || each.stops;
      }
      if (stops || now_ns >= kForeverNs) return;
      guard(share, [&] { step(share, now_ns + ahead_ns_); });
      barrier_.meet();
      guard(share, [&] { collect(share, index); });
    }
  }

  // If memory runs out, the thread goes on to meet the others until they see that all must stop.
  template <class Body>
  static void guard(Share& share, const Body& body) {
    try {
      if (!share.failure) body();
    } catch (...) {
      share.failure = std::current_exception();
    }
  }

  void collect(Share& share, unsigned index) {
    for (Share& each : shares_) {
      for (const Departure& departure : each.outbox[index])
        deliver(share, departure);
      each.outbox[index].clear();
    }
  }

  void step(Share& share, std::int64_t end_ns) {
    for (std::size_t i = 0; i < share.ranks.size(); ++i) {
      if (share.next_ns[i] >= end_ns) continue;
      share.departures.clear();
      share.ranks[i]->run(end_ns, share.departures, share.spans);
      share.next_ns[i] = share.ranks[i]->next_ns();
      for (const Departure& departure : share.departures) {
        const std::uint32_t to = departure.to / per_share_;
        if (&shares_[to] == &share) {
          deliver(share, departure);
        } else {
          share.outbox[to].push_back(departure);
        }
      }
    }
  }

  static void deliver(Share& share, const Departure& departure) {
    const std::size_t i = departure.to - share.first;
    share.ranks[i]->receive(departure.arrival);
    share.next_ns[i] = std::min(share.next_ns[i], departure.arrival.time_ns);
  }

  const model::LaunchSchedule& schedule_;
  const Network& network_;
  std::int64_t ahead_ns_;
  std::uint32_t per_share_ = 0;
  std::vector<Share> shares_;
  SpinBarrier barrier_;
};

core::Error too_long() {
  return core::Error{fmt::format("the schedule takes longer than {:.1f} years: are its sizes "
                                 "bytes and its calculations nanoseconds?",
                                 static_cast<double>(kForeverNs) * 1e-9 / 86400 / 365)};
}

core::Result<LaunchOutcome> Run::outcome() const {
  LaunchOutcome outcome;
  outcome.spans.resize(schedule_.num_exchanges());
  for (const Share& share : shares_) {
    for (std::size_t i = 0; i < share.ranks.size(); ++i) {
      const LaunchRank& rank = *share.ranks[i];
      if (share.earliest_ns < kForeverNs || rank.finish_ns() > kForeverNs) return too_long();
      if (!rank.finished()) {
        return core::Error{fmt::format("the schedule cannot end: rank {} waits in its launch {}",
                                       share.first + i, rank.running_launch())};
      }
      outcome.finish_ns.push_back(rank.finish_ns());
      outcome.operations += rank.operations();
      outcome.messages += rank.messages();
    }
    for (std::size_t i = 0; i < share.spans.size(); ++i)
      outcome.spans[i].add(share.spans[i].start_ns, share.spans[i].end_ns);
  }
  return outcome;
}

}  // namespace

std::int64_t LaunchOutcome::longest_ns() const {
  return finish_ns.empty() ? 0 : *std::max_element(finish_ns.begin(), finish_ns.end());
}

core::Result<LaunchOutcome> simulate_launches(const model::LaunchSchedule& schedule,
                                              const Options& options,
                                              unsigned threads) {
  const Network network = ASSAY_TRY(Network::make(options.inter, options.intra,
                                                  options.node_of_rank, schedule.num_ranks()));
  if (network.has_rendezvous()) {
    return core::Error{
        "a schedule of launches has eager messages only: S must be at least the largest message"};
  }
  if (network.shortest_message_ns() == 0) {
    return core::Error{"a schedule of launches needs messages that take time: L or o above 0"};
  }
  if (network.overtakes()) {
    return core::Error{
        "a schedule of launches needs messages that arrive as they left: O or G must be 0"};
  }
  const unsigned wanted = threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : threads;
  Run run(schedule, network, std::max(1U, std::min(wanted, schedule.num_ranks())));
  run.run();
  ASSAY_TRY(core::check_interrupt());
  return run.outcome();
}

}  // namespace assay::simulate
