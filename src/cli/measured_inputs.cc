#include "cli/measured_inputs.h"

#include <system_error>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "core/file_kind.h"
#include "core/files.h"
#include "plan/validate/bench_results.h"

namespace assay::cli {

void add_measured_options(App& app,
                          std::filesystem::path& input,
                          PriceSources& prices,
                          plan::AssumedClients& clients) {
  app.add_option("FILE.csv|DIR", input,
                 "measured deployments, a row each; or a folder of plan files with its results")
      ->required();
  add_price_sources(app, prices);
  app.add_option("--requests-each", clients.requests_each,
                 "requests in all, for each that is in flight")
      ->type_name("N")
      ->default_str("10")
      ->check(positive_number_problem);
  app.add_option("--client-time", clients.client_ms,
                 "what lies between a client and the scheduler takes so many ms for a request")
      ->type_name("MS")
      ->default_str("20")
      ->check(not_negative_problem);
  app.add_option("--least-length", clients.least_length,
                 "lengths are uniform between this share of the nominal ones and them")
      ->type_name("SHARE")
      ->default_str("as the row's source has it")
      ->check(share_problem);
}

core::Result<std::vector<plan::MeasuredDeployment>> read_measured(
    const std::filesystem::path& input) {
  model::Warnings warnings;
  std::error_code ignored;
  auto measured =
      std::filesystem::is_directory(input, ignored)
          ? plan::read_bench_folder(input, warnings)
          : plan::parse_measured(ASSAY_TRY(core::read_file(input)), input.string(), warnings);
  for (const model::Warning& warning : warnings.all())
    print_warning(warning.sentence());
  return measured;
}

plan::ValidationInputs validation_inputs(PlanInputs& inputs) {
  return {
      .facts = [&](const std::string& system) { return inputs.facts(system); },
      .model = [&](const std::string& path) { return inputs.model(path); },
      .tables = [&](const std::string& system, plan::Engine engine,
                    const std::string& version) { return inputs.tables(system, engine, version); }};
}

Option* add_calibration_option(App& app, std::filesystem::path& file) {
  return app
      .add_option("--calibration", file,
                  "what 'assay plan calibrate' found on these GPUs, for the engine and model that "
                  "it names")
      ->type_name("FILE");
}

core::Result<plan::UsedCalibration> read_calibration(const std::filesystem::path& file,
                                                     const ServedModel& served,
                                                     const std::string& model) {
  if (file.empty()) return plan::UsedCalibration();
  const auto entries = ASSAY_TRY(read_calibrations(file));
  const std::string engine(plan::name_of(served.engine));
  return plan::calibration_for(entries, {engine, served.version, model, served.system},
                               file.string());
}

core::Result<std::vector<plan::CalibrationEntry>> read_calibrations(
    const std::filesystem::path& file) {
  if (file.empty()) return std::vector<plan::CalibrationEntry>();
  return plan::parse_calibrations(ASSAY_TRY(core::read_text(file, core::TextFormat::kJson)),
                                  file.string());
}

}  // namespace assay::cli
