#include "simulate/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "core/interrupt.h"
#include "simulate/crew.h"

namespace assay::simulate {
namespace {

// Unless a number of threads is given, each has at least so many operations: with fewer, starting
// it costs more than it saves.
constexpr std::uint64_t kOperationsOfThread = 50'000;

// A thread looks so often whether the others have moved before it sleeps until they do.
constexpr int kLooks = 400;
constexpr int kLooksBeforeYields = 100;

// Over a stretch without events, engines would lead each other on by the time of one message after
// the other. After so many such steps they meet, and go on from the next event.
constexpr int kEmptySteps = 16;

// A thread has several engines, each of a few ranks: what these need stays in the processor's cache
// while one of them runs ahead. More engines would cost more to look at than they save.
constexpr std::size_t kMostEngines = 1024;

// What a share of the ranks is made of: whole nodes or single ranks.
struct Unit {
  std::vector<std::uint32_t> ranks;
  std::uint64_t operations = 0;
};

std::vector<Unit> units_of(const model::Schedule& schedule,
                           const std::vector<std::uint32_t>& unit_of_rank) {
  std::vector<Unit> units;
  std::vector<std::uint32_t> number;  // by name of the unit
  for (std::uint32_t rank = 0; rank < schedule.ranks().size(); ++rank) {
    const std::uint32_t name = unit_of_rank.empty() ? rank : unit_of_rank[rank];
    if (name >= number.size()) number.resize(name + std::size_t{1}, kNone);
    if (number[name] == kNone) {
      number[name] = static_cast<std::uint32_t>(units.size());
      units.emplace_back();
    }
    Unit& unit = units[number[name]];
    unit.ranks.push_back(rank);
    unit.operations += schedule.ranks()[rank].ops.size();
  }
  return units;
}

using Ranks = std::vector<std::uint32_t>;

// The engines of each thread, and times that no message between two of them is faster than.
struct Division {
  std::vector<std::vector<Ranks>> threads;
  std::int64_t apart_ns = 0;  // of different threads
  std::int64_t near_ns = 0;   // of one thread
};

// Divides units that follow each other into parts with about the same number of operations.
std::vector<std::vector<Unit>> divide(const std::vector<Unit>& units, std::size_t num_parts) {
  std::uint64_t total = 0;
  for (const Unit& unit : units)
    total += unit.operations;
  std::vector<std::vector<Unit>> parts(num_parts);
  std::uint64_t before = 0;
  for (const Unit& unit : units) {
    // The part in which the middle of the unit lies.
    const double middle = static_cast<double>(before) + static_cast<double>(unit.operations) / 2;
    const double share = middle / static_cast<double>(std::max<std::uint64_t>(1, total));
    const auto part = static_cast<std::size_t>(share * static_cast<double>(num_parts));
    parts[std::min(part, num_parts - 1)].push_back(unit);
    before += unit.operations;
  }
  return parts;
}

std::vector<Ranks> engines_of(const std::vector<Unit>& units) {
  const std::size_t most = std::max<std::size_t>(1, std::min(units.size(), kMostEngines));
  std::vector<Ranks> engines;
  for (const std::vector<Unit>& part : divide(units, most)) {
    Ranks& ranks = engines.emplace_back();
    for (const Unit& unit : part)
      ranks.insert(ranks.end(), unit.ranks.begin(), unit.ranks.end());
    std::sort(ranks.begin(), ranks.end());
  }
  return engines;
}

// The single ranks of units.
std::vector<Unit> split(const model::Schedule& schedule, const std::vector<Unit>& units) {
  std::vector<Unit> ranks;
  for (const Unit& unit : units) {
    for (const std::uint32_t rank : unit.ranks)
      ranks.push_back({.ranks = {rank}, .operations = schedule.ranks()[rank].ops.size()});
  }
  return ranks;
}

// Nodes stay on one thread, because messages between them take longer, unless there are too few.
// Within a thread an engine is a node, too, where that lets it run much longer at once; otherwise
// it is a few ranks.
Division divide(const model::Schedule& schedule, const Network& network, unsigned threads) {
  Division division;
  division.apart_ns = network.inter().shortest_ns();
  const std::int64_t least_ns = std::min(division.apart_ns, network.intra().shortest_ns());
  std::vector<Unit> units = units_of(schedule, network.node_of_rank());
  if (units.size() < threads) {
    units = split(schedule, units);
    division.apart_ns = least_ns;
  }
  const bool whole_nodes = 2 * least_ns <= division.apart_ns;
  division.near_ns = whole_nodes ? division.apart_ns : least_ns;
  const std::size_t parts = std::max<std::size_t>(1, std::min<std::size_t>(threads, units.size()));
  for (const std::vector<Unit>& part : divide(units, parts))
    division.threads.push_back(engines_of(whole_nodes ? part : split(schedule, part)));
  return division;
}

bool has_rendezvous(const model::Schedule& schedule, const Network& network) {
  if (!network.has_rendezvous()) return false;
  for (std::uint32_t rank = 0; rank < schedule.ranks().size(); ++rank) {
    for (const model::ScheduleOp& op : schedule.ranks()[rank].ops) {
      if (op.kind != model::OpKind::kSend) continue;
      if (network.between(rank, op.peer).rendezvous(op.size)) return true;
    }
  }
  return false;
}

Alone why_alone(const Common& common, const Division& division) {
  if (common.outcome.transfers() != nullptr) return Alone::kSharedLinks;
  if (has_rendezvous(common.schedule, common.network)) return Alone::kRendezvous;
  return division.apart_ns == 0 ? Alone::kNoTime : Alone::kNo;
}

unsigned wanted_threads(const Common& common, unsigned threads) {
  if (threads > 0) return threads;
  const std::uint64_t busy = 1 + common.outcome.record().num_ops() / kOperationsOfThread;
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::min<std::uint64_t>(busy, processors));
}

class SideBySide {
 public:
  SideBySide(Common& common, Division division)
      : common_(common),
        apart_ns_(division.apart_ns),
        near_ns_(division.near_ns),
        crew_(static_cast<unsigned>(division.threads.size())),
        threads_(division.threads.size()) {
    common.engine_of.resize(common.schedule.ranks().size());
    for (unsigned thread = 0; thread < division.threads.size(); ++thread) {
      threads_[thread].first = static_cast<std::uint32_t>(engines_.size());
      threads_[thread].next_ns.resize(division.threads[thread].size());
      threads_[thread].outgoing.resize(threads_.size());
      for (Ranks& ranks : division.threads[thread])
        add_engine(thread, std::move(ranks));
    }
  }

