#include "cases.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

core::Result<Usage> run_assay(std::vector<std::string> arguments, Inputs& inputs) {
  const fs::path output = ASSAY_TRY(inputs.scratch());
  arguments.insert(arguments.begin(), {ASSAY_PROGRAM, "trace"});
  arguments.insert(arguments.end(), {"--output", output.string(), "--quiet"});
  return measure_program(arguments);
}

core::Result<Usage> report_xlsx(Inputs& inputs) {
  const fs::path trace = ASSAY_TRY(inputs.trace(60));
  return run_assay({"report", trace.string(), "--write", "xlsx"}, inputs);
}

core::Result<Usage> report_everything(Inputs& inputs) {
  const fs::path trace = ASSAY_TRY(inputs.trace(60));
  return run_assay({"report", trace.string()}, inputs);
}

core::Result<Usage> analyze_xlsx(Inputs& inputs) {
  const fs::path configuration = ASSAY_TRY(inputs.eight_ranks("ctas_default"));
  return run_assay({"analyze", configuration.string(), "--write", "xlsx"}, inputs);
}

core::Result<Usage> analyze_everything(Inputs& inputs) {
  const fs::path configuration = ASSAY_TRY(inputs.eight_ranks("ctas_default"));
  return run_assay({"analyze", configuration.string()}, inputs);
}

core::Result<Usage> collectives_xlsx(Inputs& inputs) {
  const fs::path configuration = ASSAY_TRY(inputs.many_collectives("ctas_default"));
  return run_assay({"collectives", configuration.string(), "--write", "xlsx"}, inputs);
}

core::Result<Usage> compare(Inputs& inputs, std::vector<std::string> source) {
  const fs::path baseline = ASSAY_TRY(inputs.analyzed_ranks("ctas_default"));
  const fs::path test = ASSAY_TRY(inputs.analyzed_ranks("ctas_16"));
  std::vector<std::string> arguments{"compare", "--baseline",  baseline.string(),
                                     "--test",  test.string(), "--all"};
  arguments.insert(arguments.end(), source.begin(), source.end());
  return run_assay(arguments, inputs);
}

core::Result<Usage> compare_reports(Inputs& inputs) {
  return compare(inputs, {"--skip-tracelens"});
}

core::Result<Usage> compare_traces(Inputs& inputs) {
  return compare(inputs, {});
}

}  // namespace

std::vector<Case> command_cases() {
  return {
      {"individual report, 60 MB, xlsx", report_xlsx, Target{0.6, 150}, 60},
      {"individual report, 60 MB, xlsx+csv+json", report_everything, std::nullopt, 60},
      {"step 2, 8 ranks x 8 MB, xlsx", analyze_xlsx, Target{0.8}, 60},
      {"step 2, 8 ranks x 8 MB, xlsx+csv+json", analyze_everything, Target{0.8}, 60},
      {"step 3, pair of 8 ranks, from reports", compare_reports, Target{0.15}},
      {"step 3, pair of 8 ranks, from traces", compare_traces, Target{1.0}},
      {"collectives, 9000 x 8 ranks, xlsx", collectives_xlsx, Target{1.0}},
  };
}

}  // namespace assay::bench
