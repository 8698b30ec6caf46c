#include "trace/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/byte_source.h"
#include "core/files.h"
#include "core/parallel.h"
#include "model/facts.h"
#include "report/book.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

// Our own commands may have written these files beside the traces: reports, when `-o` names the
// folder of the input, and a sweep's record of the run.
bool is_own_file(std::string_view name) {
  return name.ends_with("_individual_report.json") || name == "collective_all_ranks.json" ||
         name == model::kRunRecordFile || name == model::kSweepPlanFile;
}

bool is_trace_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return (name.ends_with(".json") || name.ends_with(".json.gz")) && !is_own_file(name) &&
         core::is_regular_file(path);
}

// Returns N of "TP-N" as SGLang names traces ("…-TP-1-DP-0-PP-0-EP-0.trace.json.gz"), but not of
// runs of several pipeline stages, each of which numbers from 0.
std::optional<int> tensor_rank_in_name(std::string_view name) {
  const std::size_t at = name.rfind("-TP-");
  const std::size_t stage = name.rfind("-PP-");
  const bool staged = stage != std::string_view::npos && name.substr(stage + 4, 1) != "0";
  if (at == std::string_view::npos || staged) return std::nullopt;
  name.remove_prefix(at + 4);
  int rank = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc() || rank < 0 || rank > model::kHighestRank) return std::nullopt;
  return rank;
}

// Returns N of a text that begins with "N", "_N", "-N" or "[N".
std::optional<int> rank_at_beginning(std::string_view text) {
  if (!text.empty() && std::string_view("_-[").find(text.front()) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || rank < 0 || rank > model::kHighestRank) return std::nullopt;
  return rank;
}

// Returns N of the last "rankN", "rank_N", "rank-N" or "rank[N" in a name, or of "TP-N". Hosts have
// names with "rank" as well, such as "frankfurt".
std::optional<int> rank_in_name(std::string_view name) {
  constexpr std::string_view kRank = "rank";
  std::string_view before = name;
  for (std::size_t at = 0; (at = before.rfind(kRank)) != std::string_view::npos;) {
    if (const auto rank = rank_at_beginning(name.substr(at + kRank.size()))) return rank;
    before = name.substr(0, at);
  }
  return tensor_rank_in_name(name);
}

// vLLM also profiles its front end, which uses no GPU, and SGLang and 'assay trace fuse' can merge
// the ranks' traces.
bool is_of_no_rank(std::string_view name) {
  return name.find(".async_llm.") != std::string_view::npos || name.starts_with("merged-") ||
         name.starts_with("fused_trace.");
}

core::Result<std::vector<fs::path>> trace_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    if (is_trace_file(folder / name)) files.push_back(folder / name);
  }
  return files;
}

core::Result<std::vector<RankFile>> rank_folders_in(const fs::path& folder,
                                                    model::Warnings& warnings) {
  std::vector<RankFile> found;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    const std::optional<int> rank = rank_in_name(name.string());
    if (!rank || !name.string().starts_with("rank") || !core::is_folder(folder / name)) continue;
    const std::vector<fs::path> files = ASSAY_TRY(trace_files_in(folder / name));
    const bool only_a_rank = std::isdigit(static_cast<unsigned char>(name.string().back())) != 0;
    if (files.empty() && !only_a_rank) continue;
    if (files.empty()) {
      warnings.add("rank folder without a *.json or *.json.gz file", "the rank is missing",
                   (folder / name).string());
      continue;
    }
    if (files.size() > 1) {
      warnings.add("rank folder with several traces", "the last by name is tried first",
                   files.back().string());
    }
    found.push_back({rank, files.back(), {files.rbegin() + 1, files.rend()}});
  }
  return found;
}

// Keeps the last by name of several files of one rank, which are of several recordings.
std::vector<RankFile> last_of_each_rank(const std::vector<RankFile>& files,
                                        model::Warnings& warnings) {
  std::vector<RankFile> kept;
  for (const RankFile& file : files) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const RankFile& other) {
      return file.rank && other.rank == file.rank;
    });
    if (same == kept.end()) {
      kept.push_back(file);
      continue;
    }
    warnings.add("folder with several traces of a rank", "the last by name is tried first",
                 same->path.string());
    same->older.insert(same->older.begin(), same->path);
    same->path = file.path;
  }
  return kept;
}

