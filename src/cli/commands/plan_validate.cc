#include <filesystem>
#include <map>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "core/files.h"
#include "plan/validate/report.h"
#include "plan/validate/validate.h"

namespace assay::cli {
namespace {

class PlanValidate final : public Command {
 public:
  explicit PlanValidate(App& app) {
    app.add_option("FILE.csv", input_, "measured deployments, a row each")->required();
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
    app.add_flag("--rows", rows_, "list every row rather than slices of them");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const std::string text = ASSAY_TRY(core::read_file(input_));
    model::Warnings warnings;
    const auto measured = ASSAY_TRY(plan::parse_measured(text, input_.string(), warnings));
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
  std::filesystem::path input_;
  std::filesystem::path systems_;
  plan::AssumedClients clients_;
  bool rows_ = false;
  Presentation presentation_;
};

const CommandSpec kPlanValidate{
    .name = "plan validate",
    .summary = "compare predictions with measured deployments",
    .make = make_command<PlanValidate>,
};
ASSAY_REGISTER(CommandSpec, kPlanValidate);

}  // namespace
}  // namespace assay::cli
