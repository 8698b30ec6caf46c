#include "allreduce/explain.h"
#include "cli/allreduce_commands.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"

namespace assay::cli {
namespace {

// Limits sizes to those that a table can have, so that their product fits into 64 bits.
std::string size_problem(const std::string& text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  std::string problem = count_problem(text);
  if (!problem.empty()) return problem;
  const bool fits = text.size() <= 9 && std::stoll(text) >= 1 && std::stoll(text) <= kMost;
  return fits ? "" : "'" + text + "' is not a whole number from 1 to 268435456";
}

class AllreduceExplain final : public Command {
 public:
  explicit AllreduceExplain(App& app) {
    app.add_option("TP", cell_.world_size, "GPUs that reduce together: the tensor-parallel size")
        ->required()
        ->check(size_problem);
    app.add_option("HIDDEN", cell_.hidden_size, "elements of a token")
        ->required()
        ->check(size_problem);
    app.add_option("TOKENS", cell_.num_tokens, "tokens of the message")
        ->required()
        ->check(size_problem);
    add_choice(app, "FUSION", cell_.fusion, fusion_choices(),
               "the operation that is fused behind the sum");
    add_tuning_options(app, arguments_, "--data_dir,--data-dir")->required();
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const auto [benchmark, tables] = ASSAY_TRY(load_tuned(arguments_.data_folder, arguments_));
    cell_.data_type = arguments_.tuning.data_type;
    const allreduce::Explanation explanation = allreduce::explain(tables, cell_);
    if (presentation_.shows_summary()) {
      print_summary(allreduce::explanation_book(tables, explanation), presentation_.summary());
    }
    return Outcome::kOk;
  }

 private:
  allreduce::Cell cell_;
  TuningArguments arguments_;
  Presentation presentation_;
};

const CommandSpec kAllreduceExplain{
    .name = "allreduce explain",
    .summary = "say which strategy a message gets, and why",
    .description =
        "Makes the table of 'assay allreduce codegen' from a folder of benchmark files, looks "
        "one message up in it, and shows the evidence behind the choice: every strategy's time "
        "at this size with the interval of its samples (measured at this size, or interpolated "
        "between "
        "the next measured sizes), the message sizes at which the choice begins and ends, "
        "whether a tie decided, and the least time that the links need. With a number of GPUs that "
        "was not measured all times are extrapolated by the bytes that a GPU sends, say so, and "
        "are never below that least time.",
    .examples =
        "assay allreduce explain 8 7168 64 NONE --data_dir data\n"
        "assay allreduce explain 4 4096 200 RESIDUAL_RMS_NORM --data_dir data --format json\n",
    .make = make_command<AllreduceExplain>,
};
ASSAY_REGISTER(CommandSpec, kAllreduceExplain);

}  // namespace
}  // namespace assay::cli
