#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "core/files.h"
#include "core/interrupt.h"
#include "report/book.h"
#include "trace/compare/combine.h"
#include "trace/compare/timeline_summary.h"
#include "trace/compare/workbook_charts.h"
#include "trace/pipelines/kept_runs.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/reduce.h"
#include "trace/run.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

void append(std::vector<fs::path>& to, std::vector<fs::path> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

core::Status add_individual_reports(const ReducedRun& run,
                                    const AnalyzeRequest& request,
                                    const fs::path& folder,
                                    CommandResult& result) {
  append(result.written,
         ASSAY_TRY(write_individual_reports(run, request, folder / kIndividualFolder)));
  // The ranks of this configuration side by side.
  model::Book ranks = timeline_summary(run.timelines, request.options.compat);
  if (request.options.compat == Compat::kNone) add_charts(ranks);
  if (!run.lost_ranks.empty()) ranks.tables.push_back(lost_ranks_table(run.lost_ranks));
  append(result.written, ASSAY_TRY(write_book(ranks, folder / kRanksReportName, request.output)));
  result.summary.tables.push_back(timeline_overview(run));
  return {};
}

core::Status add_collective_report(const ReducedRun& run,
                                   const AnalyzeRequest& request,
                                   const fs::path& folder,
                                   CommandResult& result) {
  CollectiveBook collectives = collective_book(run, request.gpus_per_node);
  if (request.options.compat == Compat::kNone) add_charts(collectives.book);
  append(result.written,
         ASSAY_TRY(write_book(collectives.book, folder / kCollectiveFolder / kCollectiveReportName,
                              request.output, request.threads)));
  result.summary.tables.push_back(std::move(collectives.overview));
  result.warnings = std::move(collectives.warnings);
  return {};
}

// Writes further copies of the workbooks under the names that the public tool's scripts look for.
core::Status add_legacy_names(const ReducedRun& run,
                              const AnalyzeRequest& request,
                              const fs::path& folder,
                              CommandResult& result) {
  append(result.written, ASSAY_TRY(write_individual_reports(
                             run, request, folder / kIndividualFolder, ReportNames::kLegacy)));
  const fs::path summary = folder / kCollectiveFolder / "gpu_timeline_summary_mean.xlsx";
  ASSAY_TRY(core::make_directories(summary.parent_path()));
  ASSAY_TRY(report::write_xlsx(timeline_summary(run.timelines, request.options.compat), summary));
  result.written.push_back(summary);
  return {};
}

// Inputs may be read-only, so the command's default folder inside them cannot always be created.
core::Result<core::FileLock> make_folder(const AnalyzeRequest& request, const fs::path& folder) {
  auto made = core::FileLock::acquire_folder(folder);
  if (made.ok() || !request.output.folder.empty()) return made;
  return core::Error{made.error().message + "; name another folder with --output"};
}

fs::path output_folder(const AnalyzeRequest& request, const RunFolder& run) {
  if (request.output.folder.empty()) return configuration_folder(run.path) / kAnalysisFolder;
  return run.repeat == 0 ? request.output.folder : request.output.folder / run.path.filename();
}

core::Result<CommandResult> analyze_run(const AnalyzeRequest& request,
                                        const RunFolder& run_folder,
                                        core::Progress& progress) {
  const fs::path inputs[] = {run_folder.path};
  const bool individual = request.parts != Parts::kCollective;
  const Keep keep{.individual = individual,
                  .timelines = individual,
                  .overview = individual,
                  .communication = request.parts != Parts::kIndividual};
  ReducedRun run = ASSAY_TRY(reduce_files(inputs, request, keep, progress));
  const fs::path folder = output_folder(request, run_folder);
  const core::FileLock lock = ASSAY_TRY(make_folder(request, folder));
  CommandResult result;
  result.warnings = run.warnings();
  result.incomplete = run.lost_in_words();
  if (individual) {
    ASSAY_TRY(add_individual_reports(run, request, folder, result));
    if (request.names == FileNames::kDocumented) run.individual = {};
  }
  if (request.parts != Parts::kIndividual) {
    ASSAY_TRY(add_collective_report(run, request, folder, result));
  }
  const bool legacy = request.names == FileNames::kAlsoLegacy;
  if (legacy && individual) {
    ASSAY_TRY(add_legacy_names(run, request, folder, result));
  }
  return result;
}

// Later requests of those that keep what they read leave the same repeats out.
bool may_leave_out(const AnalyzeRequest& request, const core::Error& error) {
  return request.kept != nullptr && request.kept->damage == FileDamage::kDescribe &&
         !error.is_of_output && !core::interrupted();
}

// A terminal cuts the last columns, so the repeat comes first there.
model::Book summary_of(const std::vector<model::Book>& summaries, const std::vector<int>& repeats) {
  model::Book summary = stacked_runs(summaries, repeats);
  for (model::Table& table : summary.tables) {
    const auto width = static_cast<std::ptrdiff_t>(table.columns.size());
    std::rotate(table.columns.begin(), table.columns.end() - 1, table.columns.end());
    for (auto row = table.cells.begin(); row != table.cells.end(); row += width)
      std::rotate(row, row + width - 1, row + width);
  }
  return summary;
}

}  // namespace

core::Result<CommandResult> run_analyze(const AnalyzeRequest& request, core::Progress& progress) {
  CommandResult result;
  std::vector<model::Book> summaries;
  std::vector<int> repeats;
  const std::vector<RunFolder> runs =
      ASSAY_TRY(runs_to_read(request.configuration, request, result.warnings));
  for (const RunFolder& run : runs) {
    auto analysed = analyze_run(request, run, progress);
    const bool is_last_hope = repeats.empty() && &run == &runs.back();
    if (!analysed.ok() && (is_last_hope || !may_leave_out(request, analysed.error())))
      return analysed.error();
    if (!analysed.ok()) {
      request.kept->left_out.insert(run.path);
      result.left_out.push_back({run.repeat, analysed.error().message});
      continue;
    }
    CommandResult one = std::move(analysed).value();
    append(result.written, std::move(one.written));
    merge_warnings(run, one.warnings, result.warnings);
    if (!one.incomplete.empty()) {
      const std::string where = run.repeat == 0 ? "" : fmt::format("repeat {}: ", run.repeat);
      result.incomplete += (result.incomplete.empty() ? "" : "; ") + where + one.incomplete;
    }
    summaries.push_back(std::move(one.summary));
    repeats.push_back(run.repeat);
  }
  const bool once = repeats.front() == 0;
  result.summary = once ? std::move(summaries.front()) : summary_of(summaries, repeats);
  result.summary.title = "Analysis of " + request.configuration.string();
  const std::string lacking = result.incomplete;
  tell_incomplete(lacking, result);
  return result;
}

}  // namespace assay::trace
