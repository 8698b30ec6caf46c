#include "simulate/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "core/interrupt.h"
#include "simulate/crew.h"

namespace assay::simulate {
namespace {

// Unless a number of threads is given, each has at least so many operations: with fewer, starting
// it costs more than it saves.
constexpr std::uint64_t kOperationsOfThread = 50'000;

// How often an engine looks whether the others have moved before it sleeps until they meet: enough
// for what they do between two looks of theirs, and less than a time slice where they have no
// processor.
constexpr int kLooks = 400;
constexpr int kLooksBeforeYields = 100;

// Over a stretch without events, engines would lead each other on by the time of one message after
// the other. After so many such steps they meet, and go on from the next event.
constexpr int kEmptySteps = 16;

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

// The ranks of each engine, and a time that no message between two of them is faster than.
struct Division {
  std::vector<std::vector<std::uint32_t>> ranks;
  std::int64_t ahead_ns = 0;
};

// Gives each engine units that follow each other, of about the same number of operations in all.
std::vector<std::vector<std::uint32_t>> divide(const std::vector<Unit>& units, unsigned engines) {
  std::uint64_t total = 0;
  for (const Unit& unit : units)
    total += unit.operations;
  std::vector<std::vector<std::uint32_t>> shares(engines);
  std::uint64_t before = 0;
  for (const Unit& unit : units) {
    // The share in which the middle of the unit lies.
    const double middle = static_cast<double>(before) + static_cast<double>(unit.operations) / 2;
    const double share = middle / static_cast<double>(std::max<std::uint64_t>(1, total)) * engines;
    std::vector<std::uint32_t>& ranks =
        shares[std::min(static_cast<std::size_t>(share), shares.size() - 1)];
    ranks.insert(ranks.end(), unit.ranks.begin(), unit.ranks.end());
    before += unit.operations;
  }
  for (std::vector<std::uint32_t>& ranks : shares)
    std::sort(ranks.begin(), ranks.end());
  return shares;
}

// Nodes stay whole, because messages between them take longer, unless there are too few.
Division divide(const model::Schedule& schedule, const Network& network, unsigned engines) {
  const std::int64_t far_ns = network.inter().shortest_ns();
  const std::vector<Unit> nodes = units_of(schedule, network.node_of_rank());
  if (nodes.size() >= engines) return {divide(nodes, engines), far_ns};
  const std::vector<Unit> ranks = units_of(schedule, {});
  const auto most = static_cast<unsigned>(std::max<std::size_t>(1, ranks.size()));
  return {divide(ranks, std::min(engines, most)), std::min(far_ns, network.intra().shortest_ns())};
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
  return division.ahead_ns == 0 ? Alone::kNoTime : Alone::kNo;
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
      : ahead_ns_(division.ahead_ns),
        crew_(static_cast<unsigned>(division.ranks.size())),
        places_(division.ranks.size()) {
    common.engine_of.resize(common.schedule.ranks().size());
    for (std::uint32_t engine = 0; engine < division.ranks.size(); ++engine) {
      for (const std::uint32_t rank : division.ranks[engine])
        common.engine_of[rank] = engine;
    }
    for (std::uint32_t engine = 0; engine < division.ranks.size(); ++engine) {
      engines_.push_back(
          std::make_unique<Engine>(common, engine, std::move(division.ranks[engine])));
    }
  }

  std::vector<std::unique_ptr<Engine>> run() {
    crew_.run([this](unsigned number) { run_engine(number); });
    return std::move(engines_);
  }

 private:
  // Where an engine is, on cache lines of its own, because the others look at it all the time.
  struct alignas(128) Place {
    // All its events before this time have been handled, and what they sent is in the mail.
    std::atomic<std::int64_t> done_ns = 0;
    std::mutex mutex;
    std::vector<Event> mail;  // from other engines
  };

  void run_engine(unsigned number) {
    Engine& engine = *engines_[number];
    crew_.guard(number, [&] { engine.look(); });
    crew_.wait();
    crew_.guard(number, [&] { engine.prepare(); });
    const auto next_ns = [&] {
      open_mail(number);
      return engine.too_long() ? kForeverNs : engine.next_ns();
    };
    while (const auto now_ns = crew_.meet(number, next_ns)) {
      std::atomic<std::int64_t>& done_ns = places_[number].done_ns;
      done_ns.store(std::max(*now_ns, done_ns.load(std::memory_order_relaxed)));
      crew_.guard(number, [&] { advance(number); });
    }
  }

  // Runs ahead for as long as the others do so too.
  void advance(unsigned number) {
    Engine& engine = *engines_[number];
    std::atomic<std::int64_t>& done_ns = places_[number].done_ns;
    int empty_steps = 0;
    for (int looks = 0; looks < kLooks; ++looks) {
      const std::int64_t end_ns = bound_of(number);
      if (end_ns <= done_ns.load(std::memory_order_relaxed)) {
        if (looks > kLooksBeforeYields) std::this_thread::yield();
        continue;
      }
      // What was sent before the others were where they are lies in the mail by now.
      open_mail(number);
      const bool any = engine.run(end_ns);
      post_mail(engine);
      if (engine.too_long()) return;
      done_ns.store(end_ns, std::memory_order_release);
      empty_steps = any ? 0 : empty_steps + 1;
      if (empty_steps == kEmptySteps) return;
      looks = 0;
    }
  }

  // Returns the time before which no message of another engine can come any more.
  [[nodiscard]] std::int64_t bound_of(unsigned number) const {
    std::int64_t least_ns = kForeverNs;
    for (std::size_t other = 0; other < places_.size(); ++other) {
      if (other == number) continue;
      least_ns = std::min(least_ns, places_[other].done_ns.load(std::memory_order_acquire));
    }
    return least_ns + ahead_ns_;
  }

  void open_mail(unsigned number) {
    Place& place = places_[number];
    const std::lock_guard lock(place.mutex);
    for (const Event& arrival : place.mail)
      engines_[number]->receive(arrival);
    place.mail.clear();
  }

  void post_mail(Engine& engine) {
    for (std::size_t to = 0; to < places_.size(); ++to) {
      std::vector<Event>& sent = engine.sent()[to];
      if (sent.empty()) continue;
      Place& place = places_[to];
      const std::lock_guard lock(place.mutex);
      place.mail.insert(place.mail.end(), sent.begin(), sent.end());
      sent.clear();
    }
  }

  std::int64_t ahead_ns_;
  Crew crew_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Place> places_;
};

std::vector<std::unique_ptr<Engine>> run_one(Common& common) {
  std::vector<std::uint32_t> ranks(common.schedule.ranks().size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(std::make_unique<Engine>(common, 0, std::move(ranks)));
  Engine& engine = *engines.front();
  engine.look();
  engine.prepare();
  while (!core::interrupted() && engine.run(kNeverNs)) {
  }
  engine.finish_network();
  return engines;
}

}  // namespace

std::vector<std::unique_ptr<Engine>> run_engines(Common& common, unsigned threads) {
  const unsigned wanted = wanted_threads(common, threads);
  if (wanted > 1) {
    Division division = divide(common.schedule, common.network, wanted);
    common.outcome.alone = why_alone(common, division);
    if (common.outcome.alone == Alone::kNo && division.ranks.size() > 1) {
      common.outcome.threads = static_cast<unsigned>(division.ranks.size());
      return SideBySide(common, std::move(division)).run();
    }
  }
  return run_one(common);
}

}  // namespace assay::simulate
