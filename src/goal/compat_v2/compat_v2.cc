#include "goal/compat_v2/compat_v2.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "goal/compat_v2/rank_writer.h"

namespace assay::goal {
namespace {

using compat_v2::GpuPlan;

constexpr unsigned kMostDigits = 9;

std::vector<GpuPlan> plan_gpus(const model::Job& job, const CompatOptions& options) {
  std::vector<GpuPlan> plans(job.gpus.size());
  core::parallel_for(plans.size(), options.threads,
                     [&](std::size_t i) { plans[i] = compat_v2::plan_gpu(job.gpus[i]); });
  const bool merge = options.streams == Streams::kMergedWhenDisjoint &&
                     std::all_of(plans.begin(), plans.end(), compat_v2::mergeable);
  if (merge) std::for_each(plans.begin(), plans.end(), compat_v2::merge_streams);
  return plans;
}

// One GPU's result; a batch of them is made at once.
struct Written {
  model::RankBuilder graph;
  model::RankImage image;
  std::uint32_t num_ops = 0;
  model::Warnings warnings;
  core::Status status;
};

void write_gpu(const model::Job& job,
               std::uint32_t gpu,
               const GpuPlan& plan,
               const Costs& costs,
               const CompatOptions& options,
               Written& written) {
  compat_v2::RankWriter writer(job, gpu, costs, options, written.graph);
  written.status = writer.write(plan, written.warnings);
  written.num_ops = written.graph.size();
  written.image = written.graph.finish(std::move(written.image));
}

Generated describe(const model::Job& job, const CompatOptions& options) {
  Generated generated;
  generated.notes.nccl_version = job.nccl_version;
  generated.notes.tags = {
      .name = "decimal",
      .id_width = options.number_digits,
      .label_width = options.name_digits,
      .label_fields = {"hash of communicator, operation and sequence", "parallelism"}};
  for (const model::JobGpu& gpu : job.gpus)
    generated.notes.ranks.push_back({gpu.node, gpu.process_id, gpu.device, gpu.clock});
  generated.notes.spans.resize(job.gpus.size());
  return generated;
}

}  // namespace

core::Result<Generated> generate_compat_v2(const model::Job& job,
                                           const Costs& costs,
                                           const CompatOptions& options,
                                           model::RankSink& sink) {
  if (options.number_digits == 0 || options.number_digits + options.name_digits > kMostDigits) {
    return core::Error{
        fmt::format("--compat v2: tags of {} and {} digits: a tag has {} at most, "
                    "of which at least one numbers the messages",
                    options.number_digits, options.name_digits, kMostDigits)};
  }
  const std::vector<GpuPlan> plans = plan_gpus(job, options);
  Generated generated = describe(job, options);
  const unsigned threads =
      options.threads > 0 ? options.threads : std::max(std::thread::hardware_concurrency(), 1U);
  std::vector<Written> batch(std::min<std::size_t>(threads, plans.size()));
  for (std::size_t first = 0; first < plans.size(); first += batch.size()) {
    const std::size_t count = std::min(batch.size(), plans.size() - first);
    core::parallel_for(count, threads, [&](std::size_t i) {
      const auto gpu = static_cast<std::uint32_t>(first + i);
      write_gpu(job, gpu, plans[gpu], costs, options, batch[i]);
    });
    for (std::size_t i = 0; i < count; ++i) {
      ASSAY_TRY(batch[i].status);
      ASSAY_TRY(sink.append(batch[i].image));
      generated.num_ops += batch[i].num_ops;
    }
  }
  for (const Written& written : batch)
    generated.warnings.merge(written.warnings);
  return generated;
}

}  // namespace assay::goal
