#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/summary_output.h"
#include "plan/engine.h"
#include "plan/estimate.h"

namespace assay::cli {
namespace {

inline const Choices<plan::Engine> kEngines{{"trtllm", plan::Engine::kTrtllm},
                                            {"vllm", plan::Engine::kVllm},
                                            {"sglang", plan::Engine::kSglang}};

class PlanEstimate final : public Command {
 public:
  explicit PlanEstimate(App& app) {
    app.add_option("--model", model_, "a config.json, or the name of a model")->required();
    app.add_option("--system", system_, "the GPUs");
    app.add_option("--systems-paths", systems_, "a folder of systems: NAME.yaml, and its tables")
        ->type_name("DIR");
    add_choice(app, "--backend", engine_, kEngines, "the engine");
    app.add_option("--backend-version", version_, "of the engine");
    app.add_option("--tp", tp_, "GPUs that share heads and dense layers");
    app.add_option("--moe-tp", moe_tp_, "GPUs that share an expert");
    app.add_option("--moe-ep", moe_ep_, "groups of GPUs with experts of their own");
    app.add_option("--batch", load_.concurrency, "requests in flight");
    app.add_option("--isl", load_.prompt_tokens, "tokens of a prompt");
    app.add_option("--osl", load_.output_tokens, "tokens of an answer");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    PlanInputs inputs(systems_);
    const serving::Model& model = *ASSAY_TRY(inputs.model(model_));
    plan::Tables& tables = *ASSAY_TRY(inputs.tables(system_, engine_, version_));
    const serving::Deployment deployment{
        .tp = tp_,
        .moe_tp = moe_tp_,
        .moe_ep = moe_ep_,
        .precision = plan::served_precision(engine_, model.precision),
        .distribution = model.skew};
    const auto prices = ASSAY_TRY(plan::StepPrices::bind(model, deployment, tables));
    const std::string title =
        fmt::format("{} on {}, {}, tp {}", model.name, system_, plan::name_of(engine_), tp_);
    print_summary(plan::estimate_book(prices, {.title = title, .load = load_}),
                  presentation_.summary(), kAllRows);
    return Outcome::kOk;
  }

 private:
  std::string model_;
  std::string system_ = "h200_sxm";
  std::filesystem::path systems_;
  plan::Engine engine_ = plan::Engine::kTrtllm;
  std::string version_;
  std::int64_t tp_ = 1;
  std::int64_t moe_tp_ = 1;
  std::int64_t moe_ep_ = 1;
  plan::SteadyLoad load_{.concurrency = 16, .prompt_tokens = 4000, .output_tokens = 1000};
  Presentation presentation_;
};

const CommandSpec kPlanEstimate{
    .name = "plan estimate",
    .summary = "price one deployment, operator by operator",
    .make = make_command<PlanEstimate>,
};
ASSAY_REGISTER(CommandSpec, kPlanEstimate);

}  // namespace
}  // namespace assay::cli
