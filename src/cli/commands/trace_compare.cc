#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "cli/compared_settings.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/shared_reading.h"
#include "cli/trace_options.h"
#include "cli/version.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/all_runs.h"
#include "trace/pipelines/configuration_reader.h"

namespace assay::cli {
namespace {

class TraceCompare final : public Command {
 public:
  explicit TraceCompare(App& app) {
    app.add_option("--baseline", request_.baseline, "the configuration to compare with")
        ->type_name("DIR")
        ->group("Input options")
        ->required();
    app.add_option("--test", tests_,
                   "the configuration to judge; of several, each is judged, and each pair")
        ->type_name("DIR")
        ->group("Input options")
        ->required();
    add_output_options(app, presentation_, request_, {"", OutputHelp::Dash::kAllowed});
    app.find("--output")->required();
    add_selection(app);
    add_comparison_options(app);
    add_parts_options(app, request_.parts);
    add_gpus_per_node(app, request_.gpus_per_node);
    app.find("--gpus-per-node")->excludes(app.find("--skip-tracelens"));
    add_analysis_options(app, request_);
  }

  [[nodiscard]] core::Status check() const override {
    const bool wants_part = gpu_timeline_ || collective_;
    if (gives_book() && ((wants_part && !final_report_ && !all_) || !request_.page.empty()))
      return core::Error{"-o - gives the tables of --final-report; for others name a folder"};
    if (labels_.empty() || labels_.size() == tests_.size() + 1) return {};
    return core::Error{fmt::format("--labels has {} for {}", core::counted(labels_.size(), "label"),
                                   core::counted(tests_.size() + 1, "configuration"))};
  }

  core::Result<Outcome> run() override {
    return run_shared(request_, [this] { return run_here(); });
  }

 private:
  [[nodiscard]] bool gives_book() const {
    return request_.output.kind == trace::Output::Kind::kBook;
  }

  core::Result<Outcome> run_here() {
    select();
    request_.written_by = program_version();
    if (!labels_.empty()) request_.baseline_label = labels_.front();
    return tests_.size() == 1 ? compare_one() : compare_several();
  }

  core::Result<Outcome> compare_one() {
    request_.test = tests_.front();
    if (!labels_.empty()) request_.test_label = labels_.back();
    const auto call = [this](core::Progress& progress) {
      return trace::run_compare(request_, progress);
    };
    const trace::CommandResult result = ASSAY_TRY(run_and_show(presentation_, call));
    return outcome(result.regression);
  }

  [[nodiscard]] Outcome outcome(trace::Regression found) const {
    const bool failed = fail_on_regression_ && found == trace::Regression::kFound;
    return failed ? Outcome::kRegressionFound : Outcome::kOk;
  }

  [[nodiscard]] std::string label(std::size_t configuration) const {
    if (!labels_.empty()) return labels_[configuration];
    return trace::path_label(configuration == 0 ? request_.baseline : tests_[configuration - 1]);
  }

  core::Status check_names() const {
    std::set<std::string> names;
    for (std::size_t i = 0; i <= tests_.size(); ++i)
      if (!names.insert(core::lower_case(label(i))).second)
        return core::Error{
            fmt::format("two configurations are called '{}'; give other --labels", label(i))};
    return {};
  }

  // A mistyped folder is told at once, not after minutes of reading the others.
  [[nodiscard]] core::Status check_folders() const {
    for (const auto& test : tests_) {
      std::error_code code;
      const auto status = std::filesystem::status(test, code);
      if (!std::filesystem::exists(status))
        return core::Error{fmt::format("cannot read '{}': {}", test.string(), code.message())};
    }
    return {};
  }

  // Each comparison has a folder of its own, as in a sweep, or tables whose names begin with the
  // test's.
  core::Result<std::vector<trace::ComparedTest>> compared_tests() const {
    std::vector<trace::ComparedTest> tests;
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      const std::string name = fmt::format("comparison_{}_vs_{}", label(0), label(i + 1));
      ASSAY_TRY(core::check_file_name(name));
      tests.push_back({tests_[i], label(i + 1),
                       gives_book() ? std::filesystem::path() : request_.output.folder / name});
    }
    return tests;
  }

