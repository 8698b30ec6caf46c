#include "trace/pipelines/reduce.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "trace/collectives/report.h"
#include "trace/pipelines/prepare.h"
#include "trace/run.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

using Part = core::Result<RankPart>;

Part read_part(const RankFile& file,
               std::size_t position,
               const Options& options,
               const Keep& keep,
               const OnProgress& on_progress) {
  ASSAY_TRY(core::check_interrupt());
  const RankTrace rank = ASSAY_TRY(read_rank(file, position, reading_of(options), on_progress));
  return part_of(analyze_rank(rank.trace, options, rank.rank), keep);
}

// Reads the files, and none after one that failed. Returns the parts by position; none for a file
// that was not read.
std::vector<std::optional<Part>> read_parts(const InputFiles& inputs,
                                            const Options& options,
                                            const Keep& keep,
                                            unsigned threads,
                                            core::Progress& progress) {
  std::vector<std::optional<Part>> parts(inputs.files.size());
  std::atomic<bool> failed = false;
  const auto on_progress = [&](std::uint64_t bytes) { progress.advance(bytes); };
  core::parallel_for(inputs.files.size(), threads, [&](std::size_t i) {
    if (failed) return;
    parts[i].emplace(read_part(inputs.files[i], i, options, keep, on_progress));
    if (!parts[i]->ok()) failed = true;
  });
  return parts;
}

core::Result<std::vector<RankPart>> sorted_by_rank(std::vector<std::optional<Part>> read) {
  std::vector<RankPart> parts;
  for (std::optional<Part>& part : read) {
    if (part) parts.push_back(ASSAY_TRY(std::move(*part)));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const RankPart& a, const RankPart& b) {
    return a.facts.rank < b.facts.rank;
  });
  std::vector<RankOfFile> ranks;
  for (const RankPart& part : parts)
    ranks.push_back({part.facts.rank, part.facts.path});
  ASSAY_TRY(check_ranks_differ(ranks));
  return parts;
}

void add(RankPart part, const Keep& keep, ReducedRun& run) {
  const int rank = part.facts.rank;
  run.ranks.push_back(std::move(part.facts));
  if (keep.individual) run.individual.push_back(std::move(part.individual));
  if (keep.timelines) run.timelines.push_back({rank, std::move(part.timelines)});
  if (keep.overview) run.overview.push_back(std::move(part.overview));
  if (part.communication) run.communication.push_back(std::move(*part.communication));
  if (part.works) run.works.push_back(std::move(*part.works));
}

core::Result<ReducedRun> checked(std::vector<RankPart> parts,
                                 const InputFiles& inputs,
                                 Compat compat,
                                 const Keep& keep) {
  ReducedRun run{.compat = compat};
  run.run_warnings = inputs.warnings;
  std::vector<RankFacts> facts;
  for (const RankPart& part : parts)
    facts.push_back(part.facts);
  if (inputs.has_folder) warn_of_missing_ranks(facts, run.run_warnings);
  if (compat == Compat::kNone) {
    ASSAY_TRY(check_gpu_work(facts));
    run.lost_ranks = describe_lost_ranks(facts, run.run_warnings);
    std::erase_if(parts, [](const RankPart& part) { return !part.facts.counts_anything; });
  }
  for (RankPart& part : parts)
    add(std::move(part), keep, run);
  return run;
}

}  // namespace

model::Warnings ReducedRun::warnings() const {
  model::Warnings all = run_warnings;
  for (const RankFacts& rank : ranks)
    all.merge(rank.warnings);
  return all;
}

std::string ReducedRun::gpu_name() const {
  for (const RankFacts& rank : ranks)
    if (!rank.gpu_name.empty()) return rank.gpu_name;
  return "";
}

core::Result<ReducedRun> reduce_files(std::span<const fs::path> inputs,
                                      const Request& request,
                                      const Keep& keep,
                                      core::Progress& progress) {
  const Options options = ASSAY_TRY(complete_options(request));
  const InputFiles files = ASSAY_TRY(find_input_files(inputs));
  ASSAY_TRY(check_heads(files.files));
  progress.add_total(total_bytes(files.files));
  auto parts = read_parts(files, options, keep, request.threads, progress);
  ASSAY_TRY(core::check_interrupt());
  return checked(ASSAY_TRY(sorted_by_rank(std::move(parts))), files, options.compat, keep);
}

core::Result<std::vector<fs::path>> write_individual_reports(const ReducedRun& run,
                                                             const Request& request,
                                                             const fs::path& folder) {
  using Written = core::Result<std::vector<fs::path>>;
  std::vector<Written> results(run.ranks.size(), std::vector<fs::path>{});
  core::parallel_for(run.ranks.size(), request.threads, [&](std::size_t i) {
    const core::Status go_on = core::check_interrupt();
    const std::string name = fmt::format("rank{}_individual_report", run.ranks[i].rank);
    results[i] = go_on.ok() ? write_book(run.individual[i], folder / name, request.output)
                            : Written(go_on.error());
  });
  std::vector<fs::path> written;
  for (Written& result : results) {
    for (fs::path& path : ASSAY_TRY(std::move(result)))
      written.push_back(std::move(path));
  }
  return written;
}

CollectiveBook collective_book(const ReducedRun& run, std::optional<int> gpus_per_node) {
  CollectiveReport report = collective_report(run.communication, gpus_per_node);
  CollectiveBook result{std::move(report.book), std::move(report.overview), run.warnings()};
  result.warnings.merge(report.warnings);
  const bool right = !run.ranks.empty() && run.compat == Compat::kNone;
  if (right) result.book.tables.push_back(warnings_table(result.warnings));
  return result;
}

model::Table timeline_overview(const ReducedRun& run) {
  model::Table table{"gpu_timeline",
                     "GPU time of the profiled steps; exp.: not hidden behind other work",
                     {{"rank"},
                      {"steps"},
                      {"total ms", "ms"},
                      {"compute ms", "ms"},
                      {"exp. comm ms", "ms"},
                      {"exp. copy ms", "ms"},
                      {"idle ms", "ms"},
                      {"comm ms", "ms"},
                      {"copy ms", "ms"},
                      {"leaked kernels"}}};
  for (const std::vector<model::Cell>& row : run.overview)
    table.add_row(row);
  return table;
}

}  // namespace assay::trace
