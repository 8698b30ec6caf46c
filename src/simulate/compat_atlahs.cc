#include "simulate/compat_atlahs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <queue>
#include <unordered_map>
#include <vector>

#include "core/interrupt.h"

namespace assay::simulate {
namespace {

using model::OpKind;
using model::PackedIndex;
using model::ScheduleOp;

constexpr std::uint64_t kStepsBetweenLooks = 1U << 16U;

// An operation that is ready, or a message on its way to `rank` (then the rest is its send's).
struct Item {
  std::int64_t time_ns = 0;
  std::uint32_t rank = 0;
  std::uint32_t op = 0;
  std::uint32_t source = 0;  // of a message
  bool is_message = false;
};

struct Later {
  bool operator()(const Item& a, const Item& b) const { return a.time_ns > b.time_ns; }
};

// The messages or the receives of a rank that wait for their partner, by source and tag.
class Waiting {
 public:
  struct Entry {
    std::uint32_t op;
    std::int64_t time_ns;  // of a message: its arrival
  };

  void add(std::uint32_t source, std::uint32_t tag, const Entry& entry) {
    entries_[key(source, tag)].push_back(entry);
  }

  bool take(std::uint32_t source, std::uint32_t tag, Entry& entry) {
    const auto found = entries_.find(key(source, tag));
    if (found == entries_.end()) return false;
    entry = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) entries_.erase(found);
    return true;
  }

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  static std::uint64_t key(std::uint32_t source, std::uint32_t tag) {
    return std::uint64_t{source} << 32U | tag;
  }

  std::unordered_map<std::uint64_t, std::deque<Entry>> entries_;
};

struct Host {
  std::vector<std::int64_t> cpu_ns;  // when each is free
  std::vector<std::int64_t> send_nic_ns;
  std::vector<std::int64_t> receive_nic_ns;
  std::vector<std::uint32_t> dependencies;  // by operation: how many it still waits for
  std::vector<std::int64_t> ready_ns;       // by operation: the last end of what it follows
  std::vector<Item> freed;                  // what has become ready in this step
  Waiting receives;
  Waiting messages;
};

class AtlahsEngine {
 public:
  AtlahsEngine(const model::Schedule& schedule, const Link& link, Outcome& outcome)
      : schedule_(schedule), link_(link), outcome_(outcome) {
    for (const model::RankView& rank : schedule.ranks())
      add_host(rank);
  }

  core::Status run();

 private:
  // The CPU and the NIC that a reception takes until these times.
  struct Reception {
    std::int64_t cpu_ns;
    std::int64_t nic_ns;
  };

  void add_host(const model::RankView& rank);

  [[nodiscard]] const ScheduleOp& op_of(std::uint32_t rank, std::uint32_t op) const {
    return schedule_.ranks()[rank].ops[op];
  }

  // A message of 0 bytes has one.
  static std::uint64_t bytes_of(const ScheduleOp& op) {
    return std::max<std::uint64_t>(+op.size, 1);
  }

  core::Status step(const Item& item);
  void calculate(Item item);
  void send(Item item);
  core::Status receive(const Item& item);
  void arrive(Item item);

  [[nodiscard]] Reception reception(std::int64_t from_ns, std::uint64_t bytes) const {
    const std::int64_t nic_ns = from_ns + link_.gap_ns;
    return {.cpu_ns = nic_ns + link_.cpu_ns(bytes), .nic_ns = nic_ns};
  }

  void mark_started(std::uint32_t rank, const ScheduleOp& op);
  void mark_done(std::uint32_t rank, std::uint32_t op, std::int64_t end_ns);
  void end_rendezvous(std::uint32_t rank,
                      std::uint32_t send,
                      const ScheduleOp& place,
                      const Reception& until);
  void push_freed(std::uint32_t rank);
  [[nodiscard]] std::int64_t first_try_ns(const Item& freed) const;

