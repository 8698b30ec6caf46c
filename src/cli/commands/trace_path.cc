#include "cli/options.h"
#include "cli/trace_options.h"

namespace assay::cli {
namespace {

class TracePath final : public Command {
 public:
  explicit TracePath(App& app) {
    app.add_option("DIR", request_.folder, "a folder with rank0, rank1, ..., each with a trace")
        ->required();
    add_output_options(app, presentation_, request_,
                       {trace::kReportFolder, OutputHelp::Dash::kAllowed});
    add_threads(app, request_);
  }

  core::Result<Outcome> run() override {
    const auto call = [this](core::Progress& progress) {
      return trace::run_path(request_, progress);
    };
    static_cast<void>(ASSAY_TRY(run_and_show(presentation_, call)));
    return Outcome::kOk;
  }

 private:
  trace::PathRequest request_;
  Presentation presentation_;
};

const CommandSpec kTracePath{
    .name = "trace path",
    .summary = "find the critical path of a run through all its ranks",
    .description =
        "Walks back from the end of the last step: from each kernel to what its start waited for "
        "(the kernel before it, another stream, the host's launch), from each collective to the "
        "rank that arrived last, and from each receive to its sender. Reports what each step is "
        "made of: computation, communication, communication that may be a wait because nothing "
        "tells which kernels of other ranks belong to it, copies, launches that the GPU waited "
        "for, waiting for a straggler, and idle time. The parts add up to the step.\n\n"
        "The ranks' clocks are aligned by the ends of collectives; the report shows the offsets, "
        "the drifts where these are certain, and what remains of them. Ranks whose steps do not "
        "overlap in time are refused. Waits between streams are learnt from all steps and ranks, "
        "since traces rarely record them.",
    .examples =
        "assay trace path run/torch_profiler -o reports\n"
        "assay trace path run/torch_profiler -o - | jq '.tables[0].rows'\n",
    .make = make_command<TracePath>,
};
ASSAY_REGISTER(CommandSpec, kTracePath);

}  // namespace
}  // namespace assay::cli
