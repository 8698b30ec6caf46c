#include "goal/job_size.h"

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "goal/choose_algorithms.h"
#include "goal/launch_groups.h"
#include "goal/launch_source.h"
#include "goal/reshape_job.h"
#include "goal/resolve.h"
#include "goal/summary.h"

namespace assay::goal {
namespace {

// What `assay simulate` took of the recorded step on 256 and 1,024 ranks and of made steps on 16 to
// 2,048, to a third: a rank's events and channels, and a launch from the job to its times.
constexpr std::uint64_t kProgramBytes = 10'000'000;
constexpr std::uint64_t kRankBytes = 100'000;
constexpr std::uint64_t kLaunchBytes = 600;

// An operation of the binary form with its dependencies, on average of recorded and made steps.
constexpr std::uint64_t kOperationBytes = 44;

// One group of launches of each kind, and how often that kind is in the job.
struct Kinds {
  model::Job job;  // one group after the other
  std::vector<std::uint64_t> count;
  std::uint64_t computations = 0;
  std::uint64_t launches = 0;
};

// The number of a group's kind is the time at which its operations start.
void append_group(const model::Job& group, model::Job& job, std::uint32_t number) {
  if (job.gpus.empty()) {
    job.communicators = group.communicators;
    job.gpus.resize(group.gpus.size());
  }
  for (std::size_t i = 0; i < group.gpus.size(); ++i) {
    const model::JobGpu& from = group.gpus[i];
    model::JobGpu& gpu = job.gpus[i];
    gpu.node = from.node;
    gpu.process_id = from.process_id;
    gpu.streams = from.streams;
    for (model::Operation operation : from.operations) {
      operation.group = number;
      operation.start_ns = operation.end_ns = number;
      operation.first_part += static_cast<std::uint32_t>(gpu.parts.size());
      gpu.operations.push_back(operation);
    }
    gpu.parts.insert(gpu.parts.end(), from.parts.begin(), from.parts.end());
  }
}

Kinds find_kinds(const Resolved& resolved) {
  Kinds kinds;
  std::map<std::vector<std::uint64_t>, std::size_t> known;
  for (const std::vector<LaunchId>& launches : launch_groups(resolved)) {
    kinds.launches += launches.size();
    const LaunchId& one = launches.front();
    if (resolved.gpus[one.gpu].launches[one.launch].num_calls == 0) {
      ++kinds.computations;
      continue;
    }
    const auto [found, is_new] = known.emplace(signature(resolved, launches), kinds.count.size());
    if (is_new) {
      append_group(job_of(resolved, launches), kinds.job,
                   static_cast<std::uint32_t>(kinds.count.size()));
      kinds.count.push_back(0);
    }
    ++kinds.count[found->second];
  }
  return kinds;
}

// Rings treat all replicas alike. In NCCL's trees every other node is a leaf, and the first and
// the last ones have places of their own.
std::vector<std::uint32_t> sampled(std::uint32_t replicas) {
  constexpr std::uint32_t kAll = 8;
  std::vector<std::uint32_t> sample;
  if (replicas <= kAll) {
    for (std::uint32_t i = 0; i < replicas; ++i)
      sample.push_back(i);
    return sample;
  }
  const std::uint32_t middle = replicas / 2;
  return {middle - 2, middle - 1, middle, middle + 1};
}

// Counts the operations of a GPU's launches, each as often as its kind is in the job.
std::uint64_t operations_of(const LaunchSource& source,
                            const Resolved& resolved,
                            const Kinds& kinds,
                            std::uint32_t gpu) {
  std::uint64_t operations = 0;
  model::LaunchWork work;
  for (const Launch& launch : resolved.gpus[gpu].launches) {
    const Call& first = resolved.gpus[gpu].calls[launch.first_call];
    const auto kind =
        static_cast<std::size_t>(resolved.job->gpus[gpu].operations[first.operation].start_ns);
    work.clear();
    source.list(gpu, source.launch_of(gpu, launch.first_call), work);
    const std::uint64_t of_launch = work.lanes.empty() ? 1 : work.end_op + 1;
    operations += of_launch * kinds.count[kind];
  }
  return operations;
}

// Returns the operations of all replicas' collectives and messages.
core::Result<std::uint64_t> count_operations(const Kinds& kinds,
                                             const ScaleOptions& scale_options,
                                             const ChoiceOptions& choices,
                                             const Costs& costs) {
  if (kinds.count.empty()) return std::uint64_t{0};
  model::Job job = ASSAY_TRY(scale(kinds.job, scale_options));
  static_cast<void>(choose_algorithms(kinds.job, choices, job));
  const Resolved resolved = ASSAY_TRY(resolve(job, Misfits::kLeaveOut));
  model::Warnings unused;
  const LaunchSource source(resolved, costs, {}, unused);
  const auto cell = static_cast<std::uint32_t>(kinds.job.gpus.size());
  const std::vector<std::uint32_t> sample = sampled(scale_options.replicas);
  std::uint64_t operations = 0;
  for (const std::uint32_t replica : sample) {
    for (std::uint32_t gpu = 0; gpu < cell; ++gpu)
      operations += operations_of(source, resolved, kinds, replica * cell + gpu);
  }
  return static_cast<std::uint64_t>(static_cast<double>(operations) /
                                    static_cast<double>(sample.size()) * scale_options.replicas);
}

}  // namespace

core::Result<JobSize> size_of(const JobFile& file) {
  return size_of(file.job, file.scale, file.choices, file.costs);
}

core::Result<JobSize> size_of(const model::Job& job,
                              const ScaleOptions& scale_options,
                              const ChoiceOptions& choices,
                              const Costs& costs) {
  const Resolved resolved = ASSAY_TRY(resolve(job, Misfits::kLeaveOut));
  const Kinds kinds = find_kinds(resolved);
  const std::uint64_t replicas = scale_options.replicas;
  JobSize size;
  size.ranks = job.gpus.size() * replicas;
  size.launches = kinds.launches * replicas;
  size.operations = kinds.computations * replicas +
                    ASSAY_TRY(count_operations(kinds, scale_options, choices, costs));
  size.memory_bytes = kProgramBytes + size.ranks * kRankBytes + size.launches * kLaunchBytes;
  return size;
}

std::uint64_t binary_bytes(std::uint64_t operations) {
  return operations * kOperationBytes;
}

core::Status check_room(const JobSize& size, std::uint64_t free_bytes) {
  const std::uint64_t needed = binary_bytes(size.operations);
  if (needed <= free_bytes) return {};
  return core::Error{fmt::format(
      "the schedule has about {} operations: a file of {:.3g} GB or more, where {:.3g} GB are "
      "free; "
      "--write job keeps the job itself, which 'assay simulate' runs without such a file",
      size.operations, static_cast<double>(needed) / 1e9, static_cast<double>(free_bytes) / 1e9)};
}

bool fits_exactly(const JobSize& size) {
  return size.operations <= kMostExactOperations && size.memory_bytes <= kMostExactBytes;
}

model::Book job_statistics(const JobFile& file, const JobSize& size, std::string_view name) {
  model::Table table{.name = "job",
                     .title = "What the job is, and how large its schedule would be",
                     .columns = {{.name = "what"}, {.name = "value"}}};
  const auto add = [&](const char* what, const std::string& value) {
    table.add_row({std::string(what), value});
  };
  add("replicas", fmt::format("{}", file.scale.replicas));
  add("ranks", fmt::format("{}", size.ranks));
  add("launches", fmt::format("{}", size.launches));
  add("operations of the graph, about", fmt::format("{}", size.operations));
  add("algorithms at the new size", file.choices.keep ? "as recorded" : "NCCL's choice");
  add("network card of each GPU, by which NCCL chooses",
      fmt::format("{} GB/s", file.choices.nic_gbps));
  add("costs", file.costs.source);
  model::Book book = summarize_job(file.job);
  book.title = fmt::format("Job {}", name);
  book.tables.insert(book.tables.begin(), std::move(table));
  return book;
}

}  // namespace assay::goal