core::Result<std::vector<RankFile>> rank_files_in(const fs::path& folder,
                                                  model::Warnings& warnings) {
  std::vector<RankFile> found;
  std::vector<fs::path> left_out;
  for (const fs::path& file : ASSAY_TRY(trace_files_in(folder))) {
    const std::string name = file.filename().string();
    if (is_of_no_rank(name))
      left_out.push_back(file);
    else
      found.push_back({rank_in_name(name), file});
  }
  for (const fs::path& file : left_out) {
    if (found.empty()) return std::vector<RankFile>{{std::nullopt, left_out.back()}};
    warnings.add("trace of a front end, or of all ranks, beside those of ranks", "not used",
                 file.string());
  }
  return last_of_each_rank(found, warnings);
}

// Returns N of "iteration_N", the folders in which torchtitan profiles several steps of a run.
std::optional<int> iteration_number(std::string_view name) {
  constexpr std::string_view kPrefix = "iteration_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == name.data() + name.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

// Returns the traces of the last profiled iteration.
core::Result<std::vector<RankFile>> last_iteration_in(const fs::path& folder,
                                                      model::Warnings& warnings) {
  std::map<int, fs::path> iterations;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    const std::optional<int> number = iteration_number(name.string());
    if (number && core::is_folder(folder / name)) iterations[*number] = folder / name;
  }
  for (auto last = iterations.rbegin(); last != iterations.rend(); ++last) {
    std::vector<RankFile> found = ASSAY_TRY(rank_folders_in(last->second, warnings));
    if (found.empty()) found = ASSAY_TRY(rank_files_in(last->second, warnings));
    if (found.empty()) continue;
    if (iterations.size() > 1)
      warnings.add("folder with several profiled iterations",
                   "the last one with traces is used; name another to see that",
                   last->second.string(), static_cast<std::int64_t>(iterations.size()));
    return found;
  }
  return std::vector<RankFile>{};
}

// Where launchers and trainers leave traces: aorta, then torchtitan by its defaults, of which the
// profiler's is the folder of the job.
constexpr std::array kTraceFolders = {"", "torch_profiler", "profile_trace", "profile_traces"};

// Returns the rank that most record_param_comms events state. std::nullopt: they belong to a group
// that lacks some ranks, in which a rank has another number.
std::optional<int> recorded_rank(const model::Trace& trace) {
  const bool some_ranks = trace.world_size && trace.recorded_group_size > 0 &&
                          trace.recorded_group_size < *trace.world_size;
  if (some_ranks) return std::nullopt;
  const auto most =
      std::max_element(trace.recorded_ranks.begin(), trace.recorded_ranks.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == trace.recorded_ranks.end() || most->first < 0) return std::nullopt;
  return most->first;
}

int settle_rank(const RankFile& file, int position, model::Trace& trace) {
  const std::optional<int> recorded = recorded_rank(trace);
  const std::optional<int> inside = trace.rank ? trace.rank : recorded;
  if (trace.rank && recorded && *trace.rank != *recorded) {
    trace.warnings.add(fmt::format("distributedInfo says rank {}, record_param_comms says rank {}",
                                   *trace.rank, *recorded),
                       "distributedInfo is believed", trace.path);
  }
  if (inside && file.rank && *inside != *file.rank) {
    trace.warnings.add(
        fmt::format("the trace says rank {}, its name says rank {}", *inside, *file.rank),
        "the trace is believed", trace.path);
  }
  if (inside) return *inside;
  return file.rank ? *file.rank : position;
}

// The members of a document before its events say which rank it is. A run of thousands of ranks
// lists them there.
constexpr std::size_t kMostHeadBytes = 1 << 20;
constexpr std::size_t kHeadPieceBytes = 1 << 16;

// Returns the text before the events; "" where it is longer than any head, or damaged.
std::string head_of(core::ByteSource& source) {
  std::string head;
  while (head.size() < kMostHeadBytes) {
    const std::size_t before = head.size();
    head.resize(before + kHeadPieceBytes);
    const auto read = source.read(head.data() + before, kHeadPieceBytes);
    if (!read.ok() || read.value() == 0) return "";
    head.resize(before + read.value());
    const std::size_t events = head.find("\"traceEvents\"");
    if (events != std::string::npos) return head.substr(0, events);
  }
  return "";
}

