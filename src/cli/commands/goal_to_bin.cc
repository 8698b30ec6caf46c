#include <filesystem>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/goal_text.h"
#include "model/schedule_writer.h"

namespace assay::cli {
namespace {

class GoalToBin final : public Command {
 public:
  explicit GoalToBin(App& app) {
    app.add_option("FILE", input_, "a schedule as text")->required();
    app.add_option("-o,--output", output_, "the binary schedule to write")
        ->type_name("FILE")
        ->default_str("FILE with the ending .bin");
    app.add_flag("-q,--quiet", quiet_, "only warnings and errors");
  }

  core::Result<Outcome> run() override {
    core::MappedFile file = ASSAY_TRY(core::MappedFile::open(input_));
    if (model::is_binary_schedule(file.bytes())) {
      return core::Error{"'" + input_.string() + "' is a binary schedule already"};
    }
    auto text = ASSAY_TRY(model::GoalText::from_file(std::move(file), input_.string()));
    const std::filesystem::path output =
        output_.empty() ? std::filesystem::path(input_).replace_extension(".bin") : output_;
    ASSAY_TRY(refuse_to_replace({&input_, 1}, output));
    ASSAY_TRY(model::write_binary_schedule(
        output, text.num_ranks(), [&](model::RankSink& ranks) { return text.read(ranks); }));
    if (!quiet_) print_note("wrote " + output.string());
    return Outcome::kOk;
  }

 private:
  std::filesystem::path input_;
  std::filesystem::path output_;
  bool quiet_ = false;
};

const CommandSpec kGoalToBin{
    .name = "goal to-bin",
    .summary = "convert a schedule from text to the binary form",
    .description =
        "Writes the bytes that the public converter txt2bin writes, and refuses what that one "
        "would misread without a word: a label defined twice, a tag of more than 32 bits, a rank "
        "that is no rank, a cpu or nic above 254. Errors name the line. Memory is that of the "
        "largest rank.",
    .examples =
        "assay goal to-bin job.goal\n"
        "assay goal to-bin job.goal -o schedules/job.bin\n",
    .make = make_command<GoalToBin>,
};
ASSAY_REGISTER(CommandSpec, kGoalToBin);

}  // namespace
}  // namespace assay::cli
