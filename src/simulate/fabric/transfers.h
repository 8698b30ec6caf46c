// Messages on their way through a network that they share.
//
// A message enters the network when its sender's CPU is done with it and leaves it when its last
// byte has; it arrives the latency of its path later. Messages of a connection, which is a pair of
// ranks and the CPU that sends, follow each other in order; different connections share links.
// Alone a message takes what (s-1) G says, or longer where a link of its path is slower than its
// NIC; what it takes beyond that, once it is the first of its connection, is lost to contention.
// When a link of its path fails, what is left of a message takes another way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "simulate/fabric/fabric.h"
#include "simulate/fabric/link_usage.h"
#include "simulate/fabric/sharing.h"
#include "simulate/record.h"

namespace assay::simulate {

struct Departure {
  OpId send = {};
  std::int64_t latency_ns = 0;
  std::int64_t transfer_ns = 0;  // in the network
  std::int64_t lost_ns = 0;      // of that, what the message lost to others
  // The operation of the sender whose message was before it in its connection; kNone if it did not
  // have to wait for one.
  std::uint32_t behind = kNone;
};

// Flows by the time when they end.
class EndQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }

  [[nodiscard]] std::uint32_t first() const { return heap_.front(); }

  [[nodiscard]] std::int64_t first_ns() const { return end_ns_[heap_.front()]; }

  // Adds the flow or changes its time.
  void set(std::uint32_t flow, std::int64_t end_ns);
  void remove_first();

 private:
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFF;

  void up(std::size_t at);
  void down(std::size_t at);
  void put(std::size_t at, std::uint32_t flow);

  std::vector<std::uint32_t> heap_;
  std::vector<std::int64_t> end_ns_;  // by flow
  std::vector<std::uint32_t> place_;
};

class Transfers {
 public:
  explicit Transfers(std::unique_ptr<Fabric> fabric);

  [[nodiscard]] const Fabric& fabric() const { return *fabric_; }

  struct Start {
    OpId send = {};
    Fabric::Message message = {};
    std::int64_t work_ns = 0;  // (s-1) G
  };

  // Lets a message enter the network. One that takes no time leaves at once, unless others are
  // before it.
  void start(const Start& start, std::int64_t now_ns, std::vector<Departure>& departures);

  // Changes the links as the network file says of this time.
  void change_links(std::int64_t now_ns);

  // Returns a send for whose message no way is left, if there is one; then nothing may go on.
  [[nodiscard]] std::optional<OpId> unreachable() const { return unreachable_; }

  // Returns the next time when a message leaves, or -1. Rates must be settled.
  [[nodiscard]] std::int64_t next_end_ns() const { return ends_.empty() ? -1 : ends_.first_ns(); }

  // Takes out what leaves now.
  void end(std::int64_t now_ns, std::vector<Departure>& departures);

  [[nodiscard]] bool dirty() const { return sharing_.dirty(); }

  // Shares the links anew after all that happened at this time.
  void settle(std::int64_t now_ns);

  // After the end: completes what reports read.
  void finish(std::int64_t now_ns) { usage_.finish(now_ns); }

  [[nodiscard]] const LinkUsage& usage() const { return usage_; }

  struct Totals {
    std::uint64_t messages = 0;
    double moving_ns = 0;  // as the first of their connections
    double lost_ns = 0;    // of that
  };

  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  struct Transfer {
    OpId send = {};
    Fabric::Message message = {};
    std::uint32_t behind = kNone;
    std::int64_t enter_ns = 0;
    std::int64_t start_ns = 0;
    std::int64_t since_ns = 0;  // the rate holds since then
    std::int64_t latency_ns = 0;
    double left_ns = 0;  // at a rate of 1
    // Since the network is as it is now: when that began, what was left then, and what the message
    // had lost before.
    std::int64_t same_since_ns = 0;
    double left_then_ns = 0;
    double lost_before_ns = 0;
    double alone_rate = 1;  // in this network, if it were alone
    double rate = 0;
    std::uint32_t bottleneck = Sharing::kNoLink;
  };

  // A message that waits for those before it in its connection.
  struct Waiting {
    Start start = {};
    std::int64_t enter_ns = 0;
    std::uint32_t next = kNone;
  };

  // One that has a message in the network; the others have no entry.
  struct Connection {
    std::uint32_t first = kNone;  // into waiting_
    std::uint32_t last = kNone;
  };

  static std::uint64_t connection_of(const Fabric::Message& message);
  void wait(const Start& start, Connection& connection, std::int64_t now_ns);
  bool begin(const Waiting& message,
             std::uint32_t behind,
             std::int64_t now_ns,
             std::vector<Departure>& departures);
  void begin_next(std::uint64_t connection,
                  std::uint32_t behind,
                  std::int64_t now_ns,
                  std::vector<Departure>& departures);
  void advance(Transfer& self, std::int64_t now_ns);
  void set_rate(std::uint32_t flow, double rate, std::int64_t now_ns);
  void change_load(std::uint32_t flow, double by, std::int64_t now_ns);
  void begin_anew(std::uint32_t flow, std::int64_t now_ns);
  bool take_another_way(std::uint32_t flow, std::int64_t now_ns);
  [[nodiscard]] double lost_ns(const Transfer& self, std::int64_t now_ns) const;
  [[nodiscard]] double rate_alone(std::uint32_t flow) const;

  std::unique_ptr<Fabric> fabric_;
  Sharing sharing_;
  LinkUsage usage_;
  EndQueue ends_;
  std::vector<Transfer> transfers_;  // by flow
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::vector<Waiting> waiting_;
  std::uint32_t free_waiting_ = kNone;
  Path path_;
  std::optional<OpId> unreachable_ = std::nullopt;
  Totals totals_;
};

}  // namespace assay::simulate
