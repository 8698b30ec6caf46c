#include "core/files.h"
#include "trace/compare/step_states.h"
#include "trace/path/apart_ranks.h"
#include "trace/path/report.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/reduce.h"

namespace assay::trace {

core::Result<CommandResult> run_path(const PathRequest& request, core::Progress& progress) {
  const std::filesystem::path inputs[] = {request.folder};
  const Keep keep{.timelines = true, .works = true};
  ReducedRun run = ASSAY_TRY(reduce_files(inputs, request, keep, progress));
  const path::Execution execution = path::execution_of(std::move(run.works), run.communication);
  ASSAY_TRY(path::check_overlap(execution));
  const auto critical = path::critical_path(execution);
  model::Book book = path::path_report(execution, critical, steady_numbers(run.timelines));
  CommandResult result;
  result.warnings = run.warnings();
  result.summary = {"Critical path", {*book.find("critical_path_steps")}};
  tell_incomplete(run.lost_in_words(), result);
  if (request.output.kind == Output::Kind::kBook) {
    result.book = std::move(book);
    return result;
  }
  const std::filesystem::path folder =
      request.output.folder.empty() ? kReportFolder : request.output.folder;
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  result.written = ASSAY_TRY(write_book(book, folder / "critical_path", request.output));
  return result;
}

}  // namespace assay::trace
