#include <fmt/core.h>

#include "core/files.h"
#include "core/interrupt.h"
#include "trace/pipelines.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/rank_part.h"
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

// Writes the pieces of a trace.
core::Status split_one(const model::Trace& trace,
                       const RankFile& file,
                       std::span<const RankFile> files,
                       const SplitRequest& request,
                       const fs::path& folder,
                       model::Table& table) {
  const SplitPlan plan = ASSAY_TRY(SplitPlan::make(trace, request.choice));
  std::string stem = stem_of(file.path);
  if (files.size() > 1 && file.rank) stem = fmt::format("rank{}.{}", *file.rank, stem);
  const std::vector<fs::path> paths = piece_paths(plan, folder, stem);
  ASSAY_TRY(check_targets(paths, request.existing));
  ASSAY_TRY(check_is_no_input(paths, files));
  const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(file.path));
  add_rows(plan, ASSAY_TRY(write_pieces(*source, file.path.string(), plan, folder, stem)), table);
  return {};
}

}  // namespace

core::Result<CommandResult> run_split(const SplitRequest& request, core::Progress& progress) {
  CommandResult result;
  const fs::path inputs[] = {request.input};
  const InputFiles found = ASSAY_TRY(find_input_files(inputs, Compat::kNone));
  const std::vector<RankFile>& files = found.files;
  result.warnings = found.warnings;
  const fs::path folder = request.output.folder.empty() ? kSplitFolder : request.output.folder;
  progress.add_total(2 * total_bytes(files));
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  model::Table table = pieces_table();
  std::vector<UnreadFile> unread;
  std::vector<LostRank> lost;
  const auto advance = [&progress](std::uint64_t bytes) { progress.advance(bytes); };
  for (std::size_t i = 0; i < files.size(); ++i) {
    const RankFile& file = files[i];
    const auto read = read_rank(file, i, {}, advance);
    ASSAY_TRY(core::check_interrupt());
    if (!read.ok()) {
      unread.push_back({file, read.error()});
      continue;
    }
    const model::Trace& trace = read.value().trace;
    result.warnings.merge(trace.warnings);
    ASSAY_TRY(split_one(trace, file, files, request, folder, table));
    if (trace.truncated) lost.push_back({read.value().rank, Loss::kCut, file.path.string()});
    progress.advance(total_bytes(std::span(&file, 1)));
  }
  if (unread.size() == files.size()) return unread.front().error;
  // The table names the files, of which there may be hundreds.
  result.written = {folder};
  result.summary = {"Traces of " + request.input.string(), {std::move(table)}};
  for (LostRank& one : find_lost_ranks({}, unread, Showing::kEachAlone, result.warnings))
    lost.push_back(std::move(one));
  warn_of_older_traces(files, lost, result.warnings);
  tell_incomplete(lost_ranks_in_words(lost, Showing::kEachAlone), result);
  return result;
}

}  // namespace assay::trace
