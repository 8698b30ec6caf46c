#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "plan/validate/picks_report.h"
#include "plan/validate/report.h"
#include "plan/validate/validate.h"

namespace assay::cli {
namespace {

class PlanValidate final : public Command {
 public:
  explicit PlanValidate(App& app) {
    add_measured_options(app, input_, prices_, clients_);
    add_scheduler_option(app, clients_.scheduler);
    const Option* calibration = add_calibration_option(app, calibration_);
    app.add_option("--calibrate-by", clients_.calibrated_by,
                   "calibrate each slice by this many of its rows, and judge the others")
        ->type_name("ROWS")
        ->default_str("none")
        ->check(positive_number_problem)
        ->excludes(calibration);
    const Option* rows = app.add_flag("--rows", rows_, "list every row rather than slices of them");
    Option* picks = app.add_flag("--picks", picks_,
                                 "show how picks of predictions keep limits on TPOT, by both "
                                 "schedulers");
    picks->excludes(rows);
    add_confidence_option(app, confidence_,
                          "with --picks, the chance to keep the limit that a pick needs")
        ->needs(picks);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const auto measured = ASSAY_TRY(read_measured(input_));
    clients_.calibrations = ASSAY_TRY(read_calibrations(calibration_));
    PlanInputs inputs(prices_);
    const auto predictions = plan::predict(measured, validation_inputs(inputs), clients_);
    if (picks_) return show_picks(measured, validation_inputs(inputs), predictions);
    model::Book book = rows_ ? plan::rows_book(predictions) : plan::slices_book(predictions);
    if (!calibration_.empty()) name_calibration(measured, book.tables.front());
    print_summary(book, presentation_.summary(), kAllRows);
    return Outcome::kOk;
  }

 private:
  // The other scheduler predicts the same rows once more.
  Outcome show_picks(const std::vector<plan::MeasuredDeployment>& measured,
                     const plan::ValidationInputs& inputs,
                     const std::vector<plan::Prediction>& predictions) const {
    std::vector<plan::ScheduledPredictions> schedulers = {{"closed form", &predictions}};
    plan::AssumedClients others = clients_;
    others.scheduler = plan::Scheduler::kClosedForm;
    std::vector<plan::Prediction> closed_form;
    if (clients_.scheduler == plan::Scheduler::kSimulation) {
      closed_form = plan::predict(measured, inputs, others);
      schedulers = {{"simulation", &predictions}, {"closed form", &closed_form}};
    }
    print_summary(plan::picks_book(schedulers, chance_of(confidence_)), presentation_.summary(),
                  kAllRows);
    return Outcome::kOk;
  }

  void name_calibration(const std::vector<plan::MeasuredDeployment>& measured,
                        model::Table& table) const {
    const bool has_any = std::any_of(measured.begin(), measured.end(), [&](const auto& row) {
      return plan::find_calibration(clients_.calibrations,
                                    {row.engine, row.version, row.model, row.system}) != nullptr;
    });
    if (!has_any) print_warning(calibration_.string() + " calibrates none of these rows");
    table.notes.push_back("calibrated by " + calibration_.string() +
                          " where it has the engine, model and system; the rows that told it are "
                          "not judged");
  }

  std::filesystem::path input_;
  PriceSources prices_;
  std::filesystem::path calibration_;
  plan::AssumedClients clients_;
  bool rows_ = false;
  bool picks_ = false;
  std::optional<double> confidence_;
  Presentation presentation_;
};

const CommandSpec kPlanValidate{
    .name = "plan validate",
    .summary = "compare predictions with measured deployments",
    .description =
        "FILE.csv has a row for each measured deployment, with the columns of the public planner's "
        "table: backend, backend_version, model_path, system, isl, osl, batch_size, tp_size, "
        "pp_size, attention_dp_size, moe_tp_size, moe_ep_size, gemm_quant_mode, moe_quant_mode, "
        "silicon_ttft_ms and silicon_tpot_ms. Each row is predicted without its result; errors are "
        "shown by slice (engine, version, model, system).\n\n"
        "The model is a path, or a name whose last part ships with assay. Weights are those of the "
        "checkpoint; a row's quantization counts where the checkpoint has none. Clients keep "
        "batch_size requests in flight. Rows of InferenceX, which tell when they were measured, "
        "have lengths from 80 % on; others have equal ones, and a step of vLLM then holds one "
        "prompt, as in the public planner's files.\n\n"
        "--calibrate-by takes some rows of each slice, of one number of GPUs and one pair of "
        "lengths, fits what a step takes beside its operators, and judges the other rows.\n\n"
        "--picks takes rows of one slice, quantization and pair of lengths for the candidates of a "
        "search, and asks whether the pick keeps its limit on TPOT as measured: where the "
        "prediction keeps it, and where it is kept with a chance of --confidence, as the error bar "
        "of the prediction has it.",
    .examples =
        "assay plan validate measured.csv --systems-paths systems\n"
        "assay plan validate measured.csv --systems-paths systems --calibrate-by 5\n"
        "assay plan validate measured.csv --systems-paths systems --picks --confidence 75\n"
        "assay plan validate measured.csv --rows --format csv -q\n",
    .make = make_command<PlanValidate>,
};
ASSAY_REGISTER(CommandSpec, kPlanValidate);

}  // namespace
}  // namespace assay::cli
