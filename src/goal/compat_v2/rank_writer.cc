#include "goal/compat_v2/rank_writer.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "goal/chunking.h"

namespace assay::goal::compat_v2 {
namespace {

using model::NcclAlgorithm;

std::uint32_t power_of_ten(unsigned digits) {
  std::uint32_t power = 1;
  for (unsigned i = 0; i < digits; ++i)
    power *= 10;
  return power;
}

// The mark is missing that tells what NCCL made of the call; the generator leaves such a call out.
bool is_unplanned(const model::Operation& operation) {
  return !model::is_point_to_point(operation.function) &&
         operation.algorithm == NcclAlgorithm::kNone;
}

std::uint32_t num_nodes(const model::Job& job, const model::Communicator& communicator) {
  std::set<std::string_view> nodes;
  for (const std::uint32_t gpu : communicator.gpus) {
    if (gpu != model::kNoGpu) nodes.insert(job.gpus[gpu].node);
  }
  return static_cast<std::uint32_t>(nodes.size());
}

}  // namespace

RankWriter::RankWriter(const model::Job& job,
                       std::uint32_t gpu,
                       const Costs& costs,
                       const CompatOptions& options,
                       model::RankBuilder& graph)
    : job_(job),
      gpu_index_(gpu),
      gpu_(job.gpus[gpu]),
      options_(options),
      writer_(graph, Durations(costs), power_of_ten(options.name_digits)),
      peers_(job, gpu) {}

core::Status RankWriter::write(const GpuPlan& plan, model::Warnings& warnings) {
  for (const model::Operation& operation : gpu_.operations) {
    if (!is_unplanned(operation)) {
      ASSAY_TRY(check(operation));
      continue;
    }
    warnings.add("collectives without a plan's mark", "left out", place());
  }
  std::uint32_t first_cpu = 0;
  for (const auto& launches : plan.streams) {
    highest_cpu_ = first_cpu;
    next_cpu_ = first_cpu;
    stream(plan, launches, warnings);
    first_cpu = highest_cpu_;
  }
  if (highest_cpu_ > model::kMostCpu + 1) {
    return core::Error{fmt::format(
        "--compat v2: {} needs {} cpus, as each channel of a group takes one of its own, and a "
        "schedule has {}; leave out --compat",
        place(), highest_cpu_, model::kMostCpu + 1)};
  }
  return check_tags(plan);
}

void RankWriter::stream(const GpuPlan& plan,
                        const std::vector<Launch>& launches,
                        model::Warnings& warnings) {
  const std::uint32_t first_cpu = highest_cpu_;
  std::optional<Ends> before;
  std::int64_t before_end_ns = -1;
  for (const Launch& each : launches) {
    if (all_unplanned(plan, each)) continue;
    use_cpu(first_cpu);
    const auto append = [&](const Ends& part) {
      if (before) writer_.require(part, *before);
      before = part;
    };
    if (before_end_ns > 0) {
      const std::int64_t gap_ns = each.start_ns - before_end_ns;
      if (gap_ns < 0) {
        warnings.add("operations of a stream that overlap", "the gap between them counts as 0",
                     place());
      }
      append(writer_.calc(static_cast<std::uint64_t>(std::max<std::int64_t>(gap_ns, 0))));
    }
    append(launch(plan, each));
    highest_cpu_ = std::max(highest_cpu_, next_cpu_);
    before_end_ns = each.end_ns;
  }
}

bool RankWriter::all_unplanned(const GpuPlan& plan, const Launch& launch) const {
  const auto begin = plan.operations.begin() + launch.first;
  return std::all_of(begin, begin + launch.count,
                     [&](std::uint32_t index) { return is_unplanned(gpu_.operations[index]); });
}

void RankWriter::use_cpu(std::uint32_t cpu) {
  next_cpu_ = cpu;
  writer_.cpu(cpu);
}

Ends RankWriter::launch(const GpuPlan& plan, const Launch& launch) {
  if (!launch.grouped) return operation(plan, plan.operations[launch.first]);
  GraphWriter::Fork fork(writer_);
  for (std::uint32_t i = 0; i < launch.count; ++i) {
    const std::uint32_t index = plan.operations[launch.first + i];
    if (is_unplanned(gpu_.operations[index])) continue;
    writer_.cpu(next_cpu_);
    fork.add(operation(plan, index));
  }
  return fork.join();
}

Ends RankWriter::operation(const GpuPlan& plan, std::uint32_t index) {
  const model::Operation& operation = gpu_.operations[index];
  const model::Communicator& communicator = job_.communicators[operation.communicator];
  const bool transfer = model::is_point_to_point(operation.function);
  writer_.context(plan.contexts[index]);
  Slicing slicing;
  const std::vector<model::ChannelPart> parts = parts_of(operation, slicing);
  const std::int32_t rank = rank_in(communicator);
  const auto write = [&](std::size_t i) {
    Slicing part_slicing = slicing;
    if (transfer) part_slicing.slice_bytes = parts[i].chunk_count;
    ChannelWork work = {operation, parts[i], communicator, rank, {}, part_slicing};
    if (!transfer) work.neighbours = neighbours(communicator, i, rank);
    return channel(work);
  };
  if (transfer && parts.size() == 1) return write(0);
  GraphWriter::Fork fork(writer_);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    writer_.cpu(next_cpu_);
    fork.add(write(i));
  }
  return fork.join();
}

