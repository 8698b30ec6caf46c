#include "goal/synth/collective_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "goal/lowering.h"
#include "goal/synth/assemble.h"
#include "goal/synth/collective_choice.h"
#include "goal/synth/program.h"

namespace assay::goal {
namespace {

using model::NcclFunction;

// Returns whether each rank has a part of the whole buffer.
bool has_shares(NcclFunction function) {
  return function == NcclFunction::kAllGather || function == NcclFunction::kReduceScatter ||
         function == NcclFunction::kAllToAll || function == NcclFunction::kScatter ||
         function == NcclFunction::kGather;
}

core::Status check_ranks(const CollectivePlan& plan) {
  if (plan.ranks < 2) return core::Error{"a collective needs at least 2 ranks"};
  if (has_shares(plan.function) && plan.bytes > 0 && plan.bytes < plan.ranks) {
    return core::Error{fmt::format("{} nothing for some of {} ranks",
                                   core::counted(plan.bytes, "byte leaves", "bytes leave"),
                                   plan.ranks)};
  }
  return {};
}

// Every rank has as much, so that buffers are filled up as engines fill theirs.
std::uint64_t share_of_rank(const CollectivePlan& plan) {
  return (plan.bytes + plan.ranks - 1) / plan.ranks;
}

// What Operation::bytes is of a function whose whole buffer has so many bytes.
std::uint64_t bytes_of_rank(const CollectivePlan& plan) {
  return has_shares(plan.function) ? share_of_rank(plan) : plan.bytes;
}

}  // namespace

core::Result<MadeJob> make_collective_job(const CollectivePlan& plan) {
  ASSAY_TRY(check_ranks(plan));
  const std::uint32_t in_node = std::min(plan.ranks, plan.gpus_per_node);
  const JobGrid grid{.dp = plan.ranks, .gpus_per_node = in_node};
  ASSAY_TRY(check_grid(grid));
  const CollectiveShape shape{.function = plan.function,
                              .bytes = bytes_of_rank(plan),
                              .ranks = plan.ranks,
                              .nodes = (plan.ranks + in_node - 1) / in_node};
  const CollectiveChoice choice = choose_collective(shape);
  const model::NcclAlgorithm algorithm = plan.algorithm.value_or(choice.algorithm);
  if (find_lowering(plan.function, algorithm) == nullptr) {
    return core::Error{
        fmt::format("NCCL has no {} by {}", name_of(plan.function), name_of(algorithm))};
  }
  ProgramWriter writer;
  writer.call(collective_op(
      {.group = Group::kData, .function = plan.function, .bytes = shape.bytes, .element_bytes = 1},
      Lane::kData));
  AssembledJob assembled = ASSAY_TRY(assemble({writer.finish()}, grid));
  for (model::JobGpu& gpu : assembled.job.gpus) {
    for (model::Operation& operation : gpu.operations) {
      operation.algorithm = algorithm;
      operation.protocol = plan.protocol.value_or(choice.protocol);
      operation.num_channels = plan.channels.value_or(choice.channels);
    }
  }
  return MadeJob{.job = std::move(assembled.job), .repeats = grid.repeats(), .summary = {}};
}

namespace {

// Tells what a rank does at a distance of other ranks from it.
struct Exchanged {
  bool sends = false;     // to the rank so far behind it
  bool receives = false;  // from the rank so far before it
};

Exchanged exchanged(NcclFunction function,
                    std::uint32_t to,
                    std::uint32_t from,
                    std::uint32_t rank) {
  switch (function) {
    case NcclFunction::kGather:
      return {.sends = to == 0, .receives = rank == 0};
    case NcclFunction::kScatter:
      return {.sends = rank == 0, .receives = from == 0};
    default:
      return {.sends = true, .receives = true};
  }
}

constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 30;

// Writes the messages of one rank.
class MessageWriter {
 public:
  MessageWriter(const CollectivePlan& plan, const ExpandOptions& options)
      : plan_(plan), options_(options), bytes_(bytes_of_rank(plan)) {}