// What cannot be opened tells no rank; the reading says why.
std::optional<int> rank_in_head(const fs::path& path) {
  const auto source = core::open_bytes(path);
  const std::string head = source.ok() ? head_of(*source.value()) : "";
  return head.empty() ? std::nullopt : read_document(head + "\"traceEvents\": []}").rank;
}

// Returns N of "repeatN" as the sweep writes it, but not of "repeat2.failed" or "repeat02".
std::optional<int> repeat_number(const std::string& name) {
  constexpr std::string_view kPrefix = "repeat";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int number = 0;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kPrefix.size(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 1) return std::nullopt;
  return fmt::format("{}{}", kPrefix, number) == name ? std::optional(number) : std::nullopt;
}

std::vector<RunFolder> repeats_in(const fs::path& folder) {
  std::vector<RunFolder> repeats;
  const auto names = core::list_directory(folder);
  if (!names.ok()) return repeats;
  for (const fs::path& name : names.value()) {
    const std::optional<int> number = repeat_number(name.string());
    if (number && core::is_folder(folder / name)) repeats.push_back({*number, folder / name});
  }
  std::sort(repeats.begin(), repeats.end(),
            [](const RunFolder& a, const RunFolder& b) { return a.repeat < b.repeat; });
  return repeats;
}

// Returns whether the folder has traces or reports of its own.
bool is_run_folder(const fs::path& folder) {
  for (const char* own : {"torch_profiler", kIndividualFolder, kCollectiveFolder})
    if (core::is_folder(folder / own)) return true;
  const auto names = core::list_directory(folder);
  return names.ok() &&
         std::any_of(names.value().begin(), names.value().end(), [&](const fs::path& name) {
           return name.string().starts_with("rank") && core::is_folder(folder / name);
         });
}

// Sets the rank of each file by what it says of itself, else by its name. Returns whether these are
// ranks of one job: names alone may count the ranks of each host from 0.
bool settle_ranks_of_job(std::vector<RankFile>& files) {
  std::set<int> ranks;
  for (RankFile& file : files) {
    const std::optional<int> inside = rank_in_head(file.path);
    if (inside) file.rank = inside;
    if (!file.rank || !ranks.insert(*file.rank).second) return false;
  }
  return true;
}

// Returns the traces of a job of which each host wrote into a folder of its own, as where the
// launcher names the folders by the host; none where the folders are not parts of one job.
core::Result<std::vector<RankFile>> files_of_hosts_in(const fs::path& folder,
                                                      model::Warnings& warnings) {
  std::vector<RankFile> found;
  model::Warnings told;
  int hosts = 0;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    if (!core::is_folder(folder / name) || name == kAnalysisFolder) continue;
    std::vector<RankFile> files = ASSAY_TRY(rank_folders_in(folder / name, told));
    if (files.empty()) files = ASSAY_TRY(rank_files_in(folder / name, told));
    if (!files.empty()) ++hosts;
    found.insert(found.end(), files.begin(), files.end());
  }
  if (hosts < 2 || !settle_ranks_of_job(found)) return std::vector<RankFile>{};
  warnings.merge(told);
  return found;
}

core::Result<std::vector<RankFile>> files_in_folder(const fs::path& folder,
                                                    model::Warnings& warnings) {
  for (const char* name : kTraceFolders) {
    const fs::path candidate = *name == '\0' ? folder : folder / name;
    if (!core::is_folder(candidate)) continue;
    std::vector<RankFile> found = ASSAY_TRY(rank_folders_in(candidate, warnings));
    if (found.empty()) found = ASSAY_TRY(last_iteration_in(candidate, warnings));
    if (!found.empty()) return found;
  }
  std::vector<RankFile> found = ASSAY_TRY(rank_files_in(folder, warnings));
  if (core::is_regular_file(folder / model::kSweepPlanFile) && found.empty())
    return core::Error{
        fmt::format("'{0}' is a sweep: 'assay sweep report {0}' reports it; or name one of the "
                    "folders of its settings",
                    folder.string())};
  if (const std::string hint = found.empty() ? repeats_hint(folder) : ""; !hint.empty()) {
    return core::Error{fmt::format("'{}' holds repeated runs: {}", folder.string(), hint)};
  }
  if (found.empty()) found = ASSAY_TRY(files_of_hosts_in(folder, warnings));
  if (found.empty()) {
    return core::Error{fmt::format(
        "no traces in '{}': expected folders rank0, rank1, … (or torch_profiler/rank0, …) with a "
        "*.json or *.json.gz file each, folders iteration_N, or such files themselves",
        folder.string())};
  }
  return found;
}

