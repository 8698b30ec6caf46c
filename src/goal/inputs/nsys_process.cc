#include "goal/inputs/nsys_process.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::goal {

using model::NcclFunction;

FunctionSet kernel_functions(NcclFunction function) {
  switch (function) {
    case NcclFunction::kSendRecv:
    case NcclFunction::kSend:
    case NcclFunction::kRecv:
    case NcclFunction::kAllToAll:
    case NcclFunction::kScatter:
    case NcclFunction::kGather:
      return FunctionSet{1} << static_cast<unsigned>(NcclFunction::kSendRecv);
    default:
      return static_cast<FunctionSet>(1U << static_cast<unsigned>(function));
  }
}

void NsysProcess::add(const NvtxText& text,
                      std::int64_t start_ns,
                      std::int64_t end_ns,
                      std::uint32_t thread_id) {
  first_ns = std::min(first_ns, start_ns);
  last_ns = std::max(last_ns, end_ns);
  Thread& thread = threads_[thread_id];
  switch (text.kind) {
    case NvtxKind::kGroupStart:
      if (thread.depth++ == 0) start_group(thread, thread_id, start_ns);
      break;
    case NvtxKind::kGroupEnd:
      end_group(thread, end_ns);
      break;
    case NvtxKind::kCall:
      if (thread.depth == 0) {
        start_group(thread, thread_id, start_ns);
        groups.back().end_ns = end_ns;
      }
      add_call(text, start_ns, end_ns, thread);
      break;
    case NvtxKind::kCollective:
      add_collective(text, thread);
      break;
    case NvtxKind::kCollectivePart:
      add_collective_part(text, thread);
      break;
    case NvtxKind::kPointToPointPart:
      add_point_to_point_part(text, thread);
      break;
    case NvtxKind::kCommunicator:
      add_communicator(text);
      break;
    case NvtxKind::kRing:
    case NvtxKind::kTree:
      add_links(text);
      break;
    case NvtxKind::kWindowStart:
    case NvtxKind::kWindowStop:
      add_window(text, start_ns);
      break;
    case NvtxKind::kLaunch:
    case NvtxKind::kOther:
      break;
  }
}

void NsysProcess::start_group(Thread& thread, std::uint32_t id, std::int64_t start_ns) {
  thread.group = static_cast<std::uint32_t>(groups.size());
  thread.operations.clear();
  thread.plans.clear();
  thread.marked = kNone;
  groups.push_back({.thread = id, .start_ns = start_ns, .end_ns = start_ns});
}

void NsysProcess::end_group(Thread& thread, std::int64_t end_ns) {
  if (thread.depth == 0) {
    ++oddities.group_ends_without_start;  // the recording began inside the group
    return;
  }
  --thread.depth;
  std::int64_t& group_end_ns = groups[thread.group].end_ns;
  group_end_ns = std::max(group_end_ns, end_ns);
}

void NsysProcess::add_call(const NvtxText& text,
                           std::int64_t start_ns,
                           std::int64_t end_ns,
                           Thread& thread) {
  model::Operation operation;
  operation.function = text.function;
  operation.communicator = communicator_of(text.communicator_hash);
  operation.stream = stream_of(text.stream);
  operation.root = text.root;
  operation.peer = text.peer;
  operation.bytes = text.bytes;
  operation.element_bytes = std::max(text.element_bytes, 1U);
  const std::uint64_t kind = (std::uint64_t{operation.communicator} << 40U) |
                             (static_cast<std::uint64_t>(text.function) << 32U) |
                             static_cast<std::uint32_t>(text.peer);
  operation.sequence = sequences_[kind]++;
  operation.group = plan_of(thread, operation, start_ns);
  if (thread.depth > 0) operation.call_group = static_cast<std::int32_t>(thread.group);
  thread.operations.push_back(static_cast<std::uint32_t>(operations.size()));
  operations.push_back(operation);
  calls.push_back({.start_ns = start_ns, .end_ns = end_ns});
}

std::uint32_t NsysProcess::plan_of(Thread& thread,
                                   const model::Operation& operation,
                                   std::int64_t call_ns) {
  auto found = std::find_if(thread.plans.begin(), thread.plans.end(), [&](std::uint32_t plan) {
    return plans[plan].communicator == operation.communicator;
  });
  if (found == thread.plans.end()) {
    thread.plans.push_back(static_cast<std::uint32_t>(plans.size()));
    found = std::prev(thread.plans.end());
    plans.push_back({.group = thread.group,
                     .communicator = operation.communicator,
                     .stream = operation.stream,
                     .call_ns = call_ns});
  }
  plans[*found].functions |= kernel_functions(operation.function);
  return *found;
}

// Returns the first call of the group without a mark that fits by communicator, function and size,
// or else without the size, because some versions log the size of all ranks together.
std::uint32_t NsysProcess::find_unplanned(const NvtxText& text, const Thread& thread) const {
  const auto hash_of = [&](const model::Operation& operation) {
    return communicators[operation.communicator].hash;
  };
  std::uint32_t second_best = kNone;
  for (const std::uint32_t index : thread.operations) {
    const model::Operation& operation = operations[index];
    if (calls[index].planned || operation.function != text.function) continue;
    if (hash_of(operation) != text.communicator_hash) continue;
    if (operation.bytes == text.bytes) return index;
    second_best = std::min(second_best, index);
  }
  return second_best;
}

