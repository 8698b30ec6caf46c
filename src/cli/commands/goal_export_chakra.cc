#include <fmt/core.h>

#include <set>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "cli/trace_options.h"
#include "goal/chakra/write_traces.h"
#include "goal/input.h"
#include "goal/reshape_job.h"

namespace assay::cli {
namespace {

class GoalExportChakra final : public Command {
 public:
  explicit GoalExportChakra(App& app) {
    app.add_option("DIR,-i,--input", input_,
                   "the recording or the job's file, as 'assay goal generate' takes it, or other "
                   "execution traces")
        ->type_name("DIR")
        ->required();
    app.add_option("-o,--output", folder_, "the folder to write into; made when missing")
        ->type_name("DIR")
        ->required();
    app.add_option("--nccl-log", input_options_.nccl_logs, "NCCL's logs of the recording")
        ->type_name("FILE")
        ->default_str("those beside the recording");
    app.add_option("--from", window_.from_s,
                   "only operations that began this late in the recording, in seconds")
        ->type_name("SECONDS")
        ->default_str("the beginning");
    app.add_option("--to", window_.to_s, "only operations that began before this time, in seconds")
        ->type_name("SECONDS")
        ->default_str("the end");
    app.note_given(given_);
    app.add_option("--replicas", scale_.replicas, "write so many replicas of the job")
        ->type_name("N")
        ->default_str("1; as many as a job's file says")
        ->check(whole_number_problem);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    model::Job read = ASSAY_TRY(read_input());
    const model::Job job =
        ASSAY_TRY(goal::scale(ASSAY_TRY(goal::cut_window(std::move(read), window_)), scale_));
    const goal::WrittenTraces written = ASSAY_TRY(goal::write_traces(job, {}, folder_));
    model::Warnings warnings = job.warnings;
    warnings.merge(written.warnings);
    show_warnings(warnings);
    if (presentation_.shows_summary())
      print_summary(goal::summary_of(written), presentation_.summary());
    if (!presentation_.quiet) print_note("wrote " + (folder_ / "output.*.et").string());
    return Outcome::kOk;
  }

 private:
  // The replicas of a job's file hold where no option says otherwise.
  core::Result<model::Job> read_input() {
    auto file = ASSAY_TRY(goal::find_job_file(input_));
    if (!file) return goal::read_job(input_, input_options_);
    if (given_.contains("--nccl-log")) {
      return core::Error{"--nccl-log is for recordings: a job's file has its rings and trees"};
    }
    scale_.communicator = file->scale.communicator;
    if (!given_.contains("--replicas")) scale_.replicas = file->scale.replicas;
    return std::move(file->job);
  }

  std::filesystem::path input_;
  std::filesystem::path folder_;
  goal::InputOptions input_options_;
  goal::Window window_;
  goal::ScaleOptions scale_;
  std::set<std::string> given_;
  Presentation presentation_;
};

const CommandSpec kGoalExportChakra{
    .name = "goal export-chakra",
    .summary = "write a recorded job as Chakra's execution traces",
    .description =
        "One file a rank, output.RANK.et: a node of computation for the time before each launch, "
        "and one for each collective (with its kind, size and group), send and receive (with its "
        "rank and tag). Times are whole microseconds, and what a node loses by that, a later one "
        "gets. comm_group.json has the ranks of the groups.\n\n"
        "ASTRA-sim runs them: --workload-configuration=out/output "
        "--comm-group-configuration=out/comm_group.json.",
    .examples =
        "assay goal export-chakra recording -o out\n"
        "assay goal export-chakra recording -o out --replicas 16\n",
    .make = make_command<GoalExportChakra>,
};
ASSAY_REGISTER(CommandSpec, kGoalExportChakra);

}  // namespace
}  // namespace assay::cli
