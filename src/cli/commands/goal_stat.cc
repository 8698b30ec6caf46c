#include <filesystem>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "goal/summary.h"
#include "model/goal_text.h"

namespace assay::cli {
namespace {

class GoalStat final : public Command {
 public:
  explicit GoalStat(App& app) {
    app.add_option("FILE", input_, "a schedule, binary or text")->required();
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const model::Schedule schedule = ASSAY_TRY(model::read_schedule(input_));
    const model::Book book = goal::schedule_statistics(schedule, input_.string());
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary());
    return Outcome::kOk;
  }

 private:
  std::filesystem::path input_;
  Presentation presentation_;
};

const CommandSpec kGoalStat{
    .name = "goal stat",
    .summary = "say what is in a schedule",
    .description =
        "Ranks, operations by kind, dependencies, the bytes that ranks send and the nanoseconds "
        "that they calculate with the ranks that have least and most, and the sizes of messages.",
    .examples =
        "assay goal stat out/output.bin\n"
        "assay goal stat job.goal --format json | jq .tables\n",
    .make = make_command<GoalStat>,
};
ASSAY_REGISTER(CommandSpec, kGoalStat);

}  // namespace
}  // namespace assay::cli