void NsysProcess::add_collective(const NvtxText& text, Thread& thread) {
  thread.marked = find_unplanned(text, thread);
  if (thread.marked == kNone) {
    ++oddities.marks_without_call;
    return;
  }
  model::Operation& operation = operations[thread.marked];
  operation.algorithm = text.algorithm;
  operation.protocol = text.protocol;
  operation.element_bytes = std::max(text.element_bytes, 1U);
  operation.chunk_steps = text.chunk_steps;
  operation.slice_steps = text.slice_steps;
  operation.step_bytes = text.step_bytes;
  if (operation.function == NcclFunction::kBroadcast ||
      operation.function == NcclFunction::kReduce) {
    operation.root = text.root;
  }
  calls[thread.marked].planned = true;
  calls[thread.marked].count = text.bytes / operation.element_bytes;
}

void NsysProcess::add_collective_part(const NvtxText& text, Thread& thread) {
  const auto takes = [&](std::uint32_t index) {
    const NsysCall& call = calls[index];
    return call.planned && call.count == text.count && call.covered < call.count;
  };
  std::uint32_t index = thread.marked;
  if (index == kNone || !takes(index)) {
    const auto other = std::find_if(thread.operations.begin(), thread.operations.end(), takes);
    if (other != thread.operations.end()) index = *other;
  }
  if (index == kNone) {
    ++oddities.parts_without_call;
    return;
  }
  calls[index].covered += text.work_count;
  calls[index].send_buffer = text.send_buffer;
  calls[index].receive_buffer = text.receive_buffer;
  ++operations[index].num_parts;
  parts.push_back({.operation = index,
                   .work_offset = text.work_offset,
                   .part = {.count = text.work_count,
                            .chunk_count = text.chunk_count,
                            .last_chunk_count = text.last_chunk_count}});
}

void NsysProcess::add_point_to_point_part(const NvtxText& text, Thread& thread) {
  const auto takes = [&](std::uint32_t index) {
    const model::Operation& operation = operations[index];
    return operation.function == text.function && operation.peer == text.peer &&
           calls[index].covered + text.bytes <= operation.bytes &&
           (operation.bytes > calls[index].covered || operation.num_parts == 0);
  };
  const auto found = std::find_if(thread.operations.begin(), thread.operations.end(), takes);
  if (found == thread.operations.end()) {
    ++oddities.parts_without_call;
    return;
  }
  const std::uint32_t index = *found;
  calls[index].planned = true;
  calls[index].covered += text.bytes;
  operations[index].protocol = text.protocol;
  ++operations[index].num_parts;
  parts.push_back({.operation = index,
                   .work_offset = 0,
                   .part = {.count = text.bytes,
                            .chunk_count = text.chunk_count,
                            .last_chunk_count = text.chunk_count}});
}

void NsysProcess::add_communicator(const NvtxText& text) {
  NsysCommunicator& communicator = communicators[communicator_of(text.communicator_hash)];
  if (communicator.rank >= 0) {
    ++oddities.repeated_communicators;
    if (communicator.rank != text.rank) {
      several_gpus = fmt::format("ranks {} and {} of communicator {:#x}", communicator.rank,
                                 text.rank, text.communicator_hash);
    }
    return;
  }
  communicator.rank = text.rank;
  communicator.num_ranks = text.num_ranks;
  communicator.id = text.communicator_id;
}

void NsysProcess::add_links(const NvtxText& text) {
  if (text.channel >= model::kMostNcclChannels) return;
  auto& channels = communicators[communicator_of(text.communicator_hash)].channels;
  if (channels.size() <= text.channel) channels.resize(text.channel + 1);
  model::ChannelLinks& links = channels[text.channel];
  if (text.kind == NvtxKind::kRing) {
    links.ring_previous = text.links.ring_previous;
    links.ring_next = text.links.ring_next;
  } else {
    links.tree_up = text.links.tree_up;
    links.tree_down = text.links.tree_down;
  }
}

// Several windows count as one, from the first start to the last stop.
void NsysProcess::add_window(const NvtxText& text, std::int64_t at_ns) {
  if (text.kind == NvtxKind::kWindowStop) {
    window_stop_ns = at_ns;
  } else if (window_start_ns == std::numeric_limits<std::int64_t>::min()) {
    window_start_ns = at_ns;
  } else {
    window_stop_ns = std::numeric_limits<std::int64_t>::max();
  }
}

std::uint32_t NsysProcess::communicator_of(std::uint64_t hash) {
  const auto [found, added] =
      communicator_of_.emplace(hash, static_cast<std::uint32_t>(communicators.size()));
  if (added) communicators.push_back({.hash = hash});
  return found->second;
}

std::uint32_t NsysProcess::stream_of(std::uint64_t handle) {
  const auto [found, added] =
      stream_of_.emplace(handle, static_cast<std::uint32_t>(streams.size()));
  if (added) streams.push_back(handle);
  return found->second;
}

}  // namespace assay::goal
