#include <string>
#include <utility>

#include "core/files.h"
#include "trace/diff/diff_book.h"
#include "trace/pipelines/configuration_reader.h"
#include "trace/pipelines/prepare.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

core::Result<AnalyzedRun> analyze_side(const fs::path& path,
                                       const DiffRequest& request,
                                       core::Progress& progress) {
  const fs::path inputs[] = {path};
  return analyze_files(inputs, request, progress);
}

// The whole path, without the '/' that a shell completes folders with.
fs::path whole(const fs::path& path) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

// Files or folders of one name are told apart by the last folders above them that differ.
std::pair<std::string, std::string> names_of(fs::path baseline, fs::path test) {
  baseline = whole(baseline);
  test = whole(test);
  std::pair<std::string, std::string> names{path_label(baseline), path_label(test)};
  while (names.first == names.second && baseline.has_relative_path() && test.has_relative_path()) {
    names = {baseline.filename().string(), test.filename().string()};
    baseline = baseline.parent_path();
    test = test.parent_path();
  }
  const bool differ = names.first != names.second && !names.first.empty() && !names.second.empty();
  return differ ? names : std::pair<std::string, std::string>{"baseline", "test"};
}

std::pair<std::string, std::string> labels_of(const DiffRequest& request) {
  auto [baseline, test] = names_of(request.baseline, request.test);
  if (!request.baseline_label.empty()) baseline = request.baseline_label;
  if (!request.test_label.empty()) test = request.test_label;
  if (baseline == test) return {"baseline", "test"};
  return {std::move(baseline), std::move(test)};
}

void warn_of_unlike_sides(const AnalyzedRun& baseline,
                          const AnalyzedRun& test,
                          model::Warnings& warnings) {
  if (baseline.ranks.size() != test.ranks.size())
    warnings.add("sides with other numbers of ranks", "the two did not do the same work",
                 test.ranks.front().trace->path);
  const auto has_steps = [](const AnalyzedRun& run) { return !run.ranks.front().steps.empty(); };
  if (has_steps(baseline) != has_steps(test))
    warnings.add("steps on one side only", "a step is compared with a whole trace",
                 (has_steps(test) ? baseline : test).ranks.front().trace->path);
}

}  // namespace

core::Result<CommandResult> run_diff(const DiffRequest& request, core::Progress& progress) {
  const AnalyzedRun baseline = ASSAY_TRY(analyze_side(request.baseline, request, progress));
  const AnalyzedRun test = ASSAY_TRY(analyze_side(request.test, request, progress));
  const auto [baseline_label, test_label] = labels_of(request);
  TraceDiff diff = trace_diff({baseline_label, baseline.ranks}, {test_label, test.ranks},
                              {.tolerance_percent = request.tolerance_percent});
  CommandResult result;
  result.warnings = baseline.warnings();
  result.warnings.merge(test.warnings());
  warn_of_unlike_sides(baseline, test, result.warnings);
  diff.book.tables.push_back(warnings_table(result.warnings));
  result.summary = {"Difference", {std::move(diff.for_terminal)}};
  std::string lacking;
  add_lost_ranks(request.baseline, baseline.lost_in_words(), lacking);
  add_lost_ranks(request.test, test.lost_in_words(), lacking);
  tell_incomplete(lacking, result);
  if (request.output.kind == Output::Kind::kBook) {
    result.book = std::move(diff.book);
    return result;
  }
  const fs::path folder = request.output.folder.empty() ? kDiffFolder : request.output.folder;
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  result.written = ASSAY_TRY(write_book(diff.book, folder / "trace_diff", request.output));
  return result;
}

}  // namespace assay::trace