core::Status check_one_process(const model::Trace& trace) {
  std::set<model::TextId> processes;
  for (const model::RuntimeCall& call : trace.runtime_calls)
    processes.insert(trace.tracks[call.track].process);
  if (processes.size() < 2) return {};
  return core::Error{fmt::format(
      "'{}' holds the calls of {} processes, like the trace of all ranks that 'assay trace fuse' "
      "writes for Perfetto: give the traces of the ranks themselves, a file each",
      trace.path, processes.size())};
}

// A rank that lacks a run has its last trace of an earlier one.
void warn_of_unequal_counts(const std::vector<RankFile>& files, model::Warnings& warnings) {
  const auto has_fewer = [](const RankFile& a, const RankFile& b) {
    return a.older.size() < b.older.size();
  };
  const auto [fewest, most] = std::minmax_element(files.begin(), files.end(), has_fewer);
  if (files.empty() || fewest->older.size() == most->older.size()) return;
  warnings.add("ranks with unequally many traces", "the last ones may be of different runs",
               fmt::format("{} up to '{}', {} up to '{}'", fewest->older.size() + 1,
                           fewest->path.string(), most->older.size() + 1, most->path.string()));
}

}  // namespace

core::Result<std::vector<RankFile>> find_rank_files(const fs::path& path,
                                                    model::Warnings& warnings) {
  std::error_code code;
  if (!fs::exists(fs::status(path, code))) {
    return core::Error{fmt::format("cannot read '{}': {}", path.string(), code.message())};
  }
  if (core::is_folder(path)) {
    std::vector<RankFile> found = ASSAY_TRY(files_in_folder(path, warnings));
    warn_of_unequal_counts(found, warnings);
    return found;
  }
  const std::optional<int> in_name = rank_in_name(path.filename().string());
  const std::string parent = path.parent_path().filename().string();
  return std::vector<RankFile>{{in_name ? in_name : rank_in_name(parent), path}};
}

std::uint64_t total_bytes(std::span<const RankFile> files) {
  std::uint64_t total = 0;
  for (const RankFile& file : files) {
    std::error_code code;
    const std::uintmax_t size = fs::file_size(file.path, code);
    if (!code) total += size;
  }
  return total;
}

core::Status check_ranks_differ(std::span<const RankOfFile> ranks) {
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const RankOfFile& a = ranks[i - 1];
    const RankOfFile& b = ranks[i];
    if (a.rank == b.rank)
      return core::Error{fmt::format("'{}' and '{}' are both of rank {}: give one trace a rank",
                                     a.path, b.path, a.rank)};
  }
  return {};
}

core::Status check_heads(std::span<const RankFile> files) {
  std::vector<RankOfFile> ranks;
  for (const RankFile& file : files) {
    const std::optional<int> rank = rank_in_head(file.path);
    if (rank) ranks.push_back({*rank, file.path.string()});
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankOfFile& a, const RankOfFile& b) { return a.rank < b.rank; });
  return check_ranks_differ(ranks);
}

core::Result<RankTrace> read_rank(const RankFile& file,
                                  std::size_t position,
                                  const Reading& reading,
                                  const OnProgress& on_progress) {
  model::Trace trace = ASSAY_TRY(read_trace(file.path, on_progress, reading));
  if (reading.processes == Processes::kOne) ASSAY_TRY(check_one_process(trace));
  const int rank = settle_rank(file, static_cast<int>(position), trace);
  return RankTrace{rank, std::move(trace)};
}

