// The state of every operation of a simulation, in 16 bytes each: while it runs, what the operation
// still waits for; afterwards, when and why it started.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/schedule.h"
#include "simulate/network.h"

namespace assay::simulate {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

struct OpId {
  std::uint32_t rank = 0;
  std::uint32_t op = 0;

  friend bool operator==(const OpId&, const OpId&) = default;
};

enum class Phase : std::uint8_t {
  kBlocked,  // waits for other operations of its rank
  kReady,    // waits for a CPU or a NIC
  kPosted,   // a receive without a message
  kSent,     // a send whose receive has not begun, and which waits for that
  kDone,
};

// The reason why an operation started no earlier.
enum class Reason : std::uint8_t {
  kBeginning,    // it started at 0
  kAfterFinish,  // another operation of the rank ended
  kAfterStart,   // another operation of the rank started
  kMessage,      // the message arrived
  kCpu,          // another operation of the rank had the CPU
  kNic,          // another operation of the rank had the NIC
};

class OpState {
 public:
  // The time since which nothing is left to wait for; for an operation that has started, its start.
  // Below 2^58.
  [[nodiscard]] std::int64_t time_ns() const { return static_cast<std::int64_t>(bits_ >> 6U); }

  [[nodiscard]] Phase phase() const { return static_cast<Phase>(bits_ & 7U); }

  [[nodiscard]] Reason reason() const { return static_cast<Reason>(bits_ >> 3U & 7U); }

  void set_time_ns(std::int64_t time_ns) {
    bits_ = static_cast<std::uint64_t>(time_ns) << 6U | (bits_ & 63U);
  }

  void set_phase(Phase phase) { bits_ = (bits_ & ~7ULL) | static_cast<std::uint64_t>(phase); }

  void set_reason(Reason reason, std::uint32_t of) {
    bits_ = (bits_ & ~(7ULL << 3U)) | static_cast<std::uint64_t>(reason) << 3U;
    cause = of;
  }

  std::uint32_t cause = kNone;  // the operation to which the reason refers
  // kBlocked: the number of operations that it waits for. Otherwise the send of a receive or the
  // receive of a send; kNone until they have met.
  std::uint32_t link = 0;

 private:
  std::uint64_t bits_ = 0;  // time, reason, phase
};

static_assert(sizeof(OpState) == 16);

// The times of one operation. A receive starts when its message is taken from the NIC.
struct OpTimes {
  std::int64_t start_ns = 0;
  std::int64_t cpu_end_ns = 0;  // when the operation leaves its CPU
  std::int64_t end_ns = 0;      // later for a rendezvous send: the end of its receive
};

class Fabric;

// What a message took in a network that contends.
struct Passage {
  std::int64_t transfer_ns =
      -1;                        // from the sender's CPU until its last byte left; -1: it took none
  std::int64_t lost_ns = 0;      // of that, what it lost to messages of other connections
  std::uint32_t behind = kNone;  // the send of the same rank whose message it had to wait for
};

class Record {
 public:
  // Refers to the network, and to the one that contends, which is null without one.
  Record(const model::Schedule& schedule, const Network& network, const Fabric* fabric);

  // Makes the states of a rank's operations, which wait, before anything asks for them. Several
  // threads may do so for different ranks.
  void prepare(std::uint32_t rank);

  [[nodiscard]] OpState& state(OpId id) { return states_[id.rank][id.op]; }

  [[nodiscard]] const OpState& state(OpId id) const { return states_[id.rank][id.op]; }

  [[nodiscard]] const model::ScheduleOp& op(OpId id) const {
    return schedule_.ranks()[id.rank].ops[id.op];
  }

  [[nodiscard]] const model::Schedule& schedule() const { return schedule_; }

  [[nodiscard]] std::uint64_t num_ops() const { return num_ops_; }

  // Returns the receive of a send or the send of a receive; op is kNone when there is none.
  [[nodiscard]] OpId partner(OpId id) const;

  // Stores the source of the message of a receive from any rank.
  void set_source(OpId receive, std::uint32_t rank);

  // Returns the link of a send, or of a receive that has its message.
  [[nodiscard]] const Link& link(OpId id) const {
    return network_->between(id.rank, partner_rank(id));
  }

  // How long a calculation takes that has started.
  [[nodiscard]] std::int64_t calc_ns(OpId id) const;

  void set_passage(OpId send, const Passage& passage);
  [[nodiscard]] Passage passage(OpId send) const;

  // Returns when the last byte of a message with a passage left the network, and when it was the
  // first of its connection.
  [[nodiscard]] std::int64_t left_ns(OpId send) const;
  [[nodiscard]] std::int64_t moving_since_ns(OpId send) const;

  // Returns the times of an operation that is done.
  [[nodiscard]] OpTimes times(OpId id) const;

  // Returns the bytes of a send or of a receive's message.
  [[nodiscard]] std::uint64_t message_bytes(OpId id) const;

 private:
  [[nodiscard]] std::uint32_t partner_rank(OpId id) const;

  model::Schedule schedule_;  // a copy shares the bytes
  const Network* network_;
  const Fabric* fabric_;
  std::uint64_t num_ops_ = 0;
  // By rank, operation. Passages are empty without a network that contends.
  std::vector<std::vector<OpState>> states_;
  std::vector<std::vector<Passage>> passages_;
  // By rank: the sources of its receives from any rank; null without any.
  std::vector<std::unique_ptr<std::unordered_map<std::uint32_t, std::uint32_t>>> sources_;
};

}  // namespace assay::simulate