  const model::Schedule& schedule_;
  const Link& link_;
  Outcome& outcome_;
  std::vector<Host> hosts_;
  std::priority_queue<Item, std::vector<Item>, Later> items_;
  std::int64_t latest_ns_ = 0;
};

void AtlahsEngine::add_host(const model::RankView& rank) {
  Host& host = hosts_.emplace_back();
  host.cpu_ns.resize(schedule_.max_cpu() + 1);
  host.send_nic_ns.resize(schedule_.max_nic() + 1);
  host.receive_nic_ns.resize(schedule_.max_nic() + 1);
  host.ready_ns.resize(rank.ops.size());
  for (const ScheduleOp& op : rank.ops)
    host.dependencies.push_back(std::uint32_t{op.dependencies});
  const auto number = static_cast<std::uint32_t>(hosts_.size() - 1);
  for (const PackedIndex& root : rank.roots)
    items_.push({.rank = number, .op = root.value});
}

core::Status AtlahsEngine::run() {
  for (std::uint64_t count = 1; !items_.empty() && latest_ns_ <= kForeverNs; ++count) {
    const Item item = items_.top();
    items_.pop();
    ASSAY_TRY(step(item));
    if (count % kStepsBetweenLooks == 0) ASSAY_TRY(core::check_interrupt());
  }
  if (latest_ns_ > kForeverNs) return core::Error{"the schedule takes longer than 4.5 years"};
  bool empty = true;
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
    const std::vector<std::int64_t>& cpus = hosts_[rank].cpu_ns;
    outcome_.finish_ns[rank] = *std::max_element(cpus.begin(), cpus.end());
    empty = empty && hosts_[rank].messages.empty();
  }
  outcome_.events = outcome_.operations_done + outcome_.messages;
  outcome_.finished = empty && outcome_.operations_done == outcome_.record().num_ops();
  return {};
}

core::Status AtlahsEngine::step(const Item& item) {
  if (item.is_message) {
    arrive(item);
    return {};
  }
  switch (op_of(item.rank, item.op).kind) {
    case OpKind::kCalc:
      calculate(item);
      return {};
    case OpKind::kSend:
      send(item);
      return {};
    case OpKind::kReceive:
      return receive(item);
  }
  return {};
}

void AtlahsEngine::calculate(Item item) {
  const ScheduleOp& op = op_of(item.rank, item.op);
  std::int64_t& cpu_ns = hosts_[item.rank].cpu_ns[op.cpu];
  if (cpu_ns > item.time_ns) {
    item.time_ns = cpu_ns;
    items_.push(item);
    return;
  }
  cpu_ns =
      item.time_ns + static_cast<std::int64_t>(std::min<std::uint64_t>(+op.size, kForeverNs + 1));
  mark_started(item.rank, op);
  mark_done(item.rank, item.op, cpu_ns);
  push_freed(item.rank);
}

void AtlahsEngine::send(Item item) {
  const ScheduleOp& op = op_of(item.rank, item.op);
  Host& host = hosts_[item.rank];
  std::int64_t& cpu_ns = host.cpu_ns[op.cpu];
  std::int64_t& nic_ns = host.send_nic_ns[op.nic];
  if (const std::int64_t free_ns = std::max(cpu_ns, nic_ns); free_ns > item.time_ns) {
    item.time_ns = free_ns;
    items_.push(item);
    return;
  }
  mark_started(item.rank, op);
  const std::uint64_t bytes = bytes_of(op);
  const std::int64_t bandwidth_ns = link_.bandwidth_ns(bytes);
  cpu_ns = item.time_ns + link_.cpu_ns(bytes);
  nic_ns = item.time_ns + link_.gap_ns + bandwidth_ns;
  items_.push({.time_ns = cpu_ns + link_.latency_ns + bandwidth_ns,
               .rank = op.peer,
               .op = item.op,
               .source = item.rank,
               .is_message = true});
  ++outcome_.messages;
  if (!link_.rendezvous(bytes)) mark_done(item.rank, item.op, cpu_ns);
  push_freed(item.rank);
}

core::Status AtlahsEngine::receive(const Item& item) {
  const ScheduleOp& op = op_of(item.rank, item.op);
  Host& host = hosts_[item.rank];
  mark_started(item.rank, op);
  Waiting::Entry message{};
  if (!host.messages.take(op.peer, op.tag, message)) {
    host.receives.add(op.peer, op.tag, {item.op, 0});
    push_freed(item.rank);
    return {};
  }
  if (item.time_ns < message.time_ns) {
    return core::Error{
        fmt::format("ATLAHS' simulator aborts here: operation {} of rank {}, which follows a start "
                    "and so begins in the past, takes a message that has not come by then",
                    item.op, item.rank)};
  }
  const std::uint64_t bytes = bytes_of(op);
  const Reception until = reception(std::max(host.send_nic_ns[op.nic], item.time_ns), bytes);
  host.cpu_ns[op.cpu] = until.cpu_ns;
  host.receive_nic_ns[op.nic] = until.nic_ns;
  if (link_.rendezvous(bytes)) end_rendezvous(op.peer, message.op, op, until);
  mark_done(item.rank, item.op, until.cpu_ns);
  // The rank that was touched last comes first.
  if (link_.rendezvous(bytes)) push_freed(op.peer);
  push_freed(item.rank);
  return {};
}

