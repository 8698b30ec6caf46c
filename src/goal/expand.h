// One GPU's calls as a graph of sends, receives and calculations.
//
//   start (a calculation: the time since what it follows) -> for every channel a chain of slices
//   -> end (a calculation of 0 ns)
//   slice: receives -> work -> sends; a slice's work follows that of the slice before it
//
// A receive is ready when its buffer is free again: after the work of `Cut::slots` slices before.
// A simulator with rendezvous thereby holds back senders as NCCL's credits do.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/costs.h"
#include "goal/tags.h"
#include "goal/timeline.h"
#include "model/schedule_writer.h"

namespace assay::goal {

// The form that transfers between GPUs of one node have in the schedule.
enum class IntraNode {
  kMessages,  // as messages from NIC 1, for simulators that know nodes
  kCalc,  // as empty messages followed by a calculation on the receiving GPU's link, for those that
          // do not
};

// The CPUs of a rank on which its operations run.
enum class CpuUse {
  kByChannel,  // work on one for each channel of a stream, messages on one more
  kOne,        // all on one, for simulators that let an operation start before what it follows on
               // another; the work of a launch's channels is then divided by their number
};

struct ExpandOptions {
  IntraNode intra_node = IntraNode::kMessages;
  CpuUse cpus = CpuUse::kByChannel;
  std::uint64_t empty_message_bytes = 0;  // for kCalc: what an empty message carries
  double time_unit_ns = 1;                // calculations are whole numbers of this
  double intra_latency_ns = 0;            // for kCalc: the latency of a transfer
  double intra_bytes_per_ns = 150;        // for kCalc: the bandwidth into a GPU
};

// Returns a duration in the units of the schedule.
std::uint64_t in_units(double duration_ns, const ExpandOptions& options);

// It tells what a message and its transfer become between two ranks that share a node or do not.
class MessageForm {
 public:
  MessageForm(const ExpandOptions& options, bool in_node) : options_(options), in_node_(in_node) {}

  // Returns whether the message is empty and a calculation behind its receive stands for the
  // transfer.
  [[nodiscard]] bool as_calc() const { return in_node_ && options_.intra_node == IntraNode::kCalc; }

  [[nodiscard]] std::uint8_t nic() const;

  [[nodiscard]] std::uint64_t bytes(std::uint64_t wire_bytes) const {
    return as_calc() ? options_.empty_message_bytes : wire_bytes;
  }

  [[nodiscard]] double transfer_ns(std::uint64_t wire_bytes) const {
    return options_.intra_latency_ns +
           static_cast<double>(wire_bytes) / options_.intra_bytes_per_ns;
  }

 private:
  const ExpandOptions& options_;
  bool in_node_;
};

class Expander {
 public:
  Expander(const Resolved& resolved,
           const TagPlan& tags,
           const Costs& costs,
           const ExpandOptions& options,
           StreamPlan plan);

  // Adds the graph of a GPU to an empty builder and returns the part of the graph that each
  // exchange became. A gap that a clock or an overlap made negative becomes 0 and is counted in
  // `warnings`. May be called for several GPUs at once.
  std::vector<model::OperationSpan> expand(std::uint32_t gpu,
                                           model::RankBuilder& builder,
                                           model::Warnings& warnings) const;

 private:
  class OneGpu;

  const Resolved& resolved_;
  const TagPlan& tags_;
  const Costs& costs_;
  ExpandOptions options_;
  StreamPlan plan_;
  std::vector<std::int64_t> clock_start_ns_;  // by clock: the time at which its first GPU began
};

}  // namespace assay::goal
