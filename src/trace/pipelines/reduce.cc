#include "trace/pipelines/reduce.h"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "trace/collectives/report.h"
#include "trace/pipelines/kept_runs.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/share.h"
#include "trace/pipelines/spread.h"
#include "trace/run.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

struct ReadRank {
  RankPart part;
  int reader = 0;
};

// The allocator keeps what large traces took for the next ones, of which there are none.
void return_memory_of([[maybe_unused]] std::span<const RankFile> files) {
#ifdef __GLIBC__
  constexpr std::uint64_t kLarge = 1 << 26;  // less is not worth the time
  if (total_bytes(files) > kLarge) ::malloc_trim(0);
#endif
}

core::Status check_whole(const ReadParts& parts) {
  for (const auto& part : parts) {
    if (!part->ok()) return part->error();
    const RankFacts& facts = part->value().facts;
    if (facts.damage.empty()) continue;
    const bool is_named = facts.damage.find(facts.path) != std::string::npos;
    return core::Error{is_named ? facts.damage : fmt::format("'{}': {}", facts.path, facts.damage)};
  }
  return {};
}

core::Result<ReadParts> read_files(std::span<const RankFile> files,
                                   const Request& request,
                                   const ShareWork& work,
                                   core::Progress& progress) {
  core::ProcessGroup* processes = request.processes;
  if (processes != nullptr) ASSAY_TRY(send_shares(files, work, *processes));
  ReadParts parts(files.size());
  const std::vector<std::size_t> share = share_of(files.size(), processes);
  read_share(files, share, work, progress, parts);
  return_memory_of(files);
  ASSAY_TRY(core::check_interrupt());
  if (processes != nullptr) ASSAY_TRY(receive_parts(*processes, parts));
  ASSAY_TRY(core::check_interrupt());
  return parts;
}

Keep both(const Keep& a, const Keep& b) {
  return {.individual = a.individual || b.individual,
          .timelines = a.timelines || b.timelines,
          .overview = a.overview || b.overview,
          .communication = a.communication || b.communication,
          .works = a.works || b.works};
}

core::Result<ReadParts> read_parts(std::span<const RankFile> files,
                                   const Request& request,
                                   const Options& options,
                                   const Keep& keep,
                                   core::Progress& progress) {
  const unsigned threads = threads_of(request);
  if (request.kept == nullptr)
    return read_files(files, request, {options, keep, threads}, progress);
  if (auto parts = kept_parts(files, *request.kept)) return std::move(*parts);
  const ShareWork work{.options = options,
                       .keep = both(keep, request.kept->keep),
                       .threads = threads,
                       .damage = request.kept->damage};
  ReadParts parts = ASSAY_TRY(read_files(files, request, work, progress));
  const core::Status whole = check_whole(parts);
  if (whole.ok()) {
    keep_parts(files, parts, *request.kept);
  } else if (request.kept->damage == FileDamage::kDescribe) {
    return whole.error();
  }
  return parts;
}

// What came of the files of a run.
struct ReadRun {
  std::vector<ReadRank> ranks = {};  // sorted by rank
  std::vector<UnreadFile> unread = {};
};

core::Result<ReadRun> sorted_by_rank(std::span<const RankFile> files,
                                     ReadParts read,
                                     const core::ProcessGroup* processes) {
  ReadRun run;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]->ok())
      run.ranks.push_back(
          {std::move(*read[i]).value(), processes != nullptr ? reader_of(i, *processes) : 0});
    else
      run.unread.push_back({files[i], read[i]->error()});
  }
  std::stable_sort(run.ranks.begin(), run.ranks.end(), [](const ReadRank& a, const ReadRank& b) {
    return a.part.facts.rank < b.part.facts.rank;
  });
  std::vector<RankOfFile> ranks;
  for (const ReadRank& one : run.ranks)
    ranks.push_back({one.part.facts.rank, one.part.facts.path});
  ASSAY_TRY(check_ranks_differ(ranks));
  return run;
}

