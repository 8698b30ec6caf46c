#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "model/serving/shipped_models.h"
#include "plan/support/support.h"
#include "plan/support/support_report.h"

namespace assay::cli {
namespace {

constexpr const char* kEveryModel = "all";

class PlanSupport final : public Command {
 public:
  explicit PlanSupport(App& app) {
    app.add_option("--model", model_,
                   "a config.json, a folder that has one, the name of a model that ships, or 'all' "
                   "of these")
        ->type_name("CONFIG")
        ->suggest(model_words_or_all())
        ->required();
    app.add_option("--system", system_, "the GPUs")
        ->type_name("NAME")
        ->suggest(shipped_words())
        ->default_str(system_);
    add_price_sources(app, prices_);
    add_choice_list(app, "--backend", engines_, engine_choices(), "the engines that serve");
    app.add_option("--backend-version", version_, "the engine's version; for one --backend")
        ->type_name("VERSION")
        ->default_str("the newest");
    app.add_option("--gpus", most_gpus_, "GPUs of the largest worker")
        ->type_name("N")
        ->default_str("those of a node")
        ->check(count_up_to(plan::kMostGpus));
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if (!version_.empty() && engines_.size() != 1)
      return core::Error{"--backend-version is of one engine: name it by --backend"};
    return {};
  }

  core::Result<Outcome> run() override {
    PlanInputs inputs(prices_);
    const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(system_));
    std::vector<plan::ModelSupport> all;
    std::map<std::string, std::string> configs;
    for (const std::string& name : model_names()) {
      const serving::Model& model = *ASSAY_TRY(inputs.model(name));
      configs[model.name] = name;
      for (const plan::Engine engine : engines()) {
        const plan::PoolSystem system = ASSAY_TRY(pool_system(inputs, system_, engine, version_));
        all.push_back(plan::support_of(
            model,
            {.engine = engine,
             .version = system.version,
             .precision = plan::served_precision(engine, model),
             .most_gpus = std::min(most_gpus_.value_or(facts.gpus_per_node), facts.gpus_per_node)},
            *system.tables));
      }
    }
    const std::string title = fmt::format("What of {} can be priced on {}", model_, system_);
    print_summary(plan::support_book(title, all, configs), presentation_.summary(), kAllRows);
    const bool is_whole = std::all_of(all.begin(), all.end(), [](const plan::ModelSupport& one) {
      return one.missing_uses() == 0;
    });
    return is_whole ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  [[nodiscard]] std::vector<std::string> model_names() const {
    if (model_ != kEveryModel) return {model_};
    std::vector<std::string> names;
    for (const serving::ShippedModel& shipped : serving::shipped_models())
      names.emplace_back(shipped.name);
    return names;
  }

  [[nodiscard]] std::vector<plan::Engine> engines() const {
    if (!engines_.empty()) return engines_;
    return {plan::kEngines.begin(), plan::kEngines.end()};
  }

  std::string model_;
  std::string system_ = "h200_sxm";
  PriceSources prices_;
  std::vector<plan::Engine> engines_;
  std::string version_;
  std::optional<std::int64_t> most_gpus_;
  Presentation presentation_;
};

const CommandSpec kPlanSupport{
    .name = "plan support",
    .summary = "tell what of a model can be priced, and the command that measures the rest",
    .description =
        "For every way to spread the model over the GPUs of a worker, asks the tables for each "
        "operator with its shape, as 'estimate' and 'search' do, and counts what prices it: the "
        "engine's own table of this version ('engine') or of another, assay's measurements of the "
        "best kernels ('kernels'), another engine's table, rows of 2 and 4 GPUs for collectives of "
        "8 "
        "('scaled'), or bytes over bandwidth ('formula', and 'lower bound' of what computes, too). "
        "What has no price is listed with the "
        "workers that need it. The 'assay collect' that measures it, and what is scaled, "
        "follows.\n\n"
        "'--model all' makes a matrix of all models that ship with assay and the engines. 'assay "
        "store needs' looks at a database of one's own instead.",
    .regression_means = "something has no price",
    .examples =
        "assay plan support --model qwen3-32b\n"
        "assay plan support --model config.json --backend vllm --systems-paths systems\n"
        "assay plan support --model all --systems-paths systems --system h100_sxm --format csv\n",
    .make = make_command<PlanSupport>,
};
ASSAY_REGISTER(CommandSpec, kPlanSupport);

}  // namespace
}  // namespace assay::cli
