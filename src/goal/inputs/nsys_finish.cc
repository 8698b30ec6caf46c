#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "goal/inputs/nsys_process.h"
#include "goal/inputs/nsys_report.h"

namespace assay::goal {
namespace {

using model::NcclFunction;

bool in_window(const NsysProcess& process, std::uint32_t operation) {
  const std::int64_t start_ns = process.calls[operation].start_ns;
  return start_ns >= process.window_start_ns && start_ns < process.window_stop_ns;
}

// NCCL defines an operation as in place if a rank's own share lies in the other buffer, at a place
// that depends on the function.
bool is_in_place(const model::Operation& operation, const NsysCall& call, std::int32_t rank) {
  if (call.send_buffer == 0 && call.receive_buffer == 0) return false;
  const std::uint64_t share = static_cast<std::uint64_t>(std::max(rank, 0)) * operation.bytes;
  switch (operation.function) {
    case NcclFunction::kAllGather:
      return rank >= 0 && call.send_buffer == call.receive_buffer + share;
    case NcclFunction::kReduceScatter:
      return rank >= 0 && call.receive_buffer == call.send_buffer + share;
    default:
      return call.send_buffer == call.receive_buffer;
  }
}

// Returns the channels of each communicator; where no ring was recorded, the most that one
// operation used.
std::vector<std::uint32_t> channels_by_communicator(const NsysProcess& process) {
  std::vector<std::uint32_t> channels(process.communicators.size());
  for (const model::Operation& operation : process.operations) {
    std::uint32_t& most = channels[operation.communicator];
    most = std::max(most, operation.num_parts);
  }
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto recorded = static_cast<std::uint32_t>(process.communicators[i].channels.size());
    if (recorded > 0) channels[i] = recorded;
  }
  return channels;
}

// NCCL spreads the collectives of a plan over the channels, one after the other, in the order of
// the marks. When they need more channels than there are, the marks do not tell which are shared;
// then every operation starts at channel 0.
std::vector<std::uint32_t> first_channels(const NsysProcess& process) {
  const std::vector<std::uint32_t> channels = channels_by_communicator(process);
  std::vector<std::uint32_t> needed(process.plans.size());
  for (const model::Operation& operation : process.operations) {
    if (!model::is_point_to_point(operation.function)) {
      needed[operation.group] += operation.num_parts;
    }
  }
  std::vector<std::uint32_t> next(process.plans.size());
  std::vector<std::uint32_t> first(process.operations.size());
  std::uint32_t last_operation = std::numeric_limits<std::uint32_t>::max();
  for (const NsysPart& part : process.parts) {
    if (part.operation == std::exchange(last_operation, part.operation)) continue;
    const model::Operation& operation = process.operations[part.operation];
    if (model::is_point_to_point(operation.function)) continue;
    if (needed[operation.group] > channels[operation.communicator]) continue;
    first[part.operation] = next[operation.group];
    next[operation.group] += operation.num_parts;
  }
  return first;
}

void sort_parts(std::vector<NsysPart>& parts) {
  const auto less = [](const NsysPart& a, const NsysPart& b) {
    return std::pair(a.operation, a.work_offset) < std::pair(b.operation, b.work_offset);
  };
  if (!std::is_sorted(parts.begin(), parts.end(), less)) {
    std::stable_sort(parts.begin(), parts.end(), less);
  }
}

class Finisher {
 public:
  Finisher(NsysProcess process, const std::string& file)
      : process_(std::move(process)),
        place_(fmt::format("{}, process {}", file, process_.process_id())) {
    recording_.file = file;
    recording_.gpu.process_id = process_.process_id();
  }

  ProcessRecording finish() {
    match_kernels(process_);
    set_times();
    lay_out_operations();
    set_window();
    for (const std::uint64_t handle : process_.streams)
      recording_.gpu.streams.push_back(fmt::format("{:#x}", handle));
    if (!process_.kernels.empty()) recording_.gpu.device = process_.kernels.front().device;
    warn();
    return std::move(recording_);
  }

