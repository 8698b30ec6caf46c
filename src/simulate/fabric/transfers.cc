#include "simulate/fabric/transfers.h"

#include <algorithm>
#include <cmath>

namespace assay::simulate {
namespace {

std::vector<double> capacities_of(const Fabric& fabric) {
  std::vector<double> capacities;
  capacities.reserve(fabric.links().size());
  // No message takes a failed link.
  for (const FabricLink& link : fabric.links())
    capacities.push_back(link.changed > 0 ? link.left() : 1);
  return capacities;
}

// What sums of rates leave on an idle link is less.
constexpr double kIdleLoad = 1e-9;

// A rest below a millionth of a ns is what the arithmetic leaves.
constexpr double kRoundingNs = 1e-6;

std::int64_t until_done_ns(double left_ns, double rate) {
  const double length = std::ceil(left_ns / rate - kRoundingNs);
  constexpr auto kMost = static_cast<double>(kForeverNs);
  return length < kMost ? std::max(static_cast<std::int64_t>(length), std::int64_t{0}) : kForeverNs;
}

}  // namespace

void EndQueue::put(std::size_t at, std::uint32_t flow) {
  heap_[at] = flow;
  place_[flow] = static_cast<std::uint32_t>(at);
}

void EndQueue::up(std::size_t at) {
  const std::uint32_t flow = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (end_ns_[heap_[parent]] <= end_ns_[flow]) break;
    put(at, heap_[parent]);
    at = parent;
  }
  put(at, flow);
}

void EndQueue::down(std::size_t at) {
  const std::uint32_t flow = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && end_ns_[heap_[child + 1]] < end_ns_[heap_[child]]) ++child;
    if (end_ns_[flow] <= end_ns_[heap_[child]]) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, flow);
}

void EndQueue::set(std::uint32_t flow, std::int64_t end_ns) {
  if (flow >= place_.size()) {
    place_.resize(flow + 1, kNowhere);
    end_ns_.resize(flow + 1);
  }
  const std::int64_t before_ns = end_ns_[flow];
  end_ns_[flow] = end_ns;
  if (place_[flow] == kNowhere) {
    heap_.push_back(flow);
    up(heap_.size() - 1);
  } else if (end_ns < before_ns) {
    up(place_[flow]);
  } else {
    down(place_[flow]);
  }
}

void EndQueue::remove_first() {
  place_[heap_.front()] = kNowhere;
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  if (heap_.empty()) return;
  put(0, last);
  down(0);
}

Transfers::Transfers(std::unique_ptr<Fabric> fabric)
    : fabric_(std::move(fabric)),
      sharing_(capacities_of(*fabric_)),
      usage_(fabric_->links().size()) {}

// What the links of the path would give to this message alone, on a network without other traffic.
double Transfers::rate_alone(std::uint32_t flow) const {
  double rate = 1;
  sharing_.for_each_link(flow, [&](std::uint32_t link, double weight) {
    rate = std::min(rate, fabric_->links()[link].changed / weight);
  });
  return rate;
}

double Transfers::lost_ns(const Transfer& self, std::int64_t now_ns) const {
  const auto length_ns = static_cast<double>(now_ns - self.same_since_ns);
  return self.lost_before_ns + length_ns - (self.left_then_ns - self.left_ns) / self.alone_rate;
}

// Counts what the message has lost until now, and begins with a network that is another one.
void Transfers::begin_anew(std::uint32_t flow, std::int64_t now_ns) {
  Transfer& self = transfers_[flow];
  self.lost_before_ns = lost_ns(self, now_ns);
  self.same_since_ns = now_ns;
  self.left_then_ns = self.left_ns;
  self.alone_rate = rate_alone(flow);
}

bool Transfers::take_another_way(std::uint32_t flow, std::int64_t now_ns) {
  Transfer& self = transfers_[flow];
  if (!fabric_->find_path(self.message, path_)) return false;
  change_load(flow, -self.rate, now_ns);
  self.rate = 0;
  self.latency_ns = path_.latency_ns + fabric_->latency_noise_ns(self.send.rank, self.send.op);
  sharing_.reroute(flow, path_.links);
  return true;
}

void Transfers::change_links(std::int64_t now_ns) {
  std::vector<std::uint32_t> touched;
  std::vector<std::uint32_t> without_way;
  for (const std::uint32_t id : fabric_->change_links(now_ns)) {
    const FabricLink& link = fabric_->links()[id];
    const bool failed = link.changed == 0;
    sharing_.for_each_flow(id, [&](std::uint32_t flow) {
      touched.push_back(flow);
      if (failed) without_way.push_back(flow);
    });
    if (!failed) sharing_.set_capacity(id, link.left());
  }
  for (std::vector<std::uint32_t>* flows : {&touched, &without_way}) {
    std::sort(flows->begin(), flows->end());
    flows->erase(std::unique(flows->begin(), flows->end()), flows->end());
  }
  for (const std::uint32_t flow : touched)
    advance(transfers_[flow], now_ns);
  for (const std::uint32_t flow : without_way) {
    if (take_another_way(flow, now_ns)) continue;
    unreachable_ = transfers_[flow].send;
    return;
  }
  for (const std::uint32_t flow : touched)
    begin_anew(flow, now_ns);
}

std::uint64_t Transfers::connection_of(const Fabric::Message& message) {
  return std::uint64_t{message.source} << 36U | std::uint64_t{message.target} << 8U | message.cpu;
}