core::Result<Run> read_run(std::span<const RankFile> files,
                           unsigned threads,
                           const Reading& reading,
                           const OnProgress& on_progress) {
  std::vector<std::optional<core::Result<RankTrace>>> traces(files.size());
  core::parallel_for(files.size(), threads, [&](std::size_t i) {
    traces[i].emplace(read_rank(files[i], i, reading, on_progress));
  });
  Run run;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (traces[i]->ok())
      run.ranks.push_back(std::move(*traces[i]).value());
    else
      run.unread.push_back({files[i], traces[i]->error()});
  }
  if (run.ranks.empty() && !run.unread.empty()) return run.unread.front().error;
  std::stable_sort(run.ranks.begin(), run.ranks.end(),
                   [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  std::vector<RankOfFile> ranks;
  for (const RankTrace& rank : run.ranks)
    ranks.push_back({rank.rank, rank.trace.path});
  ASSAY_TRY(check_ranks_differ(ranks));
  return run;
}

std::vector<RunFolder> find_run_folders(const fs::path& configuration) {
  if (core::is_folder(configuration) && !is_run_folder(configuration)) {
    std::vector<RunFolder> repeats = repeats_in(configuration);
    if (!repeats.empty()) return repeats;
  }
  return {{0, configuration}};
}

namespace {

// A sweep writes the record of a run when it has ended well, and sets runs that failed aside.
bool has_record(const RunFolder& run) {
  return report::read_json(run.path / model::kRunRecordFile, {model::kEnvironmentTable}).ok();
}

// Removes the runs of a sweep that have not ended, or not well: they may lack traces.
core::Status leave_out_unfinished(const fs::path& configuration,
                                  std::vector<RunFolder>& runs,
                                  model::Warnings& warnings) {
  if (!core::is_regular_file((configuration / "..").lexically_normal() / model::kSweepPlanFile))
    return {};
  std::erase_if(runs, [&](const RunFolder& run) {
    if (has_record(run)) return false;
    warnings.add("run of a sweep without a record of its end", "it is left out", run.path.string());
    return true;
  });
  if (!runs.empty()) return {};
  return core::Error{
      fmt::format("no run of '{}' has a readable {}, which a sweep writes when a run "
                  "has ended well",
                  configuration.string(), model::kRunRecordFile)};
}

}  // namespace

core::Result<std::vector<RunFolder>> runs_to_analyze(const fs::path& configuration,
                                                     Compat compat,
                                                     model::Warnings& warnings) {
  std::vector<RunFolder> runs = find_run_folders(configuration);
  if (runs.front().repeat == 0) {
    const std::size_t repeats =
        core::is_folder(configuration) ? repeats_in(configuration).size() : 0;
    if (repeats > 0)
      warnings.add("folder with traces of its own beside repeats", "the repeats are not used",
                   configuration.string(), static_cast<std::int64_t>(repeats));
    return runs;
  }
  ASSAY_TRY(leave_out_unfinished(configuration, runs, warnings));
  if (compat == Compat::kNone) return runs;
  return core::Error{fmt::format("'{}' holds repeats, which --compat tracelens does not know: {}",
                                 configuration.string(), repeats_hint(configuration))};
}

void merge_warnings(const RunFolder& run,
                    const model::Warnings& run_warnings,
                    model::Warnings& all) {
  const std::string prefix = run.repeat == 0 ? "" : fmt::format("repeat {}: ", run.repeat);
  for (const model::Warning& warning : run_warnings.all())
    all.add(warning.reason, warning.effect, prefix + warning.example, warning.count,
            warning.gpu_ms);
}

std::string repeats_hint(const fs::path& folder) {
  const RunFolder first = find_run_folders(folder).front();
  return first.repeat == 0 ? ""
                           : fmt::format("name one of them, such as '{}'", first.path.string());
}

core::Status check_is_no_input(std::span<const std::filesystem::path> outputs,
                               std::span<const RankFile> inputs) {
  for (const std::filesystem::path& output : outputs)
    for (const RankFile& input : inputs) {
      std::error_code error;
      if (std::filesystem::equivalent(output, input.path, error))
        return core::Error{
            fmt::format("'{}' is an input, which is never replaced", output.string())};
    }
  return {};
}

}  // namespace assay::trace
