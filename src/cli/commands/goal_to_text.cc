#include <filesystem>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/goal_text.h"

namespace assay::cli {
namespace {

class GoalToText final : public Command {
 public:
  explicit GoalToText(App& app) {
    app.add_option("FILE", input_, "a schedule, binary or text")->required();
    app.add_option("-o,--output", output_, "the text to write; '-' for standard output")
        ->type_name("FILE")
        ->default_str("FILE with the ending .goal");
    app.add_flag("-q,--quiet", quiet_, "only warnings and errors");
  }

  core::Result<Outcome> run() override {
    const model::Schedule schedule = ASSAY_TRY(model::read_schedule(input_));
    if (output_ == "-") {
      ASSAY_TRY(model::write_goal_text(schedule, [](std::string_view piece) -> core::Status {
        print(piece);
        return {};
      }));
      return Outcome::kOk;
    }
    const std::filesystem::path output =
        output_.empty() ? std::filesystem::path(input_).replace_extension(".goal") : output_;
    ASSAY_TRY(refuse_to_replace({&input_, 1}, output));
    ASSAY_TRY(model::write_goal_text_file(output, schedule));
    if (!quiet_) print_note("wrote " + output.string());
    return Outcome::kOk;
  }

 private:
  std::filesystem::path input_;
  std::filesystem::path output_;
  bool quiet_ = false;
};

const CommandSpec kGoalToText{
    .name = "goal to-text",
    .summary = "convert a schedule from the binary form to text",
    .description =
        "Names the operations of every rank l0, l1, ... in the order of the file, and writes each "
        "dependency behind the later one of its two operations. 'assay goal to-bin' and the public "
        "converter txt2bin make the same binary schedule of it again. A text is brought into this "
        "form, too.",
    .examples =
        "assay goal to-text job.bin\n"
        "assay goal to-text job.bin -o - | grep -c send\n",
    .make = make_command<GoalToText>,
};
ASSAY_REGISTER(CommandSpec, kGoalToText);

}  // namespace
}  // namespace assay::cli
