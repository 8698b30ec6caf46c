#include "cli/options.h"
#include "cli/shared_reading.h"
#include "cli/trace_options.h"
#include "cli/version.h"

namespace assay::cli {
namespace {

class TraceCompare final : public Command {
 public:
  explicit TraceCompare(App& app) {
    app.add_option("--baseline", request_.baseline, "the configuration to compare with")
        ->type_name("DIR")
        ->group("Input options")
        ->required();
    app.add_option("--test", request_.test, "the configuration to judge")
        ->type_name("DIR")
        ->group("Input options")
        ->required();
    add_output_options(app, presentation_, request_, {});
    app.find("--output")->required();
    add_selection(app);
    add_comparison_options(app);
    add_parts_options(app, request_.parts);
    add_gpus_per_node(app, request_.gpus_per_node);
    app.find("--gpus-per-node")->excludes(app.find("--skip-tracelens"));
    add_analysis_options(app, request_);
  }

  core::Result<Outcome> run() override {
    return run_shared(request_, [this] { return run_here(); });
  }

 private:
  core::Result<Outcome> run_here() {
    select();
    request_.written_by = program_version();
    const auto call = [this](core::Progress& progress) {
      return trace::run_compare(request_, progress);
    };
    const trace::CommandResult result = ASSAY_TRY(run_and_show(presentation_, call));
    const bool failed = fail_on_regression_ && result.regression == trace::Regression::kFound;
    return failed ? Outcome::kRegressionFound : Outcome::kOk;
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
    add_labels(app, request_.baseline_label, request_.test_label);
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
  bool all_ = false;
  bool gpu_timeline_ = false;
  bool collective_ = false;
  bool final_report_ = false;
  bool fail_on_regression_ = false;
};

const CommandSpec kTraceCompare{
    .name = "trace compare",
    .summary = "compare two configurations and say which differences are real",
    .description =
        "Sets two configurations side by side. Changes are positive when the test is better. "
        "A step's time is its steady period: from its first GPU work to that of the next step, "
        "mean over the steps that do not differ from the steady state. Those that do (the first "
        "after a wait, one in which a rank waited for its host or for a straggler) are named, with "
        "their effect; the mean of all profiled steps stands beside.\n\n"
        "Every figure comes with its change, the 95 % confidence interval, and a verdict: Same "
        "when the whole interval lies within the tolerance of 1 %; Unclear when it is wider and "
        "holds zero, with the number of repeats that would tell; else Better or Worse. With one "
        "run a side no verdict is stronger than Different in these runs. Verdicts on many rows are "
        "corrected for their number.\n\n"
        "A configuration that was run several times is a folder with repeat1, repeat2, ... "
        "Where both have repeats, the interval is over the runs: it then knows the noise between "
        "repeated runs, not only that between steps. Run each three times. Where sweep_run.json "
        "lies beside the traces, differences between machines and libraries are warned of.\n\n"
        "final_analysis_report.html has the answer, charts and all tables of the final report on "
        "one page, which opens in a browser without a network.\n\n"
        "The sheet Attribution divides the change of a step's time by its causes, from the traces "
        "of both: kernels beside communication, the clock, kernels by themselves, collectives, "
        "stragglers, late launches.",
    .more_description = shared_reading_help,
    .regression_means = "with --fail-on-regression: a step takes longer, beyond its noise",
    .examples =
        "assay trace compare --baseline runs/default --test runs/ctas_16 --output cmp\n"
        "assay trace compare --baseline a --test b --output cmp --labels old,new "
        "--skip-tracelens\n"
        "assay trace compare --baseline a --test b --output cmp --fail-on-regression -q "
        "|| echo slower\n",
    .make = make_command<TraceCompare>,
};
ASSAY_REGISTER(CommandSpec, kTraceCompare);

}  // namespace
}  // namespace assay::cli
