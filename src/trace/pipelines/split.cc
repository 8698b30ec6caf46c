#include <fmt/core.h>

#include "core/files.h"
#include "core/interrupt.h"
#include "trace/pipelines.h"
#include "trace/run.h"
#include "trace/split/plan.h"
#include "trace/split/writer.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

// Returns a file's name without the endings of traces.
std::string stem_of(const fs::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view ending : {".gz", ".json", ".trace", ".pt"})
    if (name.size() > ending.size() && name.ends_with(ending))
      name.erase(name.size() - ending.size());
  return name;
}

core::Status check_targets(const std::vector<fs::path>& paths, Existing existing) {
  for (const fs::path& path : paths) {
    std::error_code error;
    if (existing == Existing::kKeep && fs::exists(fs::symlink_status(path, error)))
      return core::Error{fmt::format(
          "'{}' exists; --overwrite replaces it, -o names another folder", path.string())};
  }
  return {};
}

model::Table pieces_table() {
  return {"pieces",
          "The traces that were written",
          {{"file"}, {"what"}, {"steps"}, {"events"}, {"GPU events"}, {"GPU work ms", "ms"}}};
}

void add_rows(const SplitPlan& plan,
              const std::vector<WrittenPiece>& written,
              model::Table& table) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Piece& piece = plan.pieces()[i];
    table.add_row({written[i].path.filename().string(), piece.what, piece.steps,
                   static_cast<std::int64_t>(written[i].events), piece.gpu_events,
                   static_cast<double>(piece.gpu_ns) / 1e6});
  }
}

}  // namespace

core::Result<CommandResult> run_split(const SplitRequest& request, core::Progress& progress) {
  CommandResult result;
  const std::vector<RankFile> files = ASSAY_TRY(find_rank_files(request.input, result.warnings));
  const fs::path folder = request.output.folder.empty() ? kSplitFolder : request.output.folder;
  progress.add_total(2 * total_bytes(files));
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  model::Table table = pieces_table();
  for (const RankFile& file : files) {
    const auto advance = [&progress](std::uint64_t bytes) { progress.advance(bytes); };
    const model::Trace trace = ASSAY_TRY(read_trace(file.path, advance));
    ASSAY_TRY(core::check_interrupt());
    result.warnings.merge(trace.warnings);
    const SplitPlan plan = ASSAY_TRY(SplitPlan::make(trace, request.choice));
    std::string stem = stem_of(file.path);
    if (files.size() > 1 && file.rank) stem = fmt::format("rank{}.{}", *file.rank, stem);
    const std::vector<fs::path> paths = piece_paths(plan, folder, stem);
    ASSAY_TRY(check_targets(paths, request.existing));
    ASSAY_TRY(check_is_no_input(paths, files));
    const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(file.path));
    const std::vector<WrittenPiece> written =
        ASSAY_TRY(write_pieces(*source, file.path.string(), plan, folder, stem));
    progress.advance(source->file_bytes_read());
    add_rows(plan, written, table);
  }
  // The table names the files, of which there may be hundreds.
  result.written = {folder};
  result.summary = {"Traces of " + request.input.string(), {std::move(table)}};
  return result;
}

}  // namespace assay::trace
