#include <fmt/core.h>

#include <filesystem>
#include <string>

#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "plan/search/search.h"
#include "plan/search/search_report.h"

namespace assay::cli {
namespace {

class PlanSearch final : public Command {
 public:
  explicit PlanSearch(App& app) {
    add_served_model(app, served_);
    add_count(app, "--gpus", request_.gpus, "GPUs of the whole deployment");
    add_lengths_options(app, request_.prompt_tokens, request_.output_tokens);
    add_calibration_option(app, calibration_);
    add_scheduler_option(app, request_.scheduler);
    add_least_length_option(app, request_.least_length);
    app.add_option("--ttft", request_.ttft_limit_ms, "most time to the first token, in ms")
        ->type_name("MS")
        ->default_str("5000")
        ->check(positive_number_problem);
    app.add_option("--tpot", request_.tpot_limit_ms, "most time for each further token, in ms")
        ->type_name("MS")
        ->default_str("60")
        ->check(positive_number_problem);
    app.add_option("--top-n", top_, "deployments to list, one of each worker")
        ->type_name("N")
        ->default_str("5")
        ->check(positive_number_problem);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    PlanInputs inputs(served_.systems);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    plan::Tables& tables =
        *ASSAY_TRY(inputs.tables(served_.system, served_.engine, served_.version));
    const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(served_.system));
    request_.engine = served_.engine;
    request_.precision = plan::served_precision(served_.engine, model.precision);
    request_.gpus_per_node = facts.gpus_per_node;
    request_.memory = [&](std::int64_t gpus) { return gpu_memory(facts, gpus); };
    request_.calibration = ASSAY_TRY(calibration_of(model.name));
    const plan::SearchResult result = ASSAY_TRY(plan::search(model, request_, tables));
    const plan::Picks picks = plan::pick(result, request_, top_);
    const std::string title = fmt::format(
        "{} on {} GPUs of {}, {}, {} + {} tokens", model.name, request_.gpus, served_.system,
        plan::name_of(served_.engine), request_.prompt_tokens, request_.output_tokens);
    print_summary(plan::search_book(title, result, request_, picks), presentation_.summary());
    return picks.meet ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  core::Result<plan::Calibration> calibration_of(const std::string& model) const {
    if (calibration_.empty()) return plan::Calibration();
    const auto entries = ASSAY_TRY(read_calibrations(calibration_));
    const std::string engine(plan::name_of(served_.engine));
    const plan::CalibrationEntry* entry =
        plan::find_calibration(entries, {engine, served_.version, model, served_.system});
    if (entry != nullptr) return entry->fitted.calibration;
    return core::Error{fmt::format("{}: no calibration of {} by {} on {}", calibration_.string(),
                                   model, engine, served_.system)};
  }

  ServedModel served_;
  std::filesystem::path calibration_;
  plan::SearchRequest request_;
  std::uint64_t top_ = 5;
  Presentation presentation_;
};

const CommandSpec kPlanSearch{
    .name = "plan search",
    .summary = "find the deployment of a model that serves most tokens within limits",
    .description =
        "Prices every way to spread the model over a worker's GPUs at every batch, simulates the "
        "engine's scheduler for those near the frontier of throughput and speed, and lists the "
        "best of each worker that keep the limits: how many copies, how many requests in flight on "
        "all of them, tokens per second of each GPU and of each user, mean TTFT and TPOT, and the "
        "memory of a GPU with the cache that the load needs.\n\n"
        "Clients keep the requests in flight; each sends the next when one ends. Workers stay "
        "within a node. What cannot be served, or has no price, is listed with the reason.",
    .regression_means = "no deployment meets the limits; the closest is shown",
    .examples =
        "assay plan search --model qwen3-32b --gpus 4\n"
        "assay plan search --model qwen3-30b-a3b --gpus 4 --ttft 500 --tpot 15 --isl 2000\n"
        "assay plan search --model config.json --gpus 32 --systems-paths systems --format csv\n",
    .make = make_command<PlanSearch>,
};
ASSAY_REGISTER(CommandSpec, kPlanSearch);

}  // namespace
}  // namespace assay::cli
