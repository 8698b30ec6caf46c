#include "cli/options.h"
#include "cli/trace_options.h"

namespace assay::cli {
namespace {

class TraceReport final : public Command {
 public:
  explicit TraceReport(App& app) {
    app.add_option("TRACE", request_.inputs,
                   "a trace (.json, .json.gz), or a folder with rank0, rank1, ..., whose traces "
                   "are all taken")
        ->required();
    add_output_options(app, presentation_, request_,
                       {trace::kReportFolder, OutputHelp::Dash::kAllowed});
    add_analysis_options(app, request_);
    add_python_options(app, request_.options);
  }

  core::Result<Outcome> run() override {
    const auto call = [this](core::Progress& progress) {
      return trace::run_report(request_, progress);
    };
    static_cast<void>(ASSAY_TRY(run_and_show(presentation_, call)));
    return Outcome::kOk;
  }

 private:
  trace::ReportRequest request_;
  Presentation presentation_;
};

const CommandSpec kTraceReport{
    .name = "trace report",
    .summary = "write the individual report of each trace",
    .description =
        "Writes one workbook for each rank: where GPU time goes, for each step and in all; "
        "operators by category, name and arguments; rooflines; kernels; collectives.\n\n"
        "Figures cover the profiled steps. Kernels that were launched before the profile began "
        "are counted and shown apart. Problems of a trace are counted in the sheet 'warnings' "
        "and reported on standard error.",
    .examples =
        "assay trace report rank0/trace.json.gz\n"
        "assay trace report run/torch_profiler -o reports --write xlsx\n"
        "assay trace report rank0/trace.json.gz -o - | jq .title\n"
        "assay trace report rank0/trace.json --format csv > summary.csv\n",
    .make = make_command<TraceReport>,
};
ASSAY_REGISTER(CommandSpec, kTraceReport);

}  // namespace
}  // namespace assay::cli