  std::vector<std::unique_ptr<Engine>> run() {
    crew_.run([this](unsigned number) { run_thread(number); });
    return std::move(engines_);
  }

 private:
  // On cache lines of its own, because the others look at where it is all the time.
  struct alignas(128) Thread {
    // All events of its engines before this time have been handled, and what they sent to other
    // threads is in the mail.
    std::atomic<std::int64_t> done_ns = 0;
    std::mutex mutex;
    std::vector<Event> mail;  // from other threads
    // Only for the thread itself.
    std::uint32_t first = 0;                   // of its engines
    std::vector<std::int64_t> next_ns;         // of each of its engines
    std::vector<std::vector<Event>> outgoing;  // by thread
    bool stops = false;                        // the time exceeds kForeverNs
  };

  void add_engine(unsigned thread, Ranks ranks) {
    const auto number = static_cast<std::uint32_t>(engines_.size());
    for (const std::uint32_t rank : ranks)
      common_.engine_of[rank] = number;
    engines_.push_back(std::make_unique<Engine>(common_, number, std::move(ranks)));
    thread_of_.push_back(thread);
  }

  void run_thread(unsigned number) {
    Thread& self = threads_[number];
    crew_.guard(number, [&] { for_each_engine(self, [](Engine& engine) { engine.look(); }); });
    crew_.wait();
    crew_.guard(number, [&] { prepare(self); });
    const auto next_ns = [&] {
      if (number == 0) meeting_.store(false, std::memory_order_relaxed);
      open_mail(self);
      return self.stops ? kForeverNs : earliest(self);
    };
    while (const auto now_ns = crew_.meet(number, next_ns)) {
      self.done_ns.store(std::max(*now_ns, self.done_ns.load(std::memory_order_relaxed)));
      crew_.guard(number, [&] { advance(number); });
      meeting_.store(true, std::memory_order_relaxed);
      tell();
    }
  }

  template <class Body>
  void for_each_engine(const Thread& self, const Body& body) {
    for (std::size_t i = 0; i < self.next_ns.size(); ++i)
      body(*engines_[self.first + i]);
  }

  void prepare(Thread& self) {
    for_each_engine(self, [](Engine& engine) { engine.prepare(); });
    for (std::size_t i = 0; i < self.next_ns.size(); ++i)
      self.next_ns[i] = engines_[self.first + i]->next_ns();
  }

  static std::int64_t earliest(const Thread& self) {
    return *std::min_element(self.next_ns.begin(), self.next_ns.end());
  }

  // Runs ahead for as long as the other threads do so too. It says where it is at least once in the
  // time that a message takes: if one thread did twice that at once, the other would have to wait
  // all the while, then do the same to the first.
  void advance(unsigned number) {
    Thread& self = threads_[number];
    int empty_steps = 0;
    while (const auto bound_ns = wait_for_others(number)) {
      // What was sent before the others were where they are lies in the mail by now.
      open_mail(self);
      const std::int64_t next_ns = earliest(self);
      const bool any = next_ns < *bound_ns;
      const std::int64_t end_ns = any ? std::min(*bound_ns, next_ns + apart_ns_) : *bound_ns;
      run_engines_until(number, end_ns);
      if (self.stops) return;
      post_mail(self);
      self.done_ns.store(end_ns, std::memory_order_release);
      tell();
      empty_steps = any ? 0 : empty_steps + 1;
      if (empty_steps == kEmptySteps) return;
    }
  }

