#include "cli/command.h"
#include "cli/fit_support.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "goal/input.h"
#include "simulate/network.h"

namespace assay::cli {
namespace {

class GoalValidate final : public Command {
 public:
  explicit GoalValidate(App& app) {
    app.add_option("DIR,-i,--input", inputs_, "the recording, as 'assay goal generate' takes it")
        ->required();
    app.add_option("--params", params_, "links and costs, as 'assay simulate fit' writes them")
        ->type_name("FILE")
        ->default_str("fitted on H200 with NVLink");
    app.add_option("--nccl-log", input_options_.nccl_logs,
                   "NCCL's logs, for rings and trees that the recording lacks")
        ->type_name("FILE")
        ->default_str("those beside the recording");
    app.add_option("--skip", skip_, "leave out the first N times of each kind and size")
        ->type_name("N")
        ->default_str("1")
        ->check(count_problem);
    app.add_option("--tolerance", tolerance_percent_,
                   "fail (exit status 3) when the median of |error| over all kinds and sizes is "
                   "larger than this, in percent")
        ->type_name("PERCENT")
        ->default_str("")
        ->check(positive_number_problem);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    goal::Links links = goal::default_links();
    goal::Costs costs = goal::costs_from_lines(goal::default_costs(), "defaults");
    if (!params_.empty()) {
      const auto file = ASSAY_TRY(simulate::read_parameters(params_, 0));
      links.intra = simulate::with(file.links, "intra-", links.intra);
      links.inter = simulate::with(file.links, "", links.inter);
      costs = goal::costs_from_lines(ASSAY_TRY(goal::read_line_costs(params_)), params_.string());
    }
    const std::vector<goal::UnitModel> measured =
        ASSAY_TRY(measured_units(inputs_, input_options_, skip_));
    const model::Book book = ASSAY_TRY(goal::validate(measured, costs, links, simulator(), 0));
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary(), kAllRows);
    return tolerance_percent_ > 0 && goal::median_error_percent(book) > tolerance_percent_
               ? Outcome::kRegressionFound
               : Outcome::kOk;
  }

 private:
  static constexpr std::size_t kAllRows = 1000;

  std::vector<std::filesystem::path> inputs_;
  std::filesystem::path params_;
  goal::InputOptions input_options_;
  std::size_t skip_ = 1;
  double tolerance_percent_ = 0;
  Presentation presentation_;
};

const CommandSpec kGoalValidate{
    .name = "goal validate",
    .summary = "simulate each recorded operation alone, beside its measured time",
    .description =
        "Every kind and size of operation is expanded as 'assay goal generate' does it and "
        "simulated alone. The measured time is from the last GPU's start to the last one's end, "
        "where the GPUs share a clock; otherwise the shortest kernel's. What is simulated is "
        "compared with the median.",
    .regression_means = "the simulated times are further off than --tolerance",
    .examples =
        "assay goal validate recording\n"
        "assay goal validate recording --params fitted.json --tolerance 10\n",
    .make = make_command<GoalValidate>,
};
ASSAY_REGISTER(CommandSpec, kGoalValidate);

}  // namespace
}  // namespace assay::cli
