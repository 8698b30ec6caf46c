#include "trace/fuse/fuse.h"

#include <fmt/core.h>

#include "core/gzip_output.h"
#include "core/output_file.h"
#include "trace/compare/step_states.h"
#include "trace/path/apart_ranks.h"
#include "trace/path/report.h"
#include "trace/pipelines/prepare.h"

namespace assay::trace {
namespace {

core::Status write_trace(const FuseRequest& request,
                         const fuse::Input& input,
                         core::Progress& progress,
                         model::Warnings& warnings) {
  const auto advance = [&](std::uint64_t bytes) { progress.advance(bytes); };
  if (request.sink) return fuse::write_fused(input, request.sink, advance, warnings);
  const std::filesystem::path& file = request.file;
  return core::write_file_in_pieces(file, [&](const core::WritePiece& write) -> core::Status {
    if (file.extension() != ".gz") return fuse::write_fused(input, write, advance, warnings);
    core::GzipOutput compressed(write);
    const auto compress = [&](std::string_view text) { return compressed.write(text); };
    ASSAY_TRY(fuse::write_fused(input, compress, advance, warnings));
    return compressed.finish();
  });
}

}  // namespace

core::Result<CommandResult> run_fuse(const FuseRequest& request, core::Progress& progress) {
  const std::filesystem::path inputs[] = {request.folder};
  const std::filesystem::path outputs[] = {request.file};
  const InputFiles found = ASSAY_TRY(find_input_files(inputs, request.options.compat));
  ASSAY_TRY(check_is_no_input(outputs, found.files));
  const AnalyzedRun run = ASSAY_TRY(analyze_files(inputs, request, progress));
  const path::Execution execution = path::execution_of(run.ranks);
  ASSAY_TRY(path::check_overlap(execution));
  const auto critical = path::critical_path(execution);
  CommandResult result;
  result.warnings = run.warnings();
  result.incomplete = run.lost_in_words();
  for (const RankTrace& rank : run.run->ranks) {
    std::error_code ignored;
    progress.add_total(std::filesystem::file_size(rank.trace.path, ignored));
  }
  ASSAY_TRY(write_trace(request, {*run.run, execution, critical}, progress, result.warnings));
  if (request.sink) return result;
  const auto steady = steady_numbers(steps_of_run("", run.ranks).ranks);
  const model::Book book = path::path_report(execution, critical, steady);
  result.summary = {"Fused trace",
                    {*book.find("critical_path_steps"), *book.find("clock_alignment")}};
  tell_incomplete(run.lost_in_words(), result);
  result.written = {request.file};
  return result;
}

}  // namespace assay::trace
