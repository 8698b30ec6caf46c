#include <fmt/core.h>

#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "plan/engine.h"
#include "plan/estimate.h"

namespace assay::cli {
namespace {

class PlanEstimate final : public Command {
 public:
  explicit PlanEstimate(App& app) {
    add_served_model(app, served_);
    app.add_option("--tp", tp_, "GPUs that share heads and dense layers");
    app.add_option("--moe-tp", moe_tp_, "GPUs that share an expert");
    app.add_option("--moe-ep", moe_ep_, "groups of GPUs with experts of their own");
    app.add_option("--batch", load_.concurrency, "requests in flight");
    add_lengths_options(app, load_.prompt_tokens, load_.output_tokens);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    PlanInputs inputs(served_.systems);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    plan::Tables& tables =
        *ASSAY_TRY(inputs.tables(served_.system, served_.engine, served_.version));
    const serving::Deployment deployment{
        .tp = tp_,
        .moe_tp = moe_tp_,
        .moe_ep = moe_ep_,
        .precision = plan::served_precision(served_.engine, model.precision),
        .distribution = model.skew};
    const auto prices = ASSAY_TRY(plan::StepPrices::bind(model, deployment, tables));
    const std::string title = fmt::format("{} on {}, {}, tp {}", model.name, served_.system,
                                          plan::name_of(served_.engine), tp_);
    print_summary(plan::estimate_book(prices, {.title = title, .load = load_}),
                  presentation_.summary(), kAllRows);
    return Outcome::kOk;
  }

 private:
  ServedModel served_;
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
