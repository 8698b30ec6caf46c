#include <fmt/core.h>

#include "allreduce/explain.h"
#include "cli/allreduce_commands.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"

namespace assay::cli {
namespace {

class AllreduceExplain final : public Command {
 public:
  explicit AllreduceExplain(App& app) {
    add_message_sizes(app, cell_);
    add_choice(app, "FUSION", cell_.fusion, fusion_choices(),
               "the operation that is fused behind the sum");
    add_tuning_options(app, arguments_, "--data_dir,--data-dir")->required();
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const allreduce::TunedTables tables =
        ASSAY_TRY(load_tuned(arguments_.data_folder, arguments_)).tables;
    warn_of_refused_rows();
    cell_.data_type = arguments_.tuning.data_type;
    const allreduce::Explanation explanation = allreduce::explain(tables, cell_);
    if (presentation_.shows_summary()) {
      print_summary(allreduce::explanation_book(tables, explanation), presentation_.summary());
    }
    return Outcome::kOk;
  }

 private:
  void warn_of_refused_rows() const {
    const int multiple = cell_.fusion == allreduce::Fusion::kResidualRmsNormQuantNvfp4 ? 16 : 8;
    if (cell_.hidden_size % multiple == 0) return;
    print_warning(fmt::format("the library takes no rows of {} elements, only multiples of {}",
                              cell_.hidden_size, multiple));
  }

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
        "between the next measured sizes), the message sizes at which the choice begins and ends, "
        "whether a tie decided, and the least time that the links need. Beyond the largest "
        "measured message times go on along the line through the last two sizes; with a number of "
        "GPUs that was not measured all times are extrapolated by the bytes that a GPU sends. Both "
        "say so, and are never below that least time.",
    .examples =
        "assay allreduce explain 8 7168 64 NONE --data_dir data\n"
        "assay allreduce explain 4 4096 200 RESIDUAL_RMS_NORM --data_dir data --format json\n",
    .make = make_command<AllreduceExplain>,
};
ASSAY_REGISTER(CommandSpec, kAllreduceExplain);

}  // namespace
}  // namespace assay::cli
