#include <filesystem>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "goal/input.h"
#include "goal/job_size.h"
#include "goal/summary.h"
#include "model/goal_text.h"
#include "model/schedule_notes.h"

namespace assay::cli {
namespace {

class GoalStat final : public Command {
 public:
  explicit GoalStat(App& app) {
    app.add_option("FILE", input_, "a schedule, binary or text; or a job's file")->required();
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const model::Book book = ASSAY_TRY(statistics());
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary());
    return Outcome::kOk;
  }

 private:
  [[nodiscard]] core::Result<model::Book> statistics() const {
    if (const auto file = ASSAY_TRY(goal::find_job_file(input_)))
      return goal::job_statistics(*file, ASSAY_TRY(goal::size_of(*file)), input_.string());
    const model::Schedule schedule = ASSAY_TRY(model::read_schedule(input_));
    const auto notes = ASSAY_TRY(model::read_notes_beside(input_));
    return goal::schedule_statistics(schedule, input_.string(), notes ? notes->time_unit_ns : 1);
  }

  std::filesystem::path input_;
  Presentation presentation_;
};

const CommandSpec kGoalStat{
    .name = "goal stat",
    .summary = "say what is in a schedule",
    .description =
        "Ranks, operations by kind, dependencies, the bytes that ranks send and the nanoseconds "
        "that they calculate with the ranks that have least and most, and the sizes of messages. "
        "Notes beside the schedule (NAME.notes.json) say in which units it counts time. "
        "Of a job's file: its replicas, how large its schedule "
        "would be, its GPUs, communicators and operations.",
    .examples =
        "assay goal stat out/output.bin\n"
        "assay goal stat job.goal --format json | jq .tables\n",
    .make = make_command<GoalStat>,
};
ASSAY_REGISTER(CommandSpec, kGoalStat);

}  // namespace
}  // namespace assay::cli