  core::Result<Outcome> compare_several() {
    ASSAY_TRY(check_names());
    ASSAY_TRY(check_folders());
    const std::vector<trace::ComparedTest> tests = ASSAY_TRY(compared_tests());
    std::optional<core::FileLock> lock;
    if (!gives_book())
      lock.emplace(ASSAY_TRY(core::FileLock::acquire_folder(request_.output.folder)));
    trace::CompareRequest request = request_;
    request.page.clear();
    request.confidence = core::confidence_of_each(kTogether, tests.size());
    core::Progress progress("reading", presentation_.quiet ? core::Progress::Show::kNever
                                                           : core::Progress::Show::kOnTerminal);
    auto results = ASSAY_TRY(trace::run_compare_each(request, tests, progress));
    progress.clear();
    std::vector<ComparedSetting> compared;
    std::string left_out;
    std::string incomplete;
    trace::Regression regression = trace::Regression::kNone;
    for (std::size_t i = 0; i < tests.size(); ++i) {
      if (!results[i].ok()) {
        print_warning(
            fmt::format("{} is left out: {}", tests[i].label, results[i].error().message));
        left_out += (left_out.empty() ? "" : ", ") + tests[i].label;
        continue;
      }
      trace::CommandResult& result = results[i].value();
      if (result.regression == trace::Regression::kFound) regression = result.regression;
      if (incomplete.empty()) incomplete = result.incomplete;
      written_.insert(written_.end(), result.written.begin(), result.written.end());
      warnings_.merge(result.warnings);
      if (result.book) add_book(tests[i].label, std::move(*result.book));
      compared.push_back({tests[i].label, "", tests[i].folder, std::move(result)});
    }
    if (compared.empty()) return core::Error{"no test can be compared with the baseline"};
    const ComparedSettings all(label(0), "", std::move(compared), request_);
    if (all.ranking() && all.ranking()->finds_regression()) regression = trace::Regression::kFound;
    ASSAY_TRY(gives_book() ? show_book(all) : write_and_show(all));
    if (!left_out.empty()) return core::Error{left_out + ": left out"};
    if (!incomplete.empty()) return core::Error{incomplete};
    return outcome(regression);
  }

  void add_book(const std::string& test, model::Book book) {
    for (model::Table& table : book.tables) {
      table.name = test + "/" + table.name;
      each_.push_back(std::move(table));
    }
  }

  static model::Book report_of(const ComparedSettings& all) {
    model::Book book = all.report();
    book.title = "Comparison of all settings";
    if (all.ranking()) {
      model::Table ranking = all.ranking()->table("");
      ranking.name = "Ranking";
      book.tables.insert(book.tables.begin(), std::move(ranking));
    }
    return book;
  }

  core::Status show_book(const ComparedSettings& all) {
    model::Book book = report_of(all);
    std::move(each_.begin(), each_.end(), std::back_inserter(book.tables));
    ASSAY_TRY(core::check_interrupt());
    print_book(book);
    show_warnings(warnings_);
    return {};
  }

  core::Status write_and_show(const ComparedSettings& all) {
    const model::Book book = report_of(all);
    ASSAY_TRY(core::check_interrupt());
    for (auto& path : ASSAY_TRY(trace::write_all_runs(book, request_)))
      written_.insert(written_.begin(), std::move(path));
    ASSAY_TRY(write_pages(book, all));
    if (presentation_.shows_summary() && !book.tables.empty())
      print_summary({.title = book.title, .tables = {book.tables.front()}},
                    presentation_.summary());
    if (!presentation_.quiet) show_written(written_);
    show_warnings(warnings_);
    return {};
  }

  core::Status write_pages(const model::Book& book, const ComparedSettings& all) {
    if (!all.ranking() || all.evidence().empty()) return {};
    std::vector<std::filesystem::path> paths;
    const auto& formats = request_.output.formats;
    const bool beside = report::has_pages() && std::find(formats.begin(), formats.end(),
                                                         trace::FileFormat::kXlsx) != formats.end();
    if (beside)
      paths.push_back(request_.output.folder / (std::string(trace::kAllRunsReport) + ".html"));
    if (!request_.page.empty()) paths.push_back(request_.page);
    trace::PageOpening opening = all.opening(book, "");
    opening.provenance = {{"baseline", request_.baseline.string()},
                          {"written by", program_version()}};
    for (const model::Warning& warning : warnings_.all())
      opening.answer.other_warnings.push_back({warning.sentence()});
    const report::Page page = trace::comparisons_page(opening, all.evidence());
    for (std::filesystem::path& path : paths) {
      ASSAY_TRY(report::write_page(page, path));
      written_.push_back(std::move(path));
    }
    return {};
  }

  void add_selection(App& app) {
    const auto part = [&](const std::string& name, bool& selected, const std::string& help) {
      app.add_flag(name, selected, help)->group("Selection options");
    };
    part("--all", all_, "all of the following; so it is when none is named");
    part("--gpu-timeline", gpu_timeline_, "gpu_timeline_comparison");
    part("--collective", collective_, "collective_comparison");
    part("--final-report", final_report_, "final_analysis_report, which opens with the dashboard");
  }

