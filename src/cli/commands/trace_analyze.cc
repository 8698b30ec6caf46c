#include "cli/options.h"
#include "cli/shared_reading.h"
#include "cli/trace_options.h"

namespace assay::cli {
namespace {

class TraceAnalyze final : public Command {
 public:
  explicit TraceAnalyze(App& app) {
    app.add_option(
           "CONFIG_DIR", request_.configuration,
           "a configuration: a folder with torch_profiler/rank0, rank1, ..., the "
           "torch_profiler folder itself, or a folder with one of these in each of repeat1, "
           "repeat2, ...")
        ->required();
    add_parts_options(app, request_.parts);
    add_output_options(app, presentation_, request_,
                       {std::string("CONFIG_DIR/") + trace::kAnalysisFolder});
    const auto also_legacy = [this] { request_.names = trace::FileNames::kAlsoLegacy; };
    app.add_flag("--also-legacy-names", also_legacy,
                 "also write perf_rank<N>.xlsx, for scripts that expect those names")
        ->group("Output options");
    add_gpus_per_node(app, request_.gpus_per_node);
    add_analysis_options(app, request_);
    add_python_options(app, request_.options);
  }

  core::Result<Outcome> run() override {
    return run_shared(request_, [this] { return run_here(); });
  }

 private:
  core::Result<Outcome> run_here() {
    const auto call = [this](core::Progress& progress) {
      return trace::run_analyze(request_, progress);
    };
    static_cast<void>(ASSAY_TRY(run_and_show(presentation_, call)));
    return Outcome::kOk;
  }

  trace::AnalyzeRequest request_;
  Presentation presentation_;
};

const CommandSpec kTraceAnalyze{
    .name = "trace analyze",
    .summary = "write all reports of a configuration, ready to be compared",
    .description =
        "Writes individual_reports/rank<N>_individual_report and "
        "collective_reports/collective_all_ranks into the output folder, each with a JSON twin "
        "that 'assay trace compare --skip-tracelens' reads.\n\n"
        "Each repeat of a configuration gets its own reports, in repeat<N>/tracelens_analysis "
        "or, with -o, in repeat<N> below that folder.\n\n"
        "The traces are not changed. For a configuration that is read-only, name another output "
        "folder with -o.",
    .more_description = shared_reading_help,
    .examples =
        "assay trace analyze runs/ctas_16\n"
        "assay trace analyze /data/runs/ctas_16 --collective-only -o analysis\n"
        "mpirun -n 16 assay trace analyze runs/of_1024_ranks\n",
    .make = make_command<TraceAnalyze>,
};
ASSAY_REGISTER(CommandSpec, kTraceAnalyze);

}  // namespace
}  // namespace assay::cli
