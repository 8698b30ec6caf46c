#include <fmt/core.h>

#include <iterator>

#include "core/files.h"
#include "report/book.h"
#include "trace/commands/prepare.h"
#include "trace/compare/timeline_summary.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

void append(std::vector<fs::path>& to, std::vector<fs::path> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

core::Status add_individual_reports(const AnalyzedRun& run,
                                    const AnalyzeRequest& request,
                                    const fs::path& folder,
                                    CommandResult& result) {
  append(result.written,
         ASSAY_TRY(write_individual_reports(run, request, folder / kIndividualFolder)));
  // The ranks of this configuration side by side.
  const model::Book ranks = timeline_summary(timeline_reports(run), request.options.compat);
  append(result.written,
         ASSAY_TRY(write_book(ranks, folder / "comparison_report", request.output)));
  result.summary.tables.push_back(timeline_overview(run));
  return {};
}

core::Status add_collective_report(const AnalyzedRun& run,
                                   const AnalyzeRequest& request,
                                   const fs::path& folder,
                                   CommandResult& result) {
  CollectiveBook collectives = collective_book(run, request.gpus_per_node);
  append(result.written,
         ASSAY_TRY(write_book(collectives.book, folder / kCollectiveFolder / kCollectiveReportName,
                              request.output)));
  result.summary.tables.push_back(std::move(collectives.overview));
  result.warnings = std::move(collectives.warnings);
  return {};
}

// The names that the public tool's scripts look for, as further copies of the workbooks.
core::Status add_legacy_names(const AnalyzedRun& run,
                              const AnalyzeRequest& request,
                              const fs::path& folder,
                              CommandResult& result) {
  for (const RankAnalysis& rank : run.ranks) {
    const fs::path path = folder / kIndividualFolder / fmt::format("perf_rank{}.xlsx", rank.rank);
    ASSAY_TRY(report::write_xlsx(individual_report(rank), path));
    result.written.push_back(path);
  }
  const fs::path summary = folder / kCollectiveFolder / "gpu_timeline_summary_mean.xlsx";
  ASSAY_TRY(core::make_directories(summary.parent_path()));
  ASSAY_TRY(
      report::write_xlsx(timeline_summary(timeline_reports(run), request.options.compat), summary));
  result.written.push_back(summary);
  return {};
}

// Inputs may be read-only; then the command's own place, inside them, cannot be made.
core::Status make_folder(const AnalyzeRequest& request, const fs::path& folder) {
  const core::Status made = core::make_directories(folder);
  if (made.ok() || !request.output.folder.empty()) return made;
  return core::Error{made.error().message + "; name another folder with --output"};
}

}  // namespace

core::Result<CommandResult> run_analyze(const AnalyzeRequest& request, core::Progress& progress) {
  const fs::path inputs[] = {request.configuration};
  const AnalyzedRun run = ASSAY_TRY(analyze_files(inputs, request, progress));
  const fs::path folder = request.output.folder.empty()
                              ? configuration_folder(request.configuration) / kAnalysisFolder
                              : request.output.folder;
  ASSAY_TRY(make_folder(request, folder));
  CommandResult result;
  result.summary.title = "Analysis of " + request.configuration.string();
  result.warnings = run.warnings();
  if (request.parts != Parts::kCollective) {
    ASSAY_TRY(add_individual_reports(run, request, folder, result));
  }
  if (request.parts != Parts::kIndividual) {
    ASSAY_TRY(add_collective_report(run, request, folder, result));
  }
  const bool legacy = request.names == FileNames::kAlsoLegacy;
  if (legacy && request.parts != Parts::kCollective) {
    ASSAY_TRY(add_legacy_names(run, request, folder, result));
  }
  return result;
}

}  // namespace assay::trace
