// The requests that the `assay trace` commands make to the library, and their results. The command
// line fills a request and prints a CommandResult; nothing here writes to stdout or stderr.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/terminal.h"
#include "model/table.h"
#include "model/verdict.h"
#include "model/warnings.h"
#include "trace/options.h"
#include "trace/split/choice.h"

namespace assay::core {
class ProcessGroup;
}

namespace assay::trace {

struct ComparisonEvidence;
struct KeptRuns;
struct SettingFigures;

enum class FileFormat { kXlsx, kCsv, kJson };

// The files to which a command writes its books.
struct Output {
  enum class Kind {
    kFiles,  // into `folder`, in each of `formats`
    kBook,   // no file: the only resulting book is returned in CommandResult::book (`-o -`); of a
             // comparison the final report, after its summary
  };
  Kind kind = Kind::kFiles;
  std::filesystem::path folder = {};  // empty: the default of the command, named below
  std::vector<FileFormat> formats = {FileFormat::kXlsx, FileFormat::kCsv, FileFormat::kJson};
};

// The fields that the requests of all commands have in common.
struct Request {
  // The processes that share the reading; null: this one alone. This is number 0 of them; the
  // others are in follow(). Only for run_analyze(), run_compare() and run_collectives().
  core::ProcessGroup* processes = nullptr;
  Options options = {};
  std::string architecture = {};  // GPU name or JSON file; empty: the GPU that the trace names
  unsigned threads = 0;           // 0: one per processor
  Output output = {};
  // Of requests that need the same traces one after the other: what each reads is kept here, a
  // hundredth of its size, and not read again. A damaged file is then an error, which leaves out
  // its repeat where there are others. Null: all is read.
  std::shared_ptr<KeptRuns> kept = nullptr;
};

// Reads for process 0 until that says that it is done, with a request like its own.
core::Status follow(const Request& request, core::ProcessGroup& processes);

// Tells the other processes that there is no more to do.
void dismiss(core::ProcessGroup& processes);

enum class Regression { kNone, kFound };

// A repeat that could not be analysed beside others that could.
struct LeftOutRepeat {
  int repeat = 0;
  std::string reason = {};
};

// The one figure that says which of two configurations is better: the steady period of a step. NaN
// for what is not known; percentages are positive when the test is better.
struct Headline {
  double baseline_ms = 0;  // mean over repetitions; of the whole trace when there are no steps
  double test_ms = 0;
  double baseline_mean_ms = 0;  // of all profiled steps, steady or not; NaN when there are none
  double test_mean_ms = 0;
  double change_percent = 0;
  double change_percent_low = 0;  // confidence interval over repetitions
  double change_percent_high = 0;
  // The change of the mean of all profiled steps, with its own interval.
  double mean_change_percent = std::numeric_limits<double>::quiet_NaN();
  double mean_change_percent_low = std::numeric_limits<double>::quiet_NaN();
  double mean_change_percent_high = std::numeric_limits<double>::quiet_NaN();
  std::string verdict = {};       // "Better", "Same", "Unclear", "Unknown: 1 run"
  std::string mean_verdict = {};  // the same of the mean of all profiled steps
  std::size_t baseline_runs = 0;
  std::size_t test_runs = 0;
  std::size_t baseline_steps = 0;  // profiled, over all runs
  std::size_t test_steps = 0;
  std::string repetition = {};  // what the interval counts: "run" or "step"; "" when there is none
  std::size_t baseline_repetitions = 0;  // how many of these it counts
  std::size_t test_repetitions = 0;
  std::string baseline_transients = {};  // the steps that are not steady, in sentences
  std::string test_transients = {};
  std::string needed = {};  // where unclear: how many repetitions would tell; no full stop
};

struct CommandResult {
  model::Book summary = {};  // short tables, the most telling first; for the terminal
  std::optional<model::Book> book = std::nullopt;   // with Output::Kind::kBook
  std::vector<std::filesystem::path> written = {};  // files, in the order of their writing
  model::Warnings warnings = {};                    // of all traces
  // What is missing in what was written, so that the command fails after it showed the rest; "" for
  // nothing.
  std::string incomplete = {};
  std::vector<LeftOutRepeat> left_out = {};         // analyze only, of requests that keep
  Regression regression = Regression::kNone;        // compare only
  std::optional<Headline> headline = std::nullopt;  // compare only, where a side has a timeline
  std::shared_ptr<ComparisonEvidence> evidence = nullptr;  // compare only: what its page shows
  // compare only: what a comparison of more settings needs of these two.
  std::shared_ptr<const SettingFigures> baseline_figures = nullptr;
  std::shared_ptr<const SettingFigures> test_figures = nullptr;
};

// The parts of a configuration's analysis.
enum class Parts { kAll, kIndividual, kCollective };

// Writes an individual report of each trace. Inputs are files, or folders that hold ranks. The
// default folder is kReportFolder in the working directory. kBook needs inputs that lead to a
// single trace.
inline constexpr const char* kReportFolder = "trace_report";

struct ReportRequest : Request {
  std::vector<std::filesystem::path> inputs = {};
};

core::Result<CommandResult> run_report(const ReportRequest& request, core::Progress& progress);

// Writes a report on the communication between the ranks under one folder. The default folder is
// kReportFolder.
struct CollectivesRequest : Request {
  std::filesystem::path folder = {};
  std::optional<int> gpus_per_node = std::nullopt;  // std::nullopt: the traces decide
};

core::Result<CommandResult> run_collectives(const CollectivesRequest& request,
                                            core::Progress& progress);

// Writes critical_path: what decided the length of each step over all ranks under one folder. The
// default folder is kReportFolder.
struct PathRequest : Request {
  std::filesystem::path folder = {};
};

core::Result<CommandResult> run_path(const PathRequest& request, core::Progress& progress);

// Writes one trace of all ranks under one folder, for Perfetto, with the critical path marked. It
// is compressed if the file's name ends in .gz.
inline constexpr const char* kFusedTrace = "fused_trace.json.gz";

struct FuseRequest : Request {
  std::filesystem::path folder = {};
  std::filesystem::path file = kFusedTrace;  // unless there is a `sink`
  // Takes the trace in pieces of whole characters, so that no file is written and the result has no
  // summary.
  std::function<core::Status(std::string_view)> sink = {};
};

core::Result<CommandResult> run_fuse(const FuseRequest& request, core::Progress& progress);

// Writes both reports for a configuration (a folder with torch_profiler/rank*, or that folder
// itself). The default folder is kAnalysisFolder in the configuration. A configuration with repeats
// (RunFolder in run.h) gets reports for each repeat: in kAnalysisFolder in the repeat, or in
// repeatN in the output folder.
enum class FileNames { kDocumented, kAlsoLegacy };  // legacy: also writes perf_rank<N>.xlsx

struct AnalyzeRequest : Request {
  std::filesystem::path configuration = {};
  Parts parts = Parts::kAll;
  FileNames names = FileNames::kDocumented;
  std::optional<int> gpus_per_node = std::nullopt;
};

core::Result<CommandResult> run_analyze(const AnalyzeRequest& request, core::Progress& progress);

// Compares two configurations, with or without repeats.
enum class Source {
  kTraces,   // analyse the traces again
  kReports,  // read the reports that `analyze` left in kAnalysisFolder
};

struct CompareRequest : Request {
  std::filesystem::path baseline = {};
  std::filesystem::path test = {};
  std::string baseline_label = {};  // empty: the folder's name
  std::string test_label = {};
  Source source = Source::kTraces;
  Parts parts = Parts::kAll;                            // of the analysis to read or make
  std::optional<int> gpus_per_node = std::nullopt;      // kTraces only
  bool gpu_timeline = true;                             // gpu_timeline_comparison
  bool collective = true;                               // collective_comparison
  bool final_report = true;                             // final_analysis_report
  double confidence = 0.95;                             // of the intervals that verdicts rest on
  double tolerance_percent = model::kTolerancePercent;  // differences below it are of no interest
  std::string written_by = {};                          // the program and its version, for the page
  std::filesystem::path page = {};  // one more place for the page; it is always beside the workbook
};

core::Result<CommandResult> run_compare(const CompareRequest& request, core::Progress& progress);

// Returns where an analysis keeps what comparisons like this one need.
std::shared_ptr<KeptRuns> keep_for(const CompareRequest& request);

// One of several tests that are compared with one baseline.
struct ComparedTest {
  std::filesystem::path configuration;
  std::string label = {};        // empty: the folder's name
  std::filesystem::path folder;  // where the files of its comparison go
};

// Does what run_compare() does for each of several tests. All are read once, and only one test is
// unpacked at a time. Which modes of steps count is settled for all of them. What the request says
// of a test and of a folder does not count. A test that cannot be compared has an error in its
// place; the baseline's error is that of all. The first result alone has the baseline's warnings,
// so that all results can be summed.
core::Result<std::vector<core::Result<CommandResult>>> run_compare_each(
    const CompareRequest& request, std::span<const ComparedTest> tests, core::Progress& progress);

// Writes final_analysis_report_for_all (see all_runs.h) into the folder of the request's output, in
// its formats. A book without tables has no files.
core::Result<std::vector<std::filesystem::path>> write_all_runs(const model::Book& book,
                                                                const CompareRequest& request);

// Sets two traces, or two folders of ranks, side by side kernel by kernel. The default folder is
// kDiffFolder in the working directory.
inline constexpr const char* kDiffFolder = "trace_diff";

struct DiffRequest : Request {
  std::filesystem::path baseline = {};
  std::filesystem::path test = {};
  std::string baseline_label = {};  // empty: the file's or folder's name
  std::string test_label = {};
  double tolerance_percent = model::kTolerancePercent;  // smaller changes of a call's time are none
};

core::Result<CommandResult> run_diff(const DiffRequest& request, core::Progress& progress);

// Cuts a trace, or each trace of a folder of ranks, into smaller traces that profilers' viewers and
// these commands read. The default folder is kSplitFolder in the working directory.
inline constexpr const char* kSplitFolder = "trace_split";

enum class Existing { kKeep, kOverwrite };  // kKeep: a file that exists is an error

struct SplitRequest : Request {
  std::filesystem::path input = {};
  SplitChoice choice = {};
  Existing existing = Existing::kKeep;
};

core::Result<CommandResult> run_split(const SplitRequest& request, core::Progress& progress);

}  // namespace assay::trace