void AtlahsEngine::arrive(Item item) {
  const ScheduleOp& sent = op_of(item.source, item.op);
  Host& host = hosts_[item.rank];
  Waiting::Entry posted{};
  if (!host.receives.take(item.source, sent.tag, posted)) {
    host.messages.add(item.source, sent.tag, {item.op, item.time_ns});
    return;
  }
  std::int64_t& cpu_ns = host.cpu_ns[op_of(item.rank, posted.op).cpu];
  std::int64_t& nic_ns = host.receive_nic_ns[sent.nic];
  if (const std::int64_t free_ns = std::max(cpu_ns, nic_ns); free_ns > item.time_ns) {
    item.time_ns = free_ns;
    items_.push(item);
    host.receives.add(item.source, sent.tag, posted);
    return;
  }
  const std::uint64_t bytes = bytes_of(sent);
  const Reception until = reception(item.time_ns, bytes);
  cpu_ns = until.cpu_ns;
  nic_ns = until.nic_ns;
  if (link_.rendezvous(bytes)) end_rendezvous(item.source, item.op, sent, until);
  mark_done(item.rank, posted.op, until.cpu_ns);
  push_freed(item.rank);
  if (link_.rendezvous(bytes)) push_freed(item.source);
}

void AtlahsEngine::end_rendezvous(std::uint32_t rank,
                                  std::uint32_t send,
                                  const ScheduleOp& place,
                                  const Reception& until) {
  Host& host = hosts_[rank];
  mark_done(rank, send, until.cpu_ns);
  host.cpu_ns[place.cpu] = std::max(host.cpu_ns[place.cpu], until.cpu_ns);
  host.send_nic_ns[place.nic] = std::max(host.send_nic_ns[place.nic], until.nic_ns);
}

void AtlahsEngine::mark_started(std::uint32_t rank, const ScheduleOp& op) {
  Host& host = hosts_[rank];
  for (const PackedIndex& next : schedule_.ranks()[rank].after_start(op)) {
    if (--host.dependencies[next.value] > 0) continue;
    host.freed.push_back({.time_ns = 0, .rank = rank, .op = next.value});
  }
}

void AtlahsEngine::mark_done(std::uint32_t rank, std::uint32_t op, std::int64_t end_ns) {
  Host& host = hosts_[rank];
  latest_ns_ = std::max(latest_ns_, end_ns);
  ++outcome_.operations_done;
  for (const PackedIndex& next : schedule_.ranks()[rank].after_finish(op_of(rank, op))) {
    std::int64_t& ready_ns = host.ready_ns[next.value];
    ready_ns = std::max(ready_ns, end_ns);
    if (--host.dependencies[next.value] > 0) continue;
    host.freed.push_back({.time_ns = ready_ns, .rank = rank, .op = next.value});
  }
}

std::int64_t AtlahsEngine::first_try_ns(const Item& freed) const {
  const Host& host = hosts_[freed.rank];
  const ScheduleOp& op = op_of(freed.rank, freed.op);
  switch (op.kind) {
    case OpKind::kCalc:
      return std::max(freed.time_ns, host.cpu_ns[op.cpu]);
    case OpKind::kSend:
      return std::max(freed.time_ns, host.send_nic_ns[op.nic]);
    case OpKind::kReceive:
      break;
  }
  return freed.time_ns;
}

void AtlahsEngine::push_freed(std::uint32_t rank) {
  std::vector<Item>& freed = hosts_[rank].freed;
  for (Item& item : freed) {
    item.time_ns = first_try_ns(item);
    items_.push(item);
  }
  freed.clear();
}

}  // namespace

core::Result<Outcome> simulate_atlahs(const model::Schedule& schedule, const LogGops& link) {
  const Network network = ASSAY_TRY(Network::make(link, std::nullopt, {}, schedule.ranks().size()));
  Outcome outcome(schedule, network, nullptr);
  const Link only(link);
  AtlahsEngine engine(schedule, only, outcome);
  ASSAY_TRY(engine.run());
  return outcome;
}

}  // namespace assay::simulate
