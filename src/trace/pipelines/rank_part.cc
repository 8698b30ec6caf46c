#include "trace/pipelines/rank_part.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/text.h"
#include "trace/collectives/report.h"
#include "trace/sheet.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

model::Book timelines_of(const RankAnalysis& rank) {
  const std::string_view sheets[] = {"gpu_timeline", "excluded_work", "inference_steps"};
  return individual_report(rank, sheets);
}

std::vector<model::Cell> overview_of(const RankAnalysis& rank) {
  const Timeline times = timeline(busy_intervals(rank));
  std::vector<model::Cell> cells{std::int64_t{rank.rank},
                                 static_cast<std::int64_t>(rank.steps.size())};
  for (const std::int64_t ticks :
       {times.total, times.computation, times.exposed_comm, times.exposed_memcpy, times.idle,
        times.total_comm, times.total_memcpy}) {
    cells.emplace_back(rank.time.milliseconds(ticks));
  }
  cells.emplace_back(rank.excluded.leaked.kernels);
  return cells;
}

}  // namespace

RankFacts facts_of(const RankAnalysis& rank) {
  RankFacts facts{.rank = rank.rank,
                  .path = rank.trace->path,
                  .gpu_name = rank.trace->gpu_name,
                  .world_size = rank.trace->world_size.value_or(0),
                  .truncated = rank.trace->truncated,
                  .damage = rank.trace->damage,
                  .leaked_kernels = rank.excluded.leaked.kernels,
                  .outside_kernels = rank.excluded.outside.kernels,
                  .warnings = rank.warnings};
  facts.counts_anything =
      std::find(rank.counted.begin(), rank.counted.end(), true) != rank.counted.end();
  const bool is_lost = rank.options.compat == Compat::kNone && !facts.counts_anything;
  if (is_lost) facts.warnings = rank.trace->warnings;
  return facts;
}

RankPart part_of(const RankAnalysis& rank, const Keep& keep) {
  RankPart part{.facts = facts_of(rank)};
  const bool is_lost = rank.options.compat == Compat::kNone && !part.facts.counts_anything;
  if (is_lost) return part;
  if (keep.individual) part.individual = individual_report(rank);
  if (keep.timelines) part.timelines = timelines_of(rank);
  if (keep.overview) part.overview = overview_of(rank);
  if (keep.communication)
    part.communication = record_for_report(rank);
  else if (keep.works)
    part.communication = collectives::record_rank(rank);
  if (keep.works) part.works = path::record_works(rank, *part.communication);
  return part;
}

// A report in which every figure is zero looks like a measurement.
core::Status check_gpu_work(std::span<const RankFacts> ranks) {
  if (ranks.empty()) return {};
  std::int64_t leaked = 0;
  std::int64_t outside = 0;
  for (const RankFacts& rank : ranks) {
    if (rank.counts_anything) return {};
    leaked += rank.leaked_kernels;
    outside += rank.outside_kernels;
  }
  const std::string& path = ranks.front().path;
  const std::string where = ranks.size() == 1
                                ? fmt::format("'{}' has", path)
                                : fmt::format("the {} ranks from '{}' on have", ranks.size(), path);
  if (leaked + outside == 0) {
    return core::Error{where + " no GPU work: was the profiler told to record the GPU?"};
  }
  const auto launched = [](std::int64_t kernels, const char* when) {
    return fmt::format("{} {} launched {}", kernels, kernels == 1 ? "kernel was" : "kernels were",
                       when);
  };
  std::vector<std::string> reasons;
  if (leaked > 0) reasons.push_back(launched(leaked, "before the profile began"));
  if (outside > 0) reasons.push_back(launched(outside, "outside its steps"));
  return core::Error{where + " no GPU work to count: " + core::join(reasons, " and ")};
}

void warn_of_missing_ranks(std::span<const RankFacts> ranks, model::Warnings& warnings) {
  int world = 0;
  for (const RankFacts& rank : ranks)
    world = std::max({world, rank.rank + 1, rank.world_size});
  std::vector<bool> present(static_cast<std::size_t>(world), false);
  for (const RankFacts& rank : ranks)
    present[static_cast<std::size_t>(rank.rank)] = true;
  const auto missing = std::count(present.begin(), present.end(), false);
  if (missing == 0) return;
  const auto first = std::find(present.begin(), present.end(), false) - present.begin();
  warnings.add("ranks without a trace", "figures are of the ranks present",
               fmt::format("rank {}", first), missing);
}

// The profiler writes GPU events last, so a file that was cut off may lack them all.
std::string describe_lost_ranks(std::span<const RankFacts> facts, model::Warnings& warnings) {
  std::vector<int> ranks;
  for (const RankFacts& rank : facts) {
    if (rank.counts_anything) continue;
    ranks.push_back(rank.rank);
    warnings.merge(rank.warnings);
    warnings.add("rank without GPU work to count",
                 rank.truncated ? "left out; its file is cut off or damaged" : "left out",
                 rank.path);
  }
  if (ranks.empty()) return "";
  return fmt::format("{} {} no GPU work to count, so all that was written lacks {}",
                     ranks.size() == 1 ? "rank" : "ranks",
                     core::join(ranks, ", ") + (ranks.size() == 1 ? " has" : " have"),
                     ranks.size() == 1 ? "it" : "them");
}

}  // namespace assay::trace
