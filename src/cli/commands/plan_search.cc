#include <fmt/core.h>

#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "plan/search/search.h"
#include "plan/search/search_report.h"
#include "plan/search/serving_modes.h"

namespace assay::cli {
namespace {

class PlanSearch final : public Command {
 public:
  explicit PlanSearch(App& app) {
    add_served_model(app, served_);
    add_count(app, "--gpus", request_.gpus, "GPUs of the whole deployment");
    add_lengths_options(app, request_.prompt_tokens, request_.output_tokens);
    add_serving_mode_options(app, mode_, decode_system_);
    add_scheduler_option(app, request_.scheduler);
    add_least_length_option(app, request_.least_length);
    add_latency_limit_options(app, request_.ttft_limit_ms, request_.tpot_limit_ms);
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
    const plan::PoolSystem system{&facts, &tables};
    const plan::PoolSystem decode =
        ASSAY_TRY(pool_system(inputs, decode_system_.empty() ? served_.system : decode_system_,
                              served_.engine, served_.version));
    const plan::SearchResult result =
        ASSAY_TRY(plan::search_modes(model, request_, mode_, system, decode));
    const plan::Picks picks = plan::pick(result, request_, top_);
    const std::string title = fmt::format(
        "{} on {} GPUs of {}, {}, {} + {} tokens", model.name, request_.gpus, served_.system,
        plan::name_of(served_.engine), request_.prompt_tokens, request_.output_tokens);
    print_summary(plan::search_book(title, result, request_, picks), presentation_.summary());
    return picks.meet ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  ServedModel served_;
  plan::SearchRequest request_;
  plan::ServingMode mode_ = plan::ServingMode::kBoth;
  std::string decode_system_;
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
        "In disaggregated deployments some instances compute prompts and send their caches to "
        "others, which decode: a copy '3P(tp 2) + 1D(tp 8)' has three of the ones, on 2 GPUs each, "
        "and one of the others, on 8. --serving-mode leaves out one kind or the other.\n\n"
        "Clients keep the requests in flight; each sends the next when one ends. Workers stay "
        "within a node. What cannot be served, or has no price, is listed with the reason.",
    .regression_means = "no deployment meets the limits; the closest is shown",
    .examples =
        "assay plan search --model qwen3-32b --gpus 4\n"
        "assay plan search --model qwen3-30b-a3b --gpus 4 --ttft 500 --tpot 15 --isl 2000\n"
        "assay plan search --model qwen3-32b --gpus 16 --serving-mode disagg --ttft 1000\n"
        "assay plan search --model config.json --gpus 32 --systems-paths systems --format csv\n",
    .make = make_command<PlanSearch>,
};
ASSAY_REGISTER(CommandSpec, kPlanSearch);

}  // namespace
}  // namespace assay::cli