// A channel that moves nothing leaves its cpu to the next channel.
Ends RankWriter::channel(const ChannelWork& work) {
  const std::uint64_t before = writer_.num_atoms();
  const Ends ends = model::is_point_to_point(work.operation.function)
                        ? write_transfer(work, peers_, writer_)
                        : write_channel(work, peers_, writer_);
  if (writer_.num_atoms() > before) ++next_cpu_;
  return ends;
}

std::vector<model::ChannelPart> RankWriter::parts_of(const model::Operation& operation,
                                                     Slicing& slicing) const {
  const auto begin = gpu_.parts.begin() + operation.first_part;
  const std::vector<model::ChannelPart> recorded(begin, begin + operation.num_parts);
  const model::Communicator& communicator = job_.communicators[operation.communicator];
  Distance distance = Distance::kSameNode;
  if (operation.peer >= 0) {
    const std::uint32_t peer = communicator.gpus[static_cast<std::size_t>(operation.peer)];
    if (job_.gpus[peer].node != gpu_.node) distance = Distance::kOtherNode;
  }
  const bool transfer = model::is_point_to_point(operation.function);
  const CutRequest request{.operation = operation,
                           .parts = recorded,
                           .num_ranks = static_cast<std::uint32_t>(communicator.gpus.size()),
                           .num_nodes = transfer ? num_nodes(job_, communicator) : 1,
                           .distance = distance};
  const Cut cut = cut_operation(request);
  slicing.protocol = protocol_of(request);
  if (transfer) return cut.parts;
  if (operation.slice_steps > 0) {
    slicing.slice_bytes = std::uint64_t{operation.slice_steps} * operation.step_bytes;
    slicing.slices_per_chunk = operation.chunk_steps / operation.slice_steps;
  } else {
    constexpr std::uint64_t kLeastSlicePart = 32;
    slicing.slice_bytes = cut.least_slice_count * cut.element_bytes * kLeastSlicePart;
    slicing.slices_per_chunk = cut.slices_per_chunk;
  }
  return cut.parts;
}

std::int32_t RankWriter::rank_in(const model::Communicator& communicator) const {
  const auto found = std::find(communicator.gpus.begin(), communicator.gpus.end(), gpu_index_);
  return found == communicator.gpus.end()
             ? -1
             : static_cast<std::int32_t>(found - communicator.gpus.begin());
}

// The generator makes up what was not recorded: rings in the order of the ranks, and trees in which
// the children of rank r are 2 r + 1 and 2 r + 2.
Neighbours RankWriter::neighbours(const model::Communicator& communicator,
                                  std::size_t channel,
                                  std::int32_t rank) const {
  Neighbours result;
  const auto num_ranks = static_cast<std::int32_t>(communicator.gpus.size());
  if (communicator.channels.empty()) {
    result.previous = (rank + num_ranks - 1) % num_ranks;
    result.next = (rank + 1) % num_ranks;
    result.up = rank > 0 ? (rank - 1) / 2 : -1;
    for (const std::int32_t child : {2 * rank + 1, 2 * rank + 2}) {
      if (child < num_ranks) result.down.push_back(child);
    }
    return result;
  }
  const model::ChannelLinks& links = communicator.channels[channel][static_cast<std::size_t>(rank)];
  result.previous = links.ring_previous;
  result.next = links.ring_next;
  result.up = links.tree_up;
  std::copy_if(links.tree_down.begin(), links.tree_down.end(), std::back_inserter(result.down),
               [](std::int32_t child) { return child >= 0; });
  return result;
}

