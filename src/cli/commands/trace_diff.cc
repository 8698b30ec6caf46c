#include "cli/options.h"
#include "cli/trace_options.h"

namespace assay::cli {
namespace {

class TraceDiff final : public Command {
 public:
  explicit TraceDiff(App& app) {
    const char* what = "a trace (.json, .json.gz), or a folder with rank0, rank1, ...";
    app.add_option("BASELINE", request_.baseline, std::string("what to compare with: ") + what)
        ->required();
    app.add_option("TEST", request_.test, std::string("what to judge: ") + what)->required();
    add_output_options(app, presentation_, request_,
                       {trace::kDiffFolder, OutputHelp::Dash::kAllowed});
    add_labels(app, request_.baseline_label, request_.test_label);
    add_tolerance(app, request_.tolerance_percent);
    add_threads(app, request_);
  }

  core::Result<Outcome> run() override {
    const auto call = [this](core::Progress& progress) {
      return trace::run_diff(request_, progress);
    };
    static_cast<void>(ASSAY_TRY(run_and_show(presentation_, call)));
    return Outcome::kOk;
  }

 private:
  trace::DiffRequest request_;
  Presentation presentation_;
};

const CommandSpec kTraceDiff{
    .name = "trace diff",
    .summary = "show what two traces do differently on the GPU, and what each difference costs",
    .description =
        "Pairs the kernels of two traces by module (or calls of operators), operator, shapes and "
        "name, and tells which were added, removed or replaced, called more or less often, and "
        "which take longer or shorter, by their effect on the time of kernels. The effects add up "
        "to the difference of the two sides. Times are means of the steady steps, as in 'assay "
        "trace "
        "compare', over all ranks. Until its last rank has come, the time of a collective is a "
        "wait ('longer wait'), from then on transfer ('slower'). Where a rank of it has no trace, "
        "that is not known and there is no verdict: give the folders of all ranks.\n\n"
        "Modules are those of traces with call stacks (with_stack of torch.profiler). Modules "
        "match by name, else by class and order; a wrapper around a part is seen through.\n\n"
        "For verdicts on runs with their noise, see 'assay trace compare'.",
    .examples =
        "assay trace diff runs/default runs/ctas_16\n"
        "assay trace diff runs/default runs/ctas_16 -o diff --labels old,new\n"
        "assay trace diff a.json b.json -o - | jq '.tables[1].rows[:5]'\n",
    .make = make_command<TraceDiff>,
};
ASSAY_REGISTER(CommandSpec, kTraceDiff);

}  // namespace
}  // namespace assay::cli
