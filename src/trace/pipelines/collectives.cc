#include "core/files.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/reduce.h"

namespace assay::trace {

core::Result<CommandResult> run_collectives(const CollectivesRequest& request,
                                            core::Progress& progress) {
  const std::filesystem::path inputs[] = {request.folder};
  const Keep keep{.communication = true};
  const ReducedRun run = ASSAY_TRY(reduce_files(inputs, request, keep, progress));
  CollectiveBook collectives = collective_book(run, request.gpus_per_node);
  CommandResult result;
  result.summary = {"Collectives", {std::move(collectives.overview)}};
  result.warnings = std::move(collectives.warnings);
  tell_incomplete(run.lost_in_words(), result);
  if (request.output.kind == Output::Kind::kBook) {
    model::make_rows(collectives.book);
    result.book = std::move(collectives.book);
    return result;
  }
  const std::filesystem::path folder =
      request.output.folder.empty() ? kReportFolder : request.output.folder;
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  result.written = ASSAY_TRY(write_book(collectives.book, folder / kCollectiveReportName,
                                        request.output, request.threads));
  return result;
}

}  // namespace assay::trace
