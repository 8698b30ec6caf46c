#include <fmt/core.h>

#include <set>
#include <string>

#include "cli/command.h"
#include "cli/goal_outputs.h"
#include "cli/options.h"
#include "cli/summary_output.h"
#include "cli/trace_options.h"
#include "cli/version.h"
#include "goal/generate.h"

namespace assay::cli {
namespace {

class GoalImportChakra final : public Command {
 public:
  explicit GoalImportChakra(App& app) {
    app.add_option("DIR,-i,--input", request_.input,
                   "a folder with the traces of all ranks, NAME.RANK.et, and comm_group.json where "
                   "they have groups")
        ->type_name("DIR")
        ->required();
    add_schedule_folder(app, request_)->required();
    const Choices<goal::ScheduleFormat> formats{{"text", goal::ScheduleFormat::kText},
                                                {"bin", goal::ScheduleFormat::kBinary}};
    add_choice(app, "--write", request_.target.format, formats,
               "text, or the binary form that simulators read");
    add_gpus_per_node(app, request_.input_options);
    app.add_flag("--strict", strict_,
                 "fail where a message has no receive or ranks disagree, instead of leaving the "
                 "operation out and counting it");
    add_slice_costs(app, costs_file_);
    add_simulator_options(app, simulator_, "Options");
    app.note_given(given_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    return check_simulator_options(simulator_, given_, true);
  }

  core::Result<Outcome> run() override {
    if (ASSAY_TRY(goal::find_job_file(request_.input))) {
      return core::Error{
          fmt::format("'{}' is a job, and no traces: its schedule is made by 'assay goal generate'",
                      request_.input.string())};
    }
    request_.target.generator = program_version();
    if (strict_) request_.options.misfits = goal::Misfits::kFail;
    request_.costs = ASSAY_TRY(slice_costs(costs_file_));
    apply(simulator_, request_);
    const goal::GenerateResult result = ASSAY_TRY(goal::generate(request_));
    show_warnings(result.warnings);
    if (presentation_.shows_summary()) print_summary(result.summary, presentation_.summary());
    if (!presentation_.quiet) tell_written(result, request_.simulator);
    return Outcome::kOk;
  }

 private:
  goal::GenerateRequest request_;
  std::filesystem::path costs_file_;
  SimulatorOptions simulator_;
  std::set<std::string> given_;
  bool strict_ = false;
  Presentation presentation_;
};

const CommandSpec kGoalImportChakra{
    .name = "goal import-chakra",
    .summary = "make a schedule of Chakra's execution traces",
    .description =
        "Nodes of computation keep their duration, and wait for the nodes whose data they need; "
        "collectives become what NCCL makes of them, and sends meet the receives with their tag. "
        "Operators of CPUs run beside those of GPUs.\n\n"
        "'assay goal generate' reads such a folder, too.",
    .examples =
        "assay goal import-chakra traces -o out --write bin\n"
        "assay goal import-chakra traces -o out --gpus-per-node 4\n",
    .make = make_command<GoalImportChakra>,
};
ASSAY_REGISTER(CommandSpec, kGoalImportChakra);

}  // namespace
}  // namespace assay::cli