void Transfers::wait(const Start& start, Connection& connection, std::int64_t now_ns) {
  std::uint32_t node = free_waiting_;
  if (node == kNone) {
    node = static_cast<std::uint32_t>(waiting_.size());
    waiting_.emplace_back();
  } else {
    free_waiting_ = waiting_[node].next;
  }
  waiting_[node] = {.start = start, .enter_ns = now_ns};
  if (connection.first == kNone) {
    connection.first = node;
  } else {
    waiting_[connection.last].next = node;
  }
  connection.last = node;
}

void Transfers::start(const Start& start, std::int64_t now_ns, std::vector<Departure>& departures) {
  const auto [connection, is_new] = connections_.try_emplace(connection_of(start.message));
  if (!is_new) {
    wait(start, connection->second, now_ns);
    return;
  }
  const std::size_t before = departures.size();
  const bool found = begin({.start = start, .enter_ns = now_ns}, kNone, now_ns, departures);
  if (!found || departures.size() > before) connections_.erase(connection_of(start.message));
}

bool Transfers::begin(const Waiting& message,
                      std::uint32_t behind,
                      std::int64_t now_ns,
                      std::vector<Departure>& departures) {
  const Start& start = message.start;
  if (!fabric_->find_path(start.message, path_)) {
    unreachable_ = start.send;
    return false;
  }
  const std::int64_t latency_ns =
      path_.latency_ns + fabric_->latency_noise_ns(start.send.rank, start.send.op);
  if (start.work_ns == 0) {
    departures.push_back({.send = start.send,
                          .latency_ns = latency_ns,
                          .transfer_ns = now_ns - message.enter_ns,
                          .behind = behind});
    ++totals_.messages;
    return true;
  }
  const std::uint32_t flow = sharing_.add(path_.links);
  if (flow >= transfers_.size()) transfers_.resize(flow + 1);
  Transfer& transfer = transfers_[flow];
  transfer = {.send = start.send,
              .message = start.message,
              .behind = behind,
              .enter_ns = message.enter_ns,
              .start_ns = now_ns,
              .since_ns = now_ns,
              .latency_ns = latency_ns,
              .left_ns = static_cast<double>(start.work_ns),
              .same_since_ns = now_ns,
              .left_then_ns = static_cast<double>(start.work_ns)};
  transfer.alone_rate = rate_alone(flow);
  return true;
}

// Lets the messages of a connection begin that come next; several, if they take no time.
void Transfers::begin_next(std::uint64_t connection,
                           std::uint32_t behind,
                           std::int64_t now_ns,
                           std::vector<Departure>& departures) {
  Connection& self = connections_.at(connection);
  for (;;) {
    const std::uint32_t node = self.first;
    if (node == kNone) {
      connections_.erase(connection);
      return;
    }
    const Waiting message = waiting_[node];
    self.first = message.next;
    waiting_[node].next = free_waiting_;
    free_waiting_ = node;
    const std::size_t before = departures.size();
    const bool found = begin(message, behind, now_ns, departures);
    if (!found || departures.size() == before) return;
    behind = message.start.send.op;
  }
}

void Transfers::change_load(std::uint32_t flow, double by, std::int64_t now_ns) {
  sharing_.for_each_link(flow, [&](std::uint32_t link, double weight) {
    const double left = fabric_->links()[link].left();
    double load = usage_.load(link) + by * weight;
    if (load < kIdleLoad) load = 0;
    usage_.set(link, now_ns, load, load > left * (1 - 1e-6));
  });
}

// Does what the flow did at its rate until now.
void Transfers::advance(Transfer& self, std::int64_t now_ns) {
  const auto length = static_cast<double>(now_ns - self.since_ns);
  self.left_ns -= self.rate * length;
  self.since_ns = now_ns;
  const double share_lost = 1 - self.rate / self.alone_rate;
  if (share_lost > kIdleLoad && self.bottleneck != Sharing::kNoLink) {
    usage_.add_lost(self.bottleneck, share_lost * length);
  }
}

void Transfers::set_rate(std::uint32_t flow, double rate, std::int64_t now_ns) {
  Transfer& self = transfers_[flow];
  advance(self, now_ns);
  change_load(flow, rate - self.rate, now_ns);
  self.rate = rate;
  self.bottleneck = sharing_.bottleneck(flow);
}

void Transfers::settle(std::int64_t now_ns) {
  for (const std::uint32_t flow : sharing_.settle()) {
    set_rate(flow, sharing_.rate(flow), now_ns);
    const Transfer& self = transfers_[flow];
    const std::int64_t length = self.rate > 0 ? until_done_ns(self.left_ns, self.rate) : kForeverNs;
    ends_.set(flow, now_ns + length);
  }
}

void Transfers::end(std::int64_t now_ns, std::vector<Departure>& departures) {
  while (!ends_.empty() && ends_.first_ns() <= now_ns) {
    const std::uint32_t flow = ends_.first();
    ends_.remove_first();
    Transfer& self = transfers_[flow];
    advance(self, now_ns);
    const std::int64_t moving_ns = now_ns - self.start_ns;
    self.left_ns = 0;
    // The end is rounded up to a whole ns, which is no contention.
    const double beyond = std::floor(lost_ns(self, now_ns));
    const auto lost_ns = std::max(static_cast<std::int64_t>(beyond), std::int64_t{0});
    departures.push_back(
        {self.send, self.latency_ns, now_ns - self.enter_ns, lost_ns, self.behind});
    totals_.messages += 1;
    totals_.moving_ns += static_cast<double>(moving_ns);
    totals_.lost_ns += static_cast<double>(lost_ns);
    change_load(flow, -self.rate, now_ns);
    sharing_.remove(flow);
    const std::uint64_t connection = connection_of(self.message);
    const std::uint32_t op = self.send.op;
    begin_next(connection, op, now_ns, departures);  // transfers_ may grow
  }
}

}  // namespace assay::simulate
