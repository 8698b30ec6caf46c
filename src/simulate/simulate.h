// Runs a GOAL schedule under the LogGOPS model.
//
// The model is that of the LogGOPSim in ATLAHS. For a message of s bytes (0 counts as 1)
//
//   the sender's CPU is busy for       o + (s-1) O
//   the sending side of its NIC for    g + (s-1) G      from the same moment
//   it arrives                         L + (s-1) G      after the sender's CPU is done
//   the receiver's CPU is busy for     g + o + (s-1) O  once it has arrived and is wanted
//   the receiving side of its NIC for  g                from the same moment
//
// An eager send (s <= S) ends when its CPU is done. Other sends end with their receive and keep the
// sender's CPU and NIC from the moment the receive begins until they are free at the receiver.
// Products are rounded down. A posted receive occupies nothing; a calculation occupies its CPU.
// Messages and receives meet by source and tag, first come, first served.
//
// With a network that contends (fabric/fabric_spec.h), a message enters it when its sender's CPU is
// done, shares its links with others by max-min fairness (fabric/sharing.h), and arrives the
// latency of its path after its last byte has left it. That is at the same time as above unless a
// link is shared or slower. The sender's NIC takes on messages as above, so that it may have
// several on the way, which share it.
//
// LogGOPSim does not define the order of events at the same time; events.h defines it here. If a
// message arrives before its receive, LogGOPSim lets the reception run along with other work on the
// same CPU and wait for the sending side of the NIC; here a reception is the same whichever came
// first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.h"
#include "model/schedule.h"
#include "simulate/fabric/fabric_spec.h"
#include "simulate/fabric/transfers.h"
#include "simulate/network.h"
#include "simulate/record.h"

namespace assay::simulate {

struct Options {
  LogGops inter = {};
  // The parameters between ranks of one node; needs node_of_rank.
  std::optional<LogGops> intra = std::nullopt;
  std::vector<std::uint32_t> node_of_rank = {};
  std::optional<FabricSpec> fabric = std::nullopt;
};

// Why one thread has to run all ranks.
enum class Alone : std::uint8_t {
  kNo,
  kSharedLinks,  // a message may slow down any other one at once
  kRendezvous,   // the receiver keeps the sender busy from the moment it begins
  kNoTime,       // messages that take no time: L and o are 0
};

class Outcome {
 public:
  // `fabric` may be null.
  Outcome(const model::Schedule& schedule, const Network& network, std::unique_ptr<Fabric> fabric);

  Outcome(Outcome&&) = default;

  std::vector<std::int64_t> finish_ns;  // by rank: the end of its last operation
  std::vector<OpId> last_op;            // by rank: its last operation; op is kNone without any
  std::uint64_t operations_done = 0;
  std::uint64_t messages = 0;  // sends that have started
  std::uint64_t events = 0;    // operations and messages, as LogGOPSim counts
  bool finished = false;       // all operations are done and all messages received
  unsigned threads = 1;        // that ran it
  Alone alone = Alone::kNo;

  [[nodiscard]] const Record& record() const { return *record_; }

  [[nodiscard]] Record& record() { return *record_; }

  // The messages in the network that contends; null without one.
  [[nodiscard]] const Transfers* transfers() const { return transfers_.get(); }

  [[nodiscard]] Transfers* transfers() { return transfers_.get(); }

  [[nodiscard]] std::int64_t longest_ns() const;

 private:
  std::unique_ptr<const Network> network_;
  std::unique_ptr<Transfers> transfers_;
  std::unique_ptr<Record> record_;
};

// Fails on parameters that are no times and when the schedule takes longer than kForeverNs. A
// schedule that cannot end is no failure here: see Outcome::finished and stuck.h.
//
// `threads`: 0 for one a processor, but no more than the schedule keeps busy. The result does not
// depend on their number. Where a rule leaves ranks no time apart, one runs all: see
// Outcome::alone.
core::Result<Outcome> simulate(const model::Schedule& schedule,
                               const Options& options,
                               unsigned threads = 1);

}  // namespace assay::simulate
