#include "cli/options.h"
#include "cli/shared_reading.h"
#include "cli/trace_options.h"

namespace assay::cli {
namespace {

class TraceCollectives final : public Command {
 public:
  explicit TraceCollectives(App& app) {
    app.add_option("DIR", request_.folder, "a folder with rank0, rank1, ..., each with a trace")
        ->required();
    add_output_options(app, presentation_, request_,
                       {trace::kReportFolder, OutputHelp::Dash::kAllowed});
    add_gpus_per_node(app, request_.gpus_per_node);
    add_analysis_options(app, request_);
  }

  core::Result<Outcome> run() override {
    return run_shared(request_, [this] { return run_here(); });
  }

 private:
  core::Result<Outcome> run_here() {
    const auto call = [this](core::Progress& progress) {
      return trace::run_collectives(request_, progress);
    };
    static_cast<void>(ASSAY_TRY(run_and_show(presentation_, call)));
    return Outcome::kOk;
  }

  trace::CollectivesRequest request_;
  Presentation presentation_;
};

const CommandSpec kTraceCollectives{
    .name = "trace collectives",
    .summary = "write the report of the communication between ranks",
    .description =
        "Finds each collective on every rank that took part, and reports its latency, "
        "bandwidth, skew and stragglers, by message size, type and process group, with the "
        "channels and threads of its launch.\n\n"
        "The offsets between the clocks of hosts, and their drifts where these are certain, are "
        "estimated from the ends of synchronising collectives. They are shown, and removed before "
        "skew is computed. Collectives that other ranks lack are listed.",
    .more_description = shared_reading_help,
    .examples =
        "assay trace collectives run/torch_profiler -o reports\n"
        "assay trace collectives run/torch_profiler --gpus-per-node 8 --format json\n",
    .make = make_command<TraceCollectives>,
};
ASSAY_REGISTER(CommandSpec, kTraceCollectives);

}  // namespace
}  // namespace assay::cli
