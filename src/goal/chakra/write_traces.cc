#include "goal/chakra/write_traces.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "goal/chakra/execution_trace.h"
#include "goal/reshape_job.h"
#include "goal/resolve.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;
using model::NcclFunction;
using model::Operation;

std::optional<ChakraCollective> collective_of(NcclFunction function) {
  switch (function) {
    case NcclFunction::kAllReduce:
      return ChakraCollective::kAllReduce;
    case NcclFunction::kReduce:
      return ChakraCollective::kReduce;
    case NcclFunction::kAllGather:
      return ChakraCollective::kAllGather;
    case NcclFunction::kBroadcast:
      return ChakraCollective::kBroadcast;
    case NcclFunction::kReduceScatter:
      return ChakraCollective::kReduceScatter;
    default:
      return std::nullopt;
  }
}

class TraceWriter {
 public:
  TraceWriter(const Resolved& resolved, std::uint32_t gpu, WrittenTraces& written)
      : resolved_(resolved), gpu_(gpu), written_(written) {}

  std::vector<ChakraNode> made(const GpuTimeline& timeline) {
    for (const TimedLaunch& launch : timeline.launches)
      add(launch);
    std::vector<std::uint64_t> last;
    for (const std::uint32_t launch : timeline.last)
      last.insert(last.end(), ends_[launch].begin(), ends_[launch].end());
    add_computation(timeline.tail_ns, last);
    return std::move(nodes_);
  }

 private:
  ChakraNode& add_node(ChakraType type, std::string name, std::vector<std::uint64_t> after) {
    return nodes_.emplace_back(ChakraNode{
        .id = nodes_.size(), .name = std::move(name), .type = type, .data_deps = std::move(after)});
  }

  // Returns what waits for the computation; `after` itself where that is too short for a node.
  std::vector<std::uint64_t> add_computation(std::uint64_t ns, std::vector<std::uint64_t> after) {
    constexpr std::uint64_t kNsOfUs = 1000;
    left_ns_ += ns;
    const std::uint64_t us = left_ns_ / kNsOfUs;
    if (us == 0) return after;
    left_ns_ %= kNsOfUs;
    ChakraNode& node = add_node(ChakraType::kComputation, "computation", std::move(after));
    node.duration_us = us;
    ++written_.computations;
    return {node.id};
  }

  void add(const TimedLaunch& timed) {
    std::vector<std::uint64_t> after;
    for (const std::uint32_t other : timed.after)
      after.insert(after.end(), ends_[other].begin(), ends_[other].end());
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    after = add_computation(timed.gap_ns, std::move(after));
    std::vector<std::uint64_t> ends;
    for (std::uint32_t i = 0; i < timed.launch.num_calls; ++i) {
      const Call& call = resolved_.gpus[gpu_].calls[timed.launch.first_call + i];
      if (const std::optional<std::uint64_t> id = add_call(call, after)) ends.push_back(*id);
    }
    ends_.push_back(ends.empty() ? std::move(after) : std::move(ends));
  }

  std::optional<std::uint64_t> add_call(const Call& call, const std::vector<std::uint64_t>& after) {
    const Exchange& exchange = resolved_.exchanges[call.exchange];
    const Operation& operation = resolved_.job->gpus[gpu_].operations[call.operation];
    const model::Communicator& communicator = resolved_.job->communicators[exchange.communicator];
    if (communicator.gpus.size() == 1) return std::nullopt;
    if (is_point_to_point(operation.function)) return add_message(exchange, operation, after);
    const std::optional<ChakraCollective> collective = collective_of(operation.function);
    if (!collective) return std::nullopt;
    const auto ranks = static_cast<std::uint64_t>(communicator.gpus.size());
    ChakraNode& node =
        add_node(ChakraType::kCollective,
                 fmt::format("{} {}", name_of(operation.function), exchange.sequence), after);
    node.collective = *collective;
    node.bytes = operation.function == NcclFunction::kReduceScatter ? operation.bytes * ranks
                                                                    : operation.bytes;
    node.group = fmt::format("{}", exchange.communicator + 1);
    ++written_.collectives;
    return node.id;
  }

