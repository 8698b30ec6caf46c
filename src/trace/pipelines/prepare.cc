#include "trace/pipelines/prepare.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/text.h"
#include "report/book.h"
#include "trace/architectures.h"
#include "trace/collectives/report.h"
#include "trace/sheet.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

core::Result<Options> complete_options(const Request& request) {
  Options options = request.options;
  if (!request.architecture.empty()) {
    options.architecture = ASSAY_TRY(find_architecture(request.architecture));
  }
  return options;
}

}  // namespace

model::Warnings AnalyzedRun::warnings() const {
  model::Warnings all = run->warnings;
  for (const RankAnalysis& rank : ranks)
    all.merge(rank.warnings);
  return all;
}

namespace {

bool counts_anything(const RankAnalysis& rank) {
  return std::find(rank.counted.begin(), rank.counted.end(), true) != rank.counted.end();
}

// A report in which every figure is zero looks like a measurement.
core::Status check_gpu_work(const std::vector<RankAnalysis>& ranks) {
  if (ranks.empty()) return {};
  std::int64_t leaked = 0;
  std::int64_t outside = 0;
  for (const RankAnalysis& rank : ranks) {
    if (counts_anything(rank)) return {};
    leaked += rank.excluded.leaked.kernels;
    outside += rank.excluded.outside.kernels;
  }
  const std::string& path = ranks.front().trace->path;
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

// The profiler writes GPU events last, so a file that was cut off may lack them all.
void leave_out_ranks_without_gpu_work(AnalyzedRun& run) {
  std::vector<int> ranks;
  for (const RankAnalysis& rank : run.ranks) {
    if (counts_anything(rank)) continue;
    ranks.push_back(rank.rank);
    run.run->warnings.merge(rank.trace->warnings);
    run.run->warnings.add(
        "rank without GPU work to count",
        rank.trace->truncated ? "left out; its file is cut off or damaged" : "left out",
        rank.trace->path);
  }
  if (ranks.empty()) return;
  std::erase_if(run.ranks, [](const RankAnalysis& rank) { return !counts_anything(rank); });
  run.lost_ranks = fmt::format("{} {} no GPU work to count, so all that was written lacks {}",
                               ranks.size() == 1 ? "rank" : "ranks",
                               core::join(ranks, ", ") + (ranks.size() == 1 ? " has" : " have"),
                               ranks.size() == 1 ? "it" : "them");
}

}  // namespace

core::Result<AnalyzedRun> analyze_files(std::span<const fs::path> inputs,
                                        const Request& request,
                                        core::Progress& progress) {
  const Options options = ASSAY_TRY(complete_options(request));
  model::Warnings warnings;
  std::vector<RankFile> files;
  for (const fs::path& input : inputs) {
    for (RankFile& file : ASSAY_TRY(find_rank_files(input, warnings))) {
      files.push_back(std::move(file));
    }
  }
  progress.add_total(total_bytes(files));
  AnalyzedRun result;
  const auto flows = options.compat == Compat::kTraceLens ? LaunchFlows::kRead : LaunchFlows::kSkip;
  const auto python = options.call_stacks ? PythonCalls::kAll : PythonCalls::kNamed;
  result.run = std::make_unique<Run>(ASSAY_TRY(read_run(
      files, request.threads, [&](std::uint64_t bytes) { progress.advance(bytes); }, flows,
      python)));
  ASSAY_TRY(core::check_interrupt());
  result.run->warnings.merge(warnings);
  // A user who names single files knows which ranks those are.
  if (std::any_of(inputs.begin(), inputs.end(),
                  [](const fs::path& p) { return core::is_folder(p); })) {
    warn_of_missing_ranks(*result.run);
  }
  result.ranks.resize(result.run->ranks.size());
  core::parallel_for(result.ranks.size(), request.threads, [&](std::size_t i) {
    result.ranks[i] = analyze_rank(result.run->ranks[i].trace, options, result.run->ranks[i].rank);
  });
  ASSAY_TRY(core::check_interrupt());
  if (options.compat == Compat::kNone) {
    ASSAY_TRY(check_gpu_work(result.ranks));
    leave_out_ranks_without_gpu_work(result);
  }
  return result;
}

core::Result<std::vector<fs::path>> write_individual_reports(const AnalyzedRun& run,
                                                             const Request& request,
                                                             const fs::path& folder) {
  using Written = core::Result<std::vector<fs::path>>;
  std::vector<Written> results(run.ranks.size(), std::vector<fs::path>{});
  core::parallel_for(run.ranks.size(), request.threads, [&](std::size_t i) {
    const core::Status go_on = core::check_interrupt();
    const std::string name = fmt::format("rank{}_individual_report", run.ranks[i].rank);
    results[i] = go_on.ok()
                     ? write_book(individual_report(run.ranks[i]), folder / name, request.output)
                     : Written(go_on.error());
  });
  std::vector<fs::path> written;
  for (Written& result : results) {
    for (fs::path& path : ASSAY_TRY(std::move(result)))
      written.push_back(std::move(path));
  }
  return written;
}

std::vector<RankReport> timeline_reports(const AnalyzedRun& run) {
  const std::string_view sheets[] = {"gpu_timeline", "excluded_work"};
  std::vector<RankReport> reports;
  for (const RankAnalysis& rank : run.ranks) {
    reports.push_back({rank.rank, individual_report(rank, sheets)});
  }
  return reports;
}

CollectiveBook collective_book(const AnalyzedRun& run, std::optional<int> gpus_per_node) {
  CollectiveReport report = collective_report(run.ranks, gpus_per_node);
  CollectiveBook result{std::move(report.book), std::move(report.overview), run.warnings()};
  result.warnings.merge(report.warnings);
  const bool right = !run.ranks.empty() && run.ranks.front().options.compat == Compat::kNone;
  if (right) result.book.tables.push_back(warnings_table(result.warnings));
  return result;
}

fs::path configuration_folder(const fs::path& path) {
  fs::path folder = fs::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return folder.filename() == "torch_profiler" ? folder.parent_path() : folder;
}

core::Result<std::vector<fs::path>> write_book(const model::Book& book,
                                               const fs::path& stem,
                                               const Output& output) {
  ASSAY_TRY(core::make_directories(stem.parent_path()));
  std::vector<fs::path> written;
  for (const FileFormat format : output.formats) {
    fs::path path = stem;
    switch (format) {
      case FileFormat::kXlsx:
        ASSAY_TRY(report::write_xlsx(book, path += ".xlsx"));
        break;
      case FileFormat::kJson:
        ASSAY_TRY(report::write_json(book, path += ".json"));
        break;
      case FileFormat::kCsv:
        ASSAY_TRY(report::write_csv_folder(book, path += "_csvs"));
        break;
    }
    written.push_back(path);
  }
  return written;
}

model::Table timeline_overview(const AnalyzedRun& run) {
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
  for (const RankAnalysis& rank : run.ranks) {
    const Timeline times = timeline(busy_intervals(rank));
    std::vector<model::Cell> cells{std::int64_t{rank.rank},
                                   static_cast<std::int64_t>(rank.steps.size())};
    for (const std::int64_t ticks :
         {times.total, times.computation, times.exposed_comm, times.exposed_memcpy, times.idle,
          times.total_comm, times.total_memcpy}) {
      cells.emplace_back(rank.time.milliseconds(ticks));
    }
    cells.emplace_back(rank.excluded.leaked.kernels);
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace assay::trace