  void add_comparison_options(App& app) {
    const char* group = "Comparison options";
    add_labels(app, labels_);
    const auto use_reports = [this] { request_.source = trace::Source::kReports; };
    app.add_flag("--skip-tracelens", use_reports,
                 "read what 'assay trace analyze' left in each configuration instead of "
                 "the traces")
        ->group(group);
    add_tolerance(app, request_.tolerance_percent);
    app.add_flag("--fail-on-regression", fail_on_regression_,
                 "end with exit code 3 when a steady step takes longer, beyond its noise and the "
                 "tolerance, be it in these runs alone")
        ->group(group);
    app.add_option("--html", request_.page,
                   "where the page goes, too; it needs no other file and no network")
        ->check(page_file_problem)
        ->type_name("FILE")
        ->default_str("final_analysis_report.html beside the workbook")
        ->group("Output options");
  }

  void select() {
    const bool everything = all_ || !(gpu_timeline_ || collective_ || final_report_);
    request_.gpu_timeline = everything || gpu_timeline_;
    request_.collective = everything || collective_;
    request_.final_report = everything || final_report_;
  }

  trace::CompareRequest request_;
  Presentation presentation_;
  std::vector<std::filesystem::path> tests_;
  std::vector<std::string> labels_;
  std::vector<std::filesystem::path> written_;
  std::vector<model::Table> each_;  // of all comparisons, where they become one book
  model::Warnings warnings_;
  bool all_ = false;
  bool gpu_timeline_ = false;
  bool collective_ = false;
  bool final_report_ = false;
  bool fail_on_regression_ = false;
};

const CommandSpec kTraceCompare{
    .name = "trace compare",
    .summary = "compare configurations and say which differences are real",
    .description =
        "Sets two configurations side by side. Changes are positive when the test is better. "
        "A step's time is its steady period: from its first GPU work to that of the next step, "
        "mean over the steps that do not differ from the steady state. Those that do (the first "
        "after a wait, one in which a rank waited for its host or for a straggler) are named, with "
        "their effect; the mean of all profiled steps stands beside.\n\n"
        "Every figure comes with its change, the 95 % confidence interval, and a verdict: Same "
        "when the whole interval lies within the tolerance of 1 %; Unclear when it is wider and "
        "holds zero, with the number of repeats that would tell; else Better or Worse. With one "
        "run of a side no verdict is stronger than Different in these runs. Verdicts on many rows "
        "are corrected for their number.\n\n"
        "A configuration that was run several times is a folder with repeat1, repeat2, ... "
        "The interval is then over the runs: it knows the noise between repeated runs, not only "
        "that between steps; of a configuration that was run once, the other's noise. Run each "
        "three times. Where sweep_run.json "
        "lies beside the traces, differences between machines and libraries are warned of.\n\n"
        "final_analysis_report.html has the answer, charts and all tables of the final report on "
        "one page, which opens in a browser without a network.\n\n"
        "-o - writes no files: the final report is one book, which opens with the answer; of "
        "several "
        "tests the tables of each follow, with the test's name in front.\n\n"
        "With several tests, each is compared with the baseline in a folder of its own, with wider "
        "intervals, so that all verdicts hold together. final_analysis_report_for_all ranks all of "
        "them, tells which pairs differ for certain (corrected for the number of pairs) and sets "
        "their times, ranks and collectives side by side. A test that cannot be compared is left "
        "out with its reason, and the exit code is 1.\n\n"
        "The sheet Attribution divides the change of a step's time by its causes, from the traces "
        "of both: kernels beside communication, the clock, kernels by themselves, how much is "
        "communicated and how fast, stragglers, late launches.",
    .more_description = shared_reading_help,
    .regression_means = "with --fail-on-regression: a step takes longer, beyond its noise",
    .examples =
        "assay trace compare --baseline runs/default --test runs/ctas_16 --output cmp\n"
        "assay trace compare --baseline runs/default --test runs/ctas_4 runs/ctas_16 --output all\n"
        "assay trace compare --baseline a --test b --output cmp --labels old,new "
        "--skip-tracelens\n"
        "assay trace compare --baseline a --test b --output cmp --fail-on-regression -q "
        "|| echo slower\n",
    .make = make_command<TraceCompare>,
};
ASSAY_REGISTER(CommandSpec, kTraceCompare);

}  // namespace
}  // namespace assay::cli
