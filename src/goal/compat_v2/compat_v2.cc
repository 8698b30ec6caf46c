#include "goal/compat_v2/compat_v2.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "goal/compat_v2/rank_writer.h"

namespace assay::goal {
namespace {

using compat_v2::GpuPlan;

std::vector<GpuPlan> plan_gpus(const model::Job& job, const CompatOptions& options) {
  std::vector<GpuPlan> plans(job.gpus.size());
  core::parallel_for(plans.size(), options.threads,
                     [&](std::size_t i) { plans[i] = compat_v2::plan_gpu(job.gpus[i]); });
  const bool merge = options.streams == Streams::kMergedWhenDisjoint &&
                     std::all_of(plans.begin(), plans.end(), compat_v2::mergeable);
  if (merge) std::for_each(plans.begin(), plans.end(), compat_v2::merge_streams);
  return plans;
}

}  // namespace

core::Result<SchedulePlan> plan_compat_v2(const model::Job& job,
                                          const Costs& costs,
                                          const CompatOptions& options) {
  using compat_v2::kMostTagDigits;
  if (options.number_digits == 0 || options.number_digits + options.name_digits > kMostTagDigits) {
    return core::Error{
        fmt::format("--compat v2: tags of {} and {} digits: a tag has {} at most, "
                    "of which at least one numbers the messages",
                    options.number_digits, options.name_digits, kMostTagDigits)};
  }
  SchedulePlan plan;
  plan.notes.nccl_version = job.nccl_version;
  plan.notes.tags = {
      .name = "decimal",
      .id_width = options.number_digits,
      .label_width = options.name_digits,
      .label_fields = {"hash of communicator, operation and sequence", "parallelism"}};
  plan.num_ranks = static_cast<std::uint32_t>(job.gpus.size());
  plan.threads = options.threads;
  plan.must_match = false;  // GPUs name messages by themselves and may disagree
  plan.make_rank = [&job, &costs, options, gpus = plan_gpus(job, options)](std::uint32_t rank,
                                                                           RankWork& work) {
    compat_v2::RankWriter writer(job, rank, costs, options, work.graph);
    return writer.write(gpus[rank], work.warnings);
  };
  return plan;
}

}  // namespace assay::goal
