#include "trace/pipelines/rank_part.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/text.h"
#include "trace/collectives/report.h"
#include "trace/sheet.h"
#include "trace/sheets/work_table.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

model::Book timelines_of(const RankAnalysis& rank) {
  const std::string_view sheets[] = {"gpu_timeline", "excluded_work", "inference_steps"};
  model::Book book = individual_report(rank, sheets);
  if (rank.options.compat == Compat::kNone) book.tables.push_back(work_table(rank));
  return book;
}

std::vector<model::Cell> overview_of(const RankAnalysis& rank) {
  const Timeline times = timeline(busy_intervals(rank));
  std::vector<model::Cell> cells{std::int64_t{rank.rank},
                                 static_cast<std::int64_t>(rank.steps.size())};
  for (const std::int64_t ticks :
       {times.total, times.computation, times.exposed_comm, times.exposed_memcpy, times.idle,
        times.total_comm, times.total_memcpy}) {
    cells.push_back(times.total > 0 ? model::Cell(rank.time.milliseconds(ticks)) : model::Cell());
  }
  const bool can_tell_leaks = !rank.trace->runtime_calls.empty();
  cells.push_back(can_tell_leaks ? model::Cell(rank.excluded.leaked.kernels) : model::Cell());
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
  facts.is_foreign = rank.trace->cpu_ops.empty() && rank.trace->runtime_calls.empty() &&
                     rank.trace->gpu_events.empty() && rank.trace->annotations.empty();
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

bool is_left_out(const RankFacts& rank, Showing showing) {
  return !rank.counts_anything || (rank.truncated && showing == Showing::kSideBySide);
}

namespace {

std::string launched(std::int64_t kernels, const char* when) {
  return fmt::format("{} {} launched {}", kernels, kernels == 1 ? "kernel was" : "kernels were",
                     when);
}

// Says why ranks of which none has GPU work to count have none.
std::string missing_work_in_words(std::span<const RankFacts> ranks) {
  std::int64_t leaked = 0;
  std::int64_t outside = 0;
  bool truncated = false;
  bool foreign = true;
  for (const RankFacts& rank : ranks) {
    leaked += rank.leaked_kernels;
    outside += rank.outside_kernels;
    truncated = truncated || rank.truncated;
    foreign = foreign && rank.is_foreign;
  }
  std::vector<std::string> reasons;
  if (leaked > 0) reasons.push_back(launched(leaked, "before the profile began"));
  if (outside > 0) reasons.push_back(launched(outside, "outside its steps"));
  if (truncated)
    reasons.emplace_back(ranks.size() == 1 ? "the file is cut off or damaged"
                                           : "files are cut off or damaged");
  const std::string to_count = leaked + outside == 0 ? "" : " to count";
  if (!reasons.empty())
    return fmt::format("no GPU work{}: {}", to_count, core::join(reasons, " and "));
  if (foreign) return "no GPU work and no operators: is this a trace of PyTorch's profiler?";
  return "no GPU work: was the profiler told to record the GPU?";
}

}  // namespace

// A report in which every figure is zero looks like a measurement.
core::Status check_gpu_work(std::span<const RankFacts> ranks, Showing showing) {
  if (ranks.empty()) return {};
  const auto left_out = [&](const RankFacts& rank) { return is_left_out(rank, showing); };
  if (!std::all_of(ranks.begin(), ranks.end(), left_out)) return {};
  const auto counting = std::find_if(ranks.begin(), ranks.end(),
                                     [](const RankFacts& rank) { return rank.counts_anything; });
  if (counting != ranks.end()) {
    return core::Error{
        fmt::format("'{}' is cut off or damaged, and no other rank is whole: 'assay trace report' "
                    "shows what it holds",
                    counting->path)};
  }
  const std::string& path = ranks.front().path;
  const std::string where = ranks.size() == 1
                                ? fmt::format("'{}' has", path)
                                : fmt::format("the {} ranks from '{}' on have", ranks.size(), path);
  return core::Error{where + " " + missing_work_in_words(ranks)};
}

void warn_of_missing_ranks(std::span<const RankFacts> ranks,
                           std::span<const UnreadFile> unread,
                           model::Warnings& warnings) {
  int world = 0;
  for (const RankFacts& rank : ranks)
    world = std::max({world, rank.rank + 1, rank.world_size});
  std::vector<bool> present(static_cast<std::size_t>(world), false);
  for (const RankFacts& rank : ranks)
    present[static_cast<std::size_t>(rank.rank)] = true;
  for (const UnreadFile& one : unread)
    if (one.file.rank && *one.file.rank < world)
      present[static_cast<std::size_t>(*one.file.rank)] = true;
  const auto missing = std::count(present.begin(), present.end(), false);
  if (missing == 0) return;
  const auto first = std::find(present.begin(), present.end(), false) - present.begin();
  warnings.add("ranks without a trace", "figures are of the ranks present",
               fmt::format("rank {}", first), missing);
}

void warn_of_unlike_jobs(std::span<const RankFacts> ranks, model::Warnings& warnings) {
  std::map<int, std::vector<int>> ranks_of_size;
  for (const RankFacts& rank : ranks)
    if (rank.world_size > 0) ranks_of_size[rank.world_size].push_back(rank.rank);
  if (ranks_of_size.size() < 2) return;
  std::vector<std::string> texts;
  for (const auto& [size, members] : ranks_of_size)
    texts.push_back(fmt::format("of {}: {}", size, ranks_in_words(members)));
  warnings.add("ranks that disagree about the number of ranks of their job",
               "some are probably left from another run; figures are of all of them",
               core::join(texts, "; "));
}

std::vector<LostRank> find_lost_ranks(std::span<const RankFacts> facts,
                                      std::span<const UnreadFile> unread,
                                      Showing showing,
                                      model::Warnings& warnings) {
  std::vector<LostRank> lost;
  for (const UnreadFile& one : unread) {
    lost.push_back({one.file.rank, Loss::kUnreadable, one.file.path.string()});
    warnings.add("trace that cannot be read", "left out", one.error.message);
  }
  for (const RankFacts& rank : facts) {
    if (!rank.counts_anything) {
      lost.push_back(
          {rank.rank, rank.truncated ? Loss::kCutBeforeGpuWork : Loss::kNoGpuWork, rank.path});
      warnings.merge(rank.warnings);
      warnings.add("rank without GPU work to count",
                   rank.truncated ? "left out; its file is cut off or damaged" : "left out",
                   rank.path);
    } else if (rank.truncated) {
      lost.push_back({rank.rank, Loss::kCut, rank.path});
      if (is_left_out(rank, showing))
        warnings.add("rank whose trace is cut off or damaged", "left out", rank.path);
    }
  }
  return lost;
}

}  // namespace assay::trace
