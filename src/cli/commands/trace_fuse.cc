#include "cli/options.h"
#include "cli/output.h"
#include "cli/trace_options.h"

namespace assay::cli {
namespace {

class TraceFuse final : public Command {
 public:
  explicit TraceFuse(App& app) {
    app.add_option("DIR", request_.folder, "a folder with rank0, rank1, ..., each with a trace")
        ->required();
    app.add_option("-o,--output", request_.file,
                   "the trace to write; compressed if its name ends in .gz; '-' for standard "
                   "output, without a summary")
        ->type_name("FILE")
        ->default_str(trace::kFusedTrace)
        ->group("Output options");
    add_presentation_options(app, presentation_);
    add_threads(app, request_);
  }

  core::Result<Outcome> run() override {
    if (request_.file == "-") {
      request_.sink = [](std::string_view piece) -> core::Status {
        print(piece);
        return {};
      };
      presentation_ = {.format = std::nullopt, .quiet = true};
    }
    const auto call = [this](core::Progress& progress) {
      return trace::run_fuse(request_, progress);
    };
    static_cast<void>(ASSAY_TRY(run_and_show(presentation_, call)));
    return Outcome::kOk;
  }

 private:
  trace::FuseRequest request_;
  Presentation presentation_;
};

const CommandSpec kTraceFuse{
    .name = "trace fuse",
    .summary = "put the traces of all ranks into one, for Perfetto",
    .description =
        "Writes one trace that Perfetto (ui.perfetto.dev) and chrome://tracing open: a process "
        "for each rank's CPU and GPU, all on one clock, and above them the steps and the critical "
        "path, with arrows that lead from kernel to kernel across the ranks.\n\n"
        "Processes, flows and correlation ids of different ranks differ in it, so that tools for "
        "single traces read it, too. 'assay trace' itself does not take it: its other commands "
        "need "
        "the ranks' own traces. The members beside traceEvents are left out: some profilers put "
        "the environment of the host there.",
    .examples =
        "assay trace fuse run/torch_profiler\n"
        "assay trace fuse run/torch_profiler -o run.json\n",
    .make = make_command<TraceFuse>,
};
ASSAY_REGISTER(CommandSpec, kTraceFuse);

}  // namespace
}  // namespace assay::cli