 private:
  void set_times() {
    for (std::uint32_t i = 0; i < process_.operations.size(); ++i) {
      model::Operation& operation = process_.operations[i];
      const NsysPlan& plan = process_.plans[operation.group];
      const NsysCall& call = process_.calls[i];
      const bool timed = plan.found_by != FoundBy::kNothing;
      operation.start_ns = timed ? plan.start_ns : call.start_ns;
      operation.end_ns = timed ? plan.end_ns : std::max(call.start_ns, call.end_ns);
      operation.in_place =
          is_in_place(operation, call, process_.communicators[operation.communicator].rank);
      if (!in_window(process_, i)) continue;
      without_kernel_ += timed ? 0 : 1;
      if (kernels_.insert(operation.group).second) count(plan.found_by);
      if (!call.planned) ++without_plan_;
    }
  }

  void count(FoundBy found_by) {
    model::KernelMatches& matches = recording_.matches;
    switch (found_by) {
      case FoundBy::kCorrelation:
        ++matches.by_correlation;
        break;
      case FoundBy::kOrder:
        ++matches.by_order;
        break;
      case FoundBy::kTime:
        ++matches.by_time;
        break;
      case FoundBy::kNothing:
        break;
    }
  }

  void lay_out_operations() {
    const std::vector<std::uint32_t> first_channel = first_channels(process_);
    sort_parts(process_.parts);
    std::vector<std::uint32_t> first_part(process_.operations.size());
    std::uint32_t next = 0;
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < process_.operations.size(); ++i) {
      first_part[i] = next;
      next += process_.operations[i].num_parts;
      if (in_window(process_, i)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return process_.operations[a].start_ns < process_.operations[b].start_ns;
    });
    recording_.gpu.operations.reserve(order.size());
    recording_.gpu.parts.reserve(process_.parts.size());
    for (const std::uint32_t i : order)
      lay_out(process_.operations[i], first_part[i], first_channel[i]);
  }

  void lay_out(model::Operation operation, std::uint32_t first_part, std::uint32_t first_channel) {
    auto& parts = recording_.gpu.parts;
    operation.first_part = static_cast<std::uint32_t>(parts.size());
    operation.num_channels = operation.num_parts;
    for (std::uint32_t i = 0; i < operation.num_parts; ++i) {
      parts.push_back(process_.parts[first_part + i].part);
      parts.back().channel = first_channel + i;
    }
    recording_.gpu.operations.push_back(operation);
  }

  void set_window() {
    model::JobGpu& gpu = recording_.gpu;
    gpu.window_start_ns = std::max(process_.window_start_ns, process_.first_ns);
    gpu.window_end_ns = std::min(process_.window_stop_ns, process_.last_ns);
    for (const model::Operation& operation : gpu.operations) {
      gpu.window_start_ns = std::min(gpu.window_start_ns, operation.start_ns);
      gpu.window_end_ns = std::max(gpu.window_end_ns, operation.end_ns);
    }
  }

  void warn() {
    const auto add = [&](const char* reason, const char* effect, std::int64_t count) {
      if (count > 0) recording_.warnings.add(reason, effect, place_, count);
    };
    add("operations without a kernel", "they take the times of their calls", without_kernel_);
    add("operations without a plan's mark", "their algorithm and protocol are unknown",
        without_plan_);
    add("NCCL kernels without an operation", "left out",
        std::count_if(process_.kernels.begin(), process_.kernels.end(), [&](const auto& kernel) {
          return !kernel.used && kernel.start_ns >= process_.window_start_ns &&
                 kernel.start_ns < process_.window_stop_ns;
        }));
    const NsysOddities& odd = process_.oddities;
    add("plan marks without a call", "left out", odd.marks_without_call);
    add("channel marks without a call", "left out", odd.parts_without_call);
    add("repeated marks of a communicator's making", "the first one counts",
        odd.repeated_communicators);
    add("group ends without a start", "passed over", odd.group_ends_without_start);
  }

  NsysProcess process_;
  std::string place_;
  ProcessRecording recording_;
  std::set<std::uint32_t> kernels_;  // plans that were counted
  std::int64_t without_kernel_ = 0;
  std::int64_t without_plan_ = 0;
};

}  // namespace

ProcessRecording finish_process(NsysProcess process, const std::string& file) {
  return Finisher(std::move(process), file).finish();
}

}  // namespace assay::goal
