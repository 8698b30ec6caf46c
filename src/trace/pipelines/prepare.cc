#include "trace/pipelines/prepare.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "report/book.h"
#include "trace/architectures.h"
#include "trace/file_check.h"
#include "trace/pipelines/rank_part.h"

namespace assay::trace {
namespace fs = std::filesystem;

core::Result<Options> complete_options(const Request& request) {
  Options options = request.options;
  if (!request.architecture.empty()) {
    options.architecture = ASSAY_TRY(find_architecture(request.architecture));
  }
  return options;
}

Reading reading_of(const Options& options) {
  const bool is_own = options.compat == Compat::kNone;
  return {.flows = is_own ? LaunchFlows::kSkip : LaunchFlows::kRead,
          .python = options.call_stacks ? PythonCalls::kAll : PythonCalls::kNamed,
          .processes = is_own ? Processes::kOne : Processes::kAny};
}

namespace {

// Says which file is broken, and how.
std::string damage_of(const TraceFileCheck& check) {
  const std::string path = check.path.string();
  const bool is_named = check.damage.find(path) != std::string::npos;
  return is_named ? check.damage : fmt::format("'{}': {}", path, check.damage);
}

bool is_broken(const TraceFileCheck& check) {
  return check.state == TraceFileCheck::State::kDamaged ||
         check.state == TraceFileCheck::State::kUnreadable;
}

// Takes the last trace of a rank that is whole, if there is one.
void use_whole_trace(RankFile& file, model::Warnings& warnings) {
  std::vector<std::string> broken;
  std::vector<fs::path> newest_first = {file.path};
  newest_first.insert(newest_first.end(), file.older.begin(), file.older.end());
  for (const fs::path& path : newest_first) {
    const TraceFileCheck check = check_trace({file.rank, path});
    if (is_broken(check)) {
      broken.push_back(damage_of(check));
      continue;
    }
    for (const std::string& one : broken)
      warnings.add("trace that is cut off or cannot be read, with an older one beside it",
                   "the last whole one is used",
                   fmt::format("{}; used is '{}'", one, path.filename().string()));
    file = {file.rank, path};
    return;
  }
}

}  // namespace

core::Result<InputFiles> find_input_files(std::span<const fs::path> inputs, Compat compat) {
  InputFiles found;
  for (const fs::path& input : inputs) {
    for (RankFile& file : ASSAY_TRY(find_rank_files(input, found.warnings)))
      found.files.push_back(std::move(file));
    if (core::is_folder(input)) found.has_folder = true;
  }
  // Other ranks may have the later run: ranks of two runs would look like one.
  const bool is_only_rank = found.files.size() == 1 && !found.files.front().older.empty();
  if (is_only_rank && compat == Compat::kNone) use_whole_trace(found.files.front(), found.warnings);
  return found;
}

void warn_of_older_traces(std::span<const RankFile> files,
                          std::span<const LostRank> lost,
                          model::Warnings& warnings) {
  for (const RankFile& file : files) {
    const bool is_lost = std::any_of(lost.begin(), lost.end(), [&](const LostRank& one) {
      return one.path == file.path.string();
    });
    if (!is_lost || file.older.empty()) continue;
    warnings.add("older trace beside one that is cut off or cannot be read",
                 "not used, as other ranks may have the later run; it is used where the broken "
                 "one is moved away",
                 file.older.front().string());
  }
}

model::Warnings AnalyzedRun::warnings() const {
  model::Warnings all = run->warnings;
  for (const RankAnalysis& rank : ranks)
    all.merge(rank.warnings);
  return all;
}

core::Result<AnalyzedRun> analyze_files(std::span<const fs::path> inputs,
                                        const Request& request,
                                        core::Progress& progress) {
  const Options options = ASSAY_TRY(complete_options(request));
  const InputFiles found = ASSAY_TRY(find_input_files(inputs, options.compat));
  ASSAY_TRY(check_heads(found.files));
  progress.add_total(total_bytes(found.files));
  AnalyzedRun result;
  result.run = std::make_unique<Run>(
      ASSAY_TRY(read_run(found.files, request.threads, reading_of(options),
                         [&](std::uint64_t bytes) { progress.advance(bytes); })));
  ASSAY_TRY(core::check_interrupt());
  result.run->warnings = found.warnings;
  result.ranks.resize(result.run->ranks.size());
  core::parallel_for(result.ranks.size(), request.threads, [&](std::size_t i) {
    result.ranks[i] = analyze_rank(result.run->ranks[i].trace, options, result.run->ranks[i].rank);
  });
  ASSAY_TRY(core::check_interrupt());
  std::vector<RankFacts> facts;
  for (const RankAnalysis& rank : result.ranks)
    facts.push_back(facts_of(rank));
  const std::vector<UnreadFile>& unread = result.run->unread;
  if (found.has_folder) warn_of_missing_ranks(facts, unread, result.run->warnings);
  warn_of_unlike_jobs(facts, result.run->warnings);
  if (options.compat != Compat::kNone && !unread.empty()) return unread.front().error;
  if (options.compat == Compat::kNone) {
    constexpr Showing kShowing = Showing::kSideBySide;
    ASSAY_TRY(check_gpu_work(facts, kShowing));
    result.lost_ranks = find_lost_ranks(facts, unread, kShowing, result.run->warnings);
    warn_of_older_traces(found.files, result.lost_ranks, result.run->warnings);
    std::size_t position = 0;
    std::erase_if(result.ranks,
                  [&](const RankAnalysis&) { return is_left_out(facts[position++], kShowing); });
  }
  return result;
}

void add_lost_ranks(const fs::path& run, const std::string& lost, std::string& all) {
  if (!lost.empty()) all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", run.string(), lost);
}

void tell_incomplete(const std::string& lacking, CommandResult& result) {
  result.incomplete = lacking;
  if (lacking.empty() || result.summary.tables.empty()) return;
  std::string& title = result.summary.tables.front().title;
  title = fmt::format("Incomplete: {}. {}", lacking, title);
}

fs::path configuration_folder(const fs::path& path) {
  fs::path folder = fs::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return folder.filename() == "torch_profiler" ? folder.parent_path() : folder;
}

namespace {

core::Result<fs::path> write_format(const model::Book& book, fs::path path, FileFormat format) {
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
  return path;
}

}  // namespace

core::Result<std::vector<fs::path>> write_book(const model::Book& book,
                                               const fs::path& stem,
                                               const Output& output,
                                               unsigned threads) {
  ASSAY_TRY(core::make_directories(stem.parent_path()));
  std::vector<core::Result<fs::path>> results(output.formats.size(), fs::path());
  core::parallel_for(results.size(), threads, [&](std::size_t i) {
    results[i] = write_format(book, stem, output.formats[i]);
  });
  std::vector<fs::path> written;
  for (core::Result<fs::path>& result : results)
    written.push_back(ASSAY_TRY(std::move(result)));
  return written;
}

}  // namespace assay::trace