  std::optional<std::uint64_t> add_message(const Exchange& exchange,
                                           const Operation& operation,
                                           const std::vector<std::uint64_t>& after) {
    const auto& members = resolved_.job->communicators[exchange.communicator].gpus;
    const std::uint32_t source = members[static_cast<std::size_t>(exchange.source)];
    const std::uint32_t destination = members[static_cast<std::size_t>(exchange.destination)];
    if (source == destination || operation.bytes == 0) return std::nullopt;
    const bool sends = operation.function == NcclFunction::kSend;
    ChakraNode& node =
        add_node(sends ? ChakraType::kSend : ChakraType::kReceive,
                 fmt::format("{} {}", name_of(operation.function), exchange.sequence), after);
    node.bytes = operation.bytes;
    node.source = source;
    node.destination = destination;
    // The communicators of a pair of ranks count apart.
    node.tag = static_cast<std::uint32_t>(
        (exchange.sequence * resolved_.job->communicators.size() + exchange.communicator) %
        std::numeric_limits<std::int32_t>::max());
    ++written_.messages;
    return node.id;
  }

  const Resolved& resolved_;
  std::uint32_t gpu_;
  WrittenTraces& written_;
  std::vector<ChakraNode> nodes_;
  std::vector<std::vector<std::uint64_t>> ends_;  // by launch: nodes
  std::uint64_t left_ns_ = 0;                     // that no node has yet
};

// {"1": [0, 1, 2, 3], …}, as ASTRA-sim reads it.
std::string groups_text(const model::Job& job) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < job.communicators.size(); ++i) {
    const auto& gpus = job.communicators[i].gpus;
    const bool is_whole = std::find(gpus.begin(), gpus.end(), model::kNoGpu) == gpus.end();
    if (gpus.size() > 1 && is_whole)
      lines.push_back(fmt::format("  \"{}\": [{}]", i + 1, fmt::join(gpus, ", ")));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

// A simulator may know no such collectives.
void warn_of_reductions(const Resolved& resolved, model::Warnings& warnings) {
  for (const Exchange& exchange : resolved.exchanges) {
    if (exchange.function == NcclFunction::kReduce)
      warnings.add("a reduction to one rank", "written, but ASTRA-sim does not run it",
                   resolved.job->communicators[exchange.communicator].name);
  }
}

}  // namespace

model::Book summary_of(const WrittenTraces& written) {
  model::Table table{.name = "traces",
                     .title = "What was written",
                     .columns = {{.name = "what"}, {.name = "number"}}};
  const auto add = [&](const char* what, std::uint64_t number) {
    table.add_row({std::string(what), static_cast<std::int64_t>(number)});
  };
  add("ranks", written.ranks);
  add("nodes of computation", written.computations);
  add("nodes of collectives", written.collectives);
  add("nodes of messages", written.messages);
  return {.title = "Execution traces", .tables = {std::move(table)}};
}

core::Result<WrittenTraces> write_traces(const model::Job& job,
                                         const StreamOptions& streams,
                                         const fs::path& folder) {
  const Resolved resolved = ASSAY_TRY(resolve(job, Misfits::kLeaveOut));
  WrittenTraces written;
  written.warnings = resolved.warnings;
  warn_of_reductions(resolved, written.warnings);
  const StreamPlan plan = plan_streams(resolved, streams, written.warnings);
  const std::vector<std::int64_t> starts = clock_starts(job);
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
    ASSAY_TRY(core::check_interrupt());
    const GpuTimeline timeline =
        make_timeline(resolved, gpu, plan, starts[job.gpus[gpu].clock], written.warnings);
    const std::vector<ChakraNode> nodes = TraceWriter(resolved, gpu, written).made(timeline);
    const fs::path file = folder / fmt::format("output.{}.et", gpu);
    ASSAY_TRY(core::write_file(file, execution_trace(nodes), core::Durability::kUnsynced));
    written.files.push_back(file);
  }
  // Readers take all traces of a folder, so that none of a larger job may stay.
  for (std::size_t gpu = job.gpus.size();; ++gpu) {
    const fs::path stale = folder / fmt::format("output.{}.et", gpu);
    if (!core::is_regular_file(stale)) break;
    ASSAY_TRY(core::remove_file(stale));
  }
  const fs::path groups = folder / "comm_group.json";
  ASSAY_TRY(core::write_file(groups, groups_text(job)));
  written.files.push_back(groups);
  written.ranks = job.gpus.size();
  return written;
}

}  // namespace assay::goal
