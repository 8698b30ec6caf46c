#include <fmt/core.h>

#include "core/files.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/reduce.h"

namespace assay::trace {
namespace {

core::Result<CommandResult> single_book(ReducedRun& run) {
  if (run.ranks.size() != 1) {
    return core::Error{fmt::format(
        "a report without a folder to write to ('-o -', in Python no output) is one trace's, and "
        "these are {} traces: give one, or a folder to write to",
        run.ranks.size())};
  }
  CommandResult result;
  result.book = std::move(run.individual.front());
  return result;
}

}  // namespace

core::Result<CommandResult> run_report(const ReportRequest& request, core::Progress& progress) {
  const Keep keep{.individual = true, .overview = true};
  ReducedRun run = ASSAY_TRY(reduce_files(request.inputs, request, keep, progress));
  CommandResult result;
  if (request.output.kind == Output::Kind::kBook) {
    result = ASSAY_TRY(single_book(run));
  } else {
    const std::filesystem::path folder =
        request.output.folder.empty() ? kReportFolder : request.output.folder;
    const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
    result.written = ASSAY_TRY(write_individual_reports(run, request, folder));
  }
  result.summary = {"Individual reports", {timeline_overview(run)}};
  result.warnings = run.warnings();
  tell_incomplete(run.lost_in_words(), result);
  return result;
}

}  // namespace assay::trace