void add(ReadRank read, const Keep& keep, ReducedRun& run) {
  RankPart& part = read.part;
  const int rank = part.facts.rank;
  run.readers.push_back(read.reader);
  run.ranks.push_back(std::move(part.facts));
  if (keep.individual) run.individual.push_back(std::move(part.individual));
  if (keep.timelines) run.timelines.push_back({rank, std::move(part.timelines)});
  if (keep.overview) run.overview.push_back(std::move(part.overview));
  const bool is_whole = !run.ranks.back().truncated || run.compat != Compat::kNone;
  if (part.communication && is_whole) run.communication.push_back(std::move(*part.communication));
  if (part.works) run.works.push_back(std::move(*part.works));
}

core::Result<ReducedRun> checked(ReadRun read,
                                 const InputFiles& inputs,
                                 Compat compat,
                                 const Keep& keep) {
  const bool needs_all = compat != Compat::kNone || read.ranks.empty();
  if (needs_all && !read.unread.empty()) return read.unread.front().error;
  ReducedRun run{.compat = compat,
                 .showing = keep.individual ? Showing::kEachAlone : Showing::kSideBySide};
  run.run_warnings = inputs.warnings;
  std::vector<RankFacts> facts;
  for (const ReadRank& rank : read.ranks)
    facts.push_back(rank.part.facts);
  if (inputs.has_folder || run.showing == Showing::kSideBySide)
    warn_of_missing_ranks(facts, read.unread, run.run_warnings);
  warn_of_unlike_jobs(facts, run.run_warnings);
  if (compat == Compat::kNone) {
    ASSAY_TRY(check_gpu_work(facts, run.showing));
    run.lost_ranks = find_lost_ranks(facts, read.unread, run.showing, run.run_warnings);
    warn_of_older_traces(inputs.files, run.lost_ranks, run.run_warnings);
    std::erase_if(read.ranks,
                  [&](const ReadRank& rank) { return is_left_out(rank.part.facts, run.showing); });
  }
  for (ReadRank& rank : read.ranks)
    add(std::move(rank), keep, run);
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
  const InputFiles found = ASSAY_TRY(find_input_files(inputs, options.compat));
  ASSAY_TRY(check_heads(found.files));
  ReadParts parts = ASSAY_TRY(read_parts(found.files, request, options, keep, progress));
  ReadRun run = ASSAY_TRY(sorted_by_rank(found.files, std::move(parts), request.processes));
  return checked(std::move(run), found, options.compat, keep);
}

core::Result<std::vector<fs::path>> write_individual_reports(const ReducedRun& run,
                                                             const Request& request,
                                                             const fs::path& folder,
                                                             ReportNames names) {
  core::ProcessGroup* processes = request.processes;
  if (processes != nullptr) ASSAY_TRY(send_writing(run, folder, names, *processes));
  WrittenReports results(run.ranks.size(), std::vector<fs::path>{});
  core::parallel_for(run.ranks.size(), threads_of(request), [&](std::size_t i) {
    if (run.readers[i] == 0)
      results[i] =
          write_individual_report(run.individual[i], run.ranks[i].rank, request, folder, names);
  });
  if (processes != nullptr) ASSAY_TRY(receive_written(run, *processes, results));
  std::vector<fs::path> written;
  for (auto& result : results) {
    for (fs::path& path : ASSAY_TRY(std::move(result)))
      written.push_back(std::move(path));
  }
  return written;
}

CollectiveBook collective_book(const ReducedRun& run, std::optional<int> gpus_per_node) {
  CollectiveReport report = collective_report(run.communication, gpus_per_node);
  CollectiveBook result{std::move(report.study), std::move(report.book), std::move(report.overview),
                        run.warnings()};
  result.warnings.merge(report.warnings);
  const bool right = !run.ranks.empty() && run.compat == Compat::kNone;
  if (right) result.book.tables.push_back(warnings_table(result.warnings));
  if (!run.lost_ranks.empty()) result.book.tables.push_back(lost_ranks_table(run.lost_ranks));
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
