#include <filesystem>
#include <vector>

#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/summary_output.h"
#include "core/output_file.h"
#include "plan/calibrate/calibration_report.h"
#include "plan/validate/report.h"

namespace assay::cli {
namespace {

class PlanCalibrate final : public Command {
 public:
  explicit PlanCalibrate(App& app) {
    add_measured_options(app, input_, prices_, clients_);
    app.add_option("-o,--output", output_, "where the calibration goes")
        ->type_name("FILE.json")
        ->required();
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    ASSAY_TRY(refuse_to_replace(std::vector{input_}, output_));
    const auto measured = ASSAY_TRY(read_measured(input_));
    PlanInputs inputs(prices_);
    const auto found = ASSAY_TRY(plan::calibrate(measured, validation_inputs(inputs), clients_));
    ASSAY_TRY(core::write_file(output_, plan::calibrations_json(found.entries)));
    if (presentation_.shows_summary()) print_summary(book_of(found), presentation_.summary());
    if (!presentation_.quiet) print_note("wrote " + output_.string());
    return Outcome::kOk;
  }

 private:
  static model::Book book_of(const plan::FoundCalibrations& found) {
    model::Book book{.title = "Calibration"};
    book.tables.push_back(
        plan::calibrations_table(found.entries, "What measured deployments tell"));
    if (!found.left_out.empty()) book.tables.push_back(plan::refused_rows_table(found.left_out));
    return book;
  }

  std::filesystem::path input_;
  PriceSources prices_;
  std::filesystem::path output_;
  plan::AssumedClients clients_;
  Presentation presentation_;
};

const CommandSpec kPlanCalibrate{
    .name = "plan calibrate",
    .summary = "learn from a few measured deployments what the tables do not tell",
    .description =
        "Fits, for each engine, version, model and system of the measurements, the time that a "
        "step takes beside its operators (glue: the host, gaps between kernels, sampling), a "
        "factor on all operators, another on what prompts add to a step, and one on TTFT. Three to "
        "five deployments of "
        "one number of GPUs at different loads are enough. The file stays apart from measured "
        "tables; 'assay plan estimate', 'search', 'files' and 'validate' take it by --calibration, "
        "and "
        "name it in their answers.",
    .examples =
        "assay plan calibrate measured.csv --systems-paths systems -o calibration.json\n"
        "assay plan search --model qwen3-32b --gpus 4 --calibration calibration.json\n",
    .make = make_command<PlanCalibrate>,
};
ASSAY_REGISTER(CommandSpec, kPlanCalibrate);

}  // namespace
}  // namespace assay::cli