  void write(std::uint32_t rank, RankWork& work) const {
    // A send to the next rank goes no further.
    const std::uint32_t end = plan_.function == NcclFunction::kSendRecv ? 2 : plan_.ranks;
    // Messages within a node that are empty, with a calculation, would wait at the NIC for those
    // to other nodes.
    for (const bool within : {true, false}) {
      for (std::uint32_t step = 1; step < end; ++step) {
        const std::uint32_t to = (rank + step) % plan_.ranks;
        const std::uint32_t from = (rank + plan_.ranks - step) % plan_.ranks;
        const Exchanged done = exchanged(plan_.function, to, from, rank);
        if (done.sends && in_node(rank, to) == within) send(rank, to, work);
        if (done.receives && in_node(rank, from) == within) receive(rank, from, work);
      }
    }
  }

 private:
  [[nodiscard]] bool in_node(std::uint32_t rank, std::uint32_t peer) const {
    return peer / plan_.gpus_per_node == rank / plan_.gpus_per_node;
  }

  [[nodiscard]] MessageForm form(std::uint32_t rank, std::uint32_t peer) const {
    return {options_, in_node(rank, peer)};
  }

  // Calls `add` with the size and the tag of each message that carries so many bytes: a schedule's
  // sizes have 31 bits.
  template <class Add>
  static void for_each_part(std::uint64_t bytes, Add add) {
    std::uint32_t tag = 0;
    for (; bytes > model::kMostSize; bytes -= kPartBytes)
      add(kPartBytes, tag++);
    add(bytes, tag);
  }

  void send(std::uint32_t rank, std::uint32_t to, RankWork& work) const {
    const MessageForm sent = form(rank, to);
    for_each_part(sent.bytes(bytes_), [&](std::uint64_t bytes, std::uint32_t tag) {
      work.graph.send(bytes, to, tag, {.nic = sent.nic()});
    });
  }

  void receive(std::uint32_t rank, std::uint32_t from, RankWork& work) const {
    const MessageForm received = form(rank, from);
    std::uint32_t receive = 0;
    for_each_part(received.bytes(bytes_), [&](std::uint64_t bytes, std::uint32_t tag) {
      receive = work.graph.receive(bytes, from, tag, {.nic = received.nic()});
    });
    if (!received.as_calc()) return;
    const std::uint8_t link_cpu = options_.cpus == CpuUse::kOne ? 0 : 1;
    const std::uint32_t transfer =
        work.graph.calc(in_units(received.transfer_ns(bytes_), options_), {.cpu = link_cpu});
    work.graph.require_finish(transfer, receive);
  }

  CollectivePlan plan_;
  ExpandOptions options_;
  std::uint64_t bytes_;
};

}  // namespace

bool is_of_messages(NcclFunction function) {
  return function == NcclFunction::kAllToAll || function == NcclFunction::kGather ||
         function == NcclFunction::kScatter || function == NcclFunction::kSendRecv;
}

core::Result<SchedulePlan> plan_messages(const CollectivePlan& plan,
                                         Simulator simulator,
                                         ExpandOptions options) {
  ASSAY_TRY(check_ranks(plan));
  adapt(simulator, options);
  SchedulePlan made;
  made.num_ranks = plan.ranks;
  made.notes.made_for = name_of(simulator);
  made.notes.time_unit_ns = options.time_unit_ns;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    made.notes.ranks.push_back({.node = fmt::format("node{}", rank / plan.gpus_per_node),
                                .process_id = rank,
                                .device = static_cast<std::int32_t>(rank % plan.gpus_per_node)});
  }
  made.make_rank = [writer = MessageWriter(plan, options)](std::uint32_t rank,
                                                           RankWork& work) -> core::Status {
    writer.write(rank, work);
    return {};
  };
  return made;
}

}  // namespace assay::goal
