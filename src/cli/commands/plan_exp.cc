#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/searched_engines.h"
#include "cli/summary_output.h"
#include "core/file_kind.h"
#include "plan/experiments/experiments_file.h"
#include "plan/experiments/experiments_report.h"
#include "plan/search/serving_modes.h"

namespace assay::cli {
namespace {

class PlanExp final : public Command {
 public:
  explicit PlanExp(App& app) {
    app.add_option("FILE.yaml", file_, "the experiments")->type_name("FILE")->required();
    add_price_sources(app, prices_);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const auto experiments = ASSAY_TRY(plan::parse_experiments(
        ASSAY_TRY(core::read_text(file_, core::TextFormat::kYaml)), file_.string()));
    PlanInputs inputs(prices_);
    std::vector<plan::ExperimentResult> results;
    for (const plan::Experiment& one : experiments) {
      results.push_back({.experiment = one, .model = one.model});
      const core::Status done = run_one(inputs, results.back());
      if (!done.ok()) results.back().refused = done.error().message;
    }
    print_summary(plan::experiments_book("Experiments", results), presentation_.summary(),
                  kAllRows);
    const bool all_meet = std::all_of(results.begin(), results.end(),
                                      [](const plan::ExperimentResult& one) { return one.meets; });
    return all_meet ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  static core::Status run_one(PlanInputs& inputs, plan::ExperimentResult& result) {
    const plan::Experiment& asked = result.experiment;
    const serving::Model& model = *ASSAY_TRY(inputs.model(asked.model));
    result.model = model.name;
    ASSAY_TRY(plan::check_speculation(model, asked.speculation));
    const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(asked.system));
    ServedModel served;
    served.system = asked.system;
    served.version = asked.version;
    const SearchedEngines searched =
        ASSAY_TRY(searched_engines(inputs, model, {served, asked.engines, asked.decode_system}));
    result.notes = searched.notes;
    std::string beyond = context_in_words(model, asked.prompt_tokens, asked.output_tokens);
    if (!beyond.empty()) result.notes.push_back(std::move(beyond));
    std::string unfound = plan::unfound_prefixes_in_words(model.family);
    if (asked.cached_prefix > 0 && !unfound.empty()) result.notes.push_back(std::move(unfound));
    plan::SearchRequest request{
        .gpus = asked.gpus,
        .gpus_per_node = facts.gpus_per_node,
        .prompt_tokens = asked.prompt_tokens,
        .output_tokens = asked.output_tokens,
        .cached_prefix = asked.cached_prefix,
        .least_length = asked.least_length,
        .scheduler = asked.scheduler,
        .speculation = asked.speculation,
        .ttft_limit_ms = asked.ttft_limit_ms,
        .tpot_limit_ms = asked.tpot_limit_ms,
        .request_limit_ms = asked.request_limit_ms,
        .confidence = asked.confidence,
        .step_tokens = asked.step_tokens,
        .memory = [&](std::int64_t gpus) { return gpu_memory(facts, gpus); }};
    if (!request.has_tpot()) request.tpot_limit_ms = std::numeric_limits<double>::infinity();
    const plan::SearchResult found =
        ASSAY_TRY(plan::search_modes(model, request, asked.mode, searched.systems));
    plan::Picks picks = plan::pick(found, request, 1);
    if (picks.best.empty()) return core::Error{"no deployment is left"};
    result.best = picks.best.front();
    for (const plan::EngineSystems& one : searched.systems)
      if (one.engine == result.best->engine) result.version = one.system.version;
    result.meets = picks.meet;
    return {};
  }

  std::filesystem::path file_;
  PriceSources prices_;
  Presentation presentation_;
};

const CommandSpec kPlanExp{
    .name = "plan exp",
    .summary = "search the deployments of several experiments of a file, in one table",
    .description =
        "FILE.yaml has a name for each experiment, and its fields below it. Each is a search as "
        "'assay plan search' makes it; the table has the best deployment of each, and its engine, "
        "which of 'backend: any' is the best of all.\n\n"
        "Fields: model, system, backend, backend_version, gpus, isl, osl, prefix (tokens of each "
        "prompt that are in the cache), least_length, ttft, tpot, request_latency, confidence, "
        "scheduler, serving_mode, max_num_tokens (of a step, a number or a list of those to try), "
        "decode_system, speculative_tokens and acceptance_rate (a rate, or a list of one for each "
        "position). All but model have the defaults of 'assay plan search'. Files of the public "
        "planner spell some model_path, "
        "system_name, backend_name, total_gpus and nextn, with nextn_accepted for the drafts that "
        "are accepted in the mean; its list 'exps' chooses among the experiments. A field that "
        "assay does not know is an error.",
    .regression_means = "an experiment has no deployment that meets its limits",
    .examples =
        "assay plan exp experiments.yaml\n"
        "assay plan exp experiments.yaml --systems-paths systems --format csv\n",
    .make = make_command<PlanExp>,
};
ASSAY_REGISTER(CommandSpec, kPlanExp);

}  // namespace
}  // namespace assay::cli