namespace {

using model::NcclAlgorithm;

unsigned digits_of(std::uint64_t number) {
  return static_cast<unsigned>(fmt::formatted_size("{}", number));
}

}  // namespace

core::Status RankWriter::check(const model::Operation& operation) const {
  const model::Communicator& communicator = job_.communicators[operation.communicator];
  if (!is_known(operation)) {
    return core::Error{fmt::format(
        "--compat v2: {} calls {} with algorithm {} and protocol {}, which the public generator "
        "cannot lower; leave out --compat",
        place(), name_of(operation.function), name_of(operation.algorithm),
        name_of(operation.protocol))};
  }
  if (rank_in(communicator) < 0) {
    return core::Error{
        fmt::format("--compat v2: {} is no rank of communicator {} that it calls {} on", place(),
                    communicator.name, name_of(operation.function))};
  }
  if (model::is_point_to_point(operation.function)) {
    const auto peer = static_cast<std::size_t>(operation.peer);
    if (operation.peer >= 0 && peer < communicator.gpus.size() &&
        communicator.gpus[peer] != model::kNoGpu) {
      return {};
    }
    return core::Error{
        fmt::format("--compat v2: {} calls {} with rank {} of communicator {}, "
                    "which is not among the recordings",
                    place(), name_of(operation.function), operation.peer, communicator.name)};
  }
  return check_links(operation);
}

core::Status RankWriter::check_links(const model::Operation& operation) const {
  const model::Communicator& communicator = job_.communicators[operation.communicator];
  const std::size_t channels =
      communicator.channels.empty() ? operation.num_parts : communicator.channels.size();
  const auto failed = [&](std::size_t channel, const char* what) {
    return core::Error{fmt::format("--compat v2: {}: {} on channel {} of communicator {}: {}",
                                   place(), name_of(operation.function), channel, communicator.name,
                                   what)};
  };
  if (operation.num_parts > channels) {
    return failed(channels, "its rings and trees are not in the recording");
  }
  const auto there = [&](std::int32_t rank) {
    return rank >= 0 && static_cast<std::size_t>(rank) < communicator.gpus.size() &&
           communicator.gpus[static_cast<std::size_t>(rank)] != model::kNoGpu;
  };
  for (std::size_t i = 0; i < std::max<std::size_t>(operation.num_parts, 1); ++i) {
    const Neighbours links = neighbours(communicator, i, rank_in(communicator));
    if (operation.algorithm == NcclAlgorithm::kTree) {
      if (links.up < 0 && links.down.empty()) return failed(i, "the rank is in no tree");
      if ((links.up >= 0 && !there(links.up)) ||
          !std::all_of(links.down.begin(), links.down.end(), there)) {
        return failed(i, "a neighbour in the tree is not among the recordings");
      }
    } else if (!there(links.previous) || !there(links.next)) {
      return failed(i, "a neighbour in the ring is not among the recordings");
    }
  }
  return {};
}

core::Status RankWriter::check_tags(const GpuPlan& plan) const {
  const MostMessages most = writer_.most_messages();
  const std::uint32_t largest_name =
      plan.contexts.empty() ? 0 : *std::max_element(plan.contexts.begin(), plan.contexts.end());
  const unsigned number_digits = digits_of(most.count > 0 ? most.count - 1 : 0);
  const unsigned name_digits = digits_of(largest_name);
  if (number_digits <= options_.number_digits && name_digits <= options_.name_digits) return {};
  const bool would_fit = number_digits + name_digits <= kMostTagDigits;
  return core::Error{fmt::format(
      "--compat v2: {} {} {} messages {} rank {} under the name {:0{}}, and a tag has {} digits to "
      "number them and {} for names; {}",
      place(), most.sends ? "sends" : "receives", most.count, most.sends ? "to" : "from", most.peer,
      most.context, options_.name_digits, options_.number_digits, options_.name_digits,
      would_fit
          ? fmt::format("--tag-layout decimal:{}/{} would do", number_digits, name_digits)
          : fmt::format(
                "{} and {} digits are more than the {} of a tag; leave out --compat: assay's own "
                "tags are as wide as a job needs",
                number_digits, name_digits, kMostTagDigits))};
}

std::string RankWriter::place() const {
  return fmt::format("rank {} (process {} of {})", gpu_index_, gpu_.process_id, gpu_.node);
}

}  // namespace assay::goal::compat_v2
