#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "core/files.h"
#include "plan/validate/bench_results.h"
#include "plan/validate/report.h"
#include "plan/validate/validate.h"

namespace assay::cli {
namespace {

class PlanValidate final : public Command {
 public:
  explicit PlanValidate(App& app) {
    app.add_option("FILE.csv|DIR", input_,
                   "measured deployments, a row each; or a folder of plan files with its results")
        ->required();
    add_systems_option(app, systems_);
    add_scheduler_option(app, clients_.scheduler);
    app.add_option("--requests-each", clients_.requests_each,
                   "requests in all, for each that is in flight")
        ->type_name("N")
        ->default_str("10")
        ->check(positive_number_problem);
    app.add_option("--least-length", clients_.least_length,
                   "lengths are uniform between this share of the nominal ones and them")
        ->type_name("SHARE")
        ->default_str("as the row's source has it")
        ->check(share_problem);
    app.add_option("--calibrate-by", clients_.calibrated_by,
                   "calibrate each slice by this many of its rows, and judge the others")
        ->type_name("ROWS")
        ->default_str("none")
        ->check(positive_number_problem);
    app.add_flag("--rows", rows_, "list every row rather than slices of them");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    model::Warnings warnings;
    const auto measured = ASSAY_TRY(read(warnings));
    for (const model::Warning& warning : warnings.all())
      print_warning(warning.sentence());
    PlanInputs inputs(systems_);
    const plan::ValidationInputs use{
        .facts = [&](const std::string& system) { return inputs.facts(system); },
        .model = [&](const std::string& path) { return inputs.model(path); },
        .tables =
            [&](const std::string& system, plan::Engine engine, const std::string& version) {
              return inputs.tables(system, engine, version);
            }};
    const auto predictions = plan::predict(measured, use, clients_);
    const model::Book book = rows_ ? plan::rows_book(predictions) : plan::slices_book(predictions);
    print_summary(book, presentation_.summary(), kAllRows);
    return Outcome::kOk;
  }

 private:
  core::Result<std::vector<plan::MeasuredDeployment>> read(model::Warnings& warnings) const {
    std::error_code ignored;
    if (std::filesystem::is_directory(input_, ignored))
      return plan::read_bench_folder(input_, warnings);
    return plan::parse_measured(ASSAY_TRY(core::read_file(input_)), input_.string(), warnings);
  }

  std::filesystem::path input_;
  std::filesystem::path systems_;
  plan::AssumedClients clients_;
  bool rows_ = false;
  Presentation presentation_;
};

const CommandSpec kPlanValidate{
    .name = "plan validate",
    .summary = "compare predictions with measured deployments",
    .description =
        "FILE.csv has a row for each measured deployment, with the columns of the public planner's "
        "table: backend, backend_version, model_path, system, isl, osl, batch_size, tp_size, "
        "attention_dp_size, moe_tp_size, moe_ep_size, gemm_quant_mode, moe_quant_mode, "
        "silicon_ttft_ms and silicon_tpot_ms. Each row is predicted without its result; errors are "
        "shown by slice (engine, version, model, system).\n\n"
        "The model is a path, or a name whose last part ships with assay. Weights are those of the "
        "checkpoint; a row's quantization counts where the checkpoint has none. Clients keep "
        "batch_size requests in flight. Rows of InferenceX, which tell when they were measured, "
        "have lengths from 80 % on; others have equal ones, and a step of vLLM then holds one "
        "prompt, as in the public planner's files.\n\n"
        "--calibrate-by takes some rows of each slice, of one number of GPUs and one pair of "
        "lengths, fits what a step takes beside its operators, and judges the other rows.",
    .examples =
        "assay plan validate measured.csv --systems-paths systems\n"
        "assay plan validate measured.csv --systems-paths systems --calibrate-by 5\n"
        "assay plan validate measured.csv --rows --format csv -q\n",
    .make = make_command<PlanValidate>,
};
ASSAY_REGISTER(CommandSpec, kPlanValidate);

}  // namespace
}  // namespace assay::cli
