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

core::Status check_ranks(const CollectivePlan& plan) {
  if (plan.ranks < 2) return core::Error{"a collective needs at least 2 ranks"};
  if (plan.ranks > plan.gpus_per_node && plan.ranks % plan.gpus_per_node != 0) {
    return core::Error{
        fmt::format("{} ranks do not fill nodes of {} GPUs", plan.ranks, plan.gpus_per_node)};
  }
  if (plan.function != NcclFunction::kAllReduce && plan.bytes < plan.ranks) {
    return core::Error{fmt::format("{} leave nothing for some of {} ranks",
                                   core::counted(plan.bytes, "byte"), plan.ranks)};
  }
  return {};
}

// Every rank has as much, so that buffers are filled up as engines fill theirs.
std::uint64_t share_of_rank(const CollectivePlan& plan) {
  return (plan.bytes + plan.ranks - 1) / plan.ranks;
}

// What Operation::bytes is of a function whose whole buffer has so many bytes.
std::uint64_t bytes_of_rank(const CollectivePlan& plan) {
  const bool shares =
      plan.function == NcclFunction::kAllGather || plan.function == NcclFunction::kReduceScatter;
  return shares ? share_of_rank(plan) : plan.bytes;
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
                              .nodes = plan.ranks / in_node};
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

core::Result<SchedulePlan> plan_all_to_all(const CollectivePlan& plan,
                                           Simulator simulator,
                                           ExpandOptions options) {
  ASSAY_TRY(check_ranks(plan));
  const std::uint64_t bytes = share_of_rank(plan);
  if (bytes > model::kMostSize) {
    return core::Error{fmt::format("a message of {} bytes is larger than 2 GiB", bytes)};
  }
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
  made.make_rank = [ranks = plan.ranks, in_node = plan.gpus_per_node, bytes, options](
                       std::uint32_t rank, RankWork& work) -> core::Status {
    const auto form = [&](std::uint32_t peer) {
      return MessageForm(options, peer / in_node == rank / in_node);
    };
    const std::uint8_t link_cpu = options.cpus == CpuUse::kOne ? 0 : 1;
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t next = (rank + step) % ranks;
      const std::uint32_t previous = (rank + ranks - step) % ranks;
      const MessageForm sent = form(next);
      const MessageForm received = form(previous);
      work.graph.send(sent.bytes(bytes), next, 0, {.nic = sent.nic()});
      const std::uint32_t receive =
          work.graph.receive(received.bytes(bytes), previous, 0, {.nic = received.nic()});
      if (!received.as_calc()) continue;
      const std::uint32_t transfer =
          work.graph.calc(in_units(received.transfer_ns(bytes), options), {.cpu = link_cpu});
      work.graph.require_finish(transfer, receive);
    }
    return {};
  };
  return made;
}

}  // namespace assay::goal