  // Returns the time until which a thread may run, as soon as that is later than where it is;
  // nothing when another waits to meet before that.
  std::optional<std::int64_t> wait_for_others(unsigned number) {
    const std::int64_t done_ns = threads_[number].done_ns.load(std::memory_order_relaxed);
    if (done_ns >= kForeverNs) return std::nullopt;
    for (int looks = 0;; ++looks) {
      const std::uint32_t told = told_.load(std::memory_order_acquire);
      const std::int64_t bound_ns = bound_of(number);
      if (bound_ns > done_ns) return bound_ns;
      if (meeting_.load(std::memory_order_relaxed)) return std::nullopt;
      if (looks > kLooks) {
        told_.wait(told, std::memory_order_acquire);
      } else if (looks > kLooksBeforeYields) {
        std::this_thread::yield();
      }
    }
  }

  // Wakes the threads that wait for others.
  void tell() {
    told_.fetch_add(1, std::memory_order_release);
    told_.notify_all();
  }

  // Returns the time before which no message of another thread can come any more.
  [[nodiscard]] std::int64_t bound_of(unsigned number) const {
    std::int64_t least_ns = kForeverNs;
    for (std::size_t other = 0; other < threads_.size(); ++other) {
      if (other == number) continue;
      least_ns = std::min(least_ns, threads_[other].done_ns.load(std::memory_order_acquire));
    }
    return least_ns + apart_ns_;
  }

  // Lets the engines of a thread take turns.
  void run_engines_until(unsigned number, std::int64_t end_ns) {
    Thread& self = threads_[number];
    for (;;) {
      const std::int64_t now_ns = earliest(self);
      if (now_ns >= end_ns || self.stops) return;
      const std::int64_t turn_end_ns =
          self.next_ns.size() == 1 ? end_ns : std::min(end_ns, now_ns + near_ns_);
      for (std::size_t i = 0; i < self.next_ns.size(); ++i) {
        if (self.next_ns[i] < turn_end_ns) run_engine(number, i, turn_end_ns);
      }
    }
  }

  void run_engine(unsigned number, std::size_t index, std::int64_t end_ns) {
    Thread& self = threads_[number];
    Engine& engine = *engines_[self.first + index];
    engine.run(end_ns);
    self.next_ns[index] = engine.next_ns();
    self.stops = self.stops || engine.too_long() || core::interrupted();
    for (const Event& arrival : engine.sent()) {
      const std::uint32_t to = common_.engine_of[arrival.rank];
      if (thread_of_[to] == number) {
        deliver(self, arrival);
      } else {
        self.outgoing[thread_of_[to]].push_back(arrival);
      }
    }
    engine.sent().clear();
  }

  void deliver(Thread& self, const Event& arrival) {
    const std::uint32_t to = common_.engine_of[arrival.rank];
    engines_[to]->receive(arrival);
    std::int64_t& next_ns = self.next_ns[to - self.first];
    next_ns = std::min(next_ns, arrival.time_ns);
  }

  void open_mail(Thread& self) {
    const std::lock_guard lock(self.mutex);
    for (const Event& arrival : self.mail)
      deliver(self, arrival);
    self.mail.clear();
  }

  void post_mail(Thread& self) {
    for (std::size_t to = 0; to < threads_.size(); ++to) {
      std::vector<Event>& sent = self.outgoing[to];
      if (sent.empty()) continue;
      const std::lock_guard lock(threads_[to].mutex);
      threads_[to].mail.insert(threads_[to].mail.end(), sent.begin(), sent.end());
      sent.clear();
    }
  }

  Common& common_;
  std::int64_t apart_ns_;
  std::int64_t near_ns_;
  std::atomic<bool> meeting_ = false;    // a thread waits for the others to meet
  std::atomic<std::uint32_t> told_ = 0;  // how often a thread has moved
  Crew crew_;
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::uint32_t> thread_of_;  // by engine
};

std::vector<std::unique_ptr<Engine>> run_one(Common& common) {
  std::vector<std::uint32_t> ranks(common.schedule.ranks().size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(std::make_unique<Engine>(common, 0, std::move(ranks)));
  Engine& engine = *engines.front();
  engine.look();
  engine.prepare();
  engine.run(kNeverNs);
  engine.finish_network();
  return engines;
}

}  // namespace

std::vector<std::unique_ptr<Engine>> run_engines(Common& common, unsigned threads) {
  const unsigned wanted = wanted_threads(common, threads);
  const bool large = common.outcome.record().num_ops() > kOperationsOfThread;
  if (wanted == 1 && !large) return run_one(common);
  Division division = divide(common.schedule, common.network, wanted);
  const Alone alone = why_alone(common, division);
  if (alone != Alone::kNo) {
    if (wanted > 1) common.outcome.alone = alone;
    return run_one(common);
  }
  common.outcome.threads = static_cast<unsigned>(division.threads.size());
  return SideBySide(common, std::move(division)).run();
}

}  // namespace assay::simulate
