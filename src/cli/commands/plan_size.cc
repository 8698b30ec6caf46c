#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_compat.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "plan/search/serving_modes.h"
#include "plan/search/size.h"

namespace assay::cli {
namespace {

class PlanSize final : public Command {
 public:
  explicit PlanSize(App& app) {
    app.add_option("--target-request-rate", size_.load.requests_per_s,
                   "requests per second that all GPUs together must serve")
        ->type_name("RATE")
        ->check(positive_number_problem);
    app.add_option("--target-concurrency", size_.load.concurrency,
                   "requests that must be in flight at once, instead of a rate")
        ->type_name("N")
        ->check(positive_number_problem);
    add_served_model(app, served_);
    add_count(app, "--most-gpus", size_.most_gpus, "GPUs that there are at most");
    add_lengths_options(app, request_.prompt_tokens, request_.output_tokens);
    add_serving_mode_options(app, mode_, decode_system_);
    add_scheduler_option(app, request_.scheduler);
    add_least_length_option(app, request_.least_length);
    add_latency_limit_options(app, request_.ttft_limit_ms, request_.tpot_limit_ms);
    app.add_option("--top-n", top_, "deployments to list, one of each worker")
        ->type_name("N")
        ->default_str("5")
        ->check(positive_number_problem);
    add_planner_compat(app, compat_,
                       {"--decode-system", "--scheduler", "--least-length", "--most-gpus"});
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if ((size_.load.requests_per_s > 0) != (size_.load.concurrency > 0)) return {};
    return core::Error{"say the load: --target-request-rate, or --target-concurrency"};
  }

  core::Result<Outcome> run() override {
    if (compat_ != PlannerCompat::kNone) {
      return search_as_public(served_, request_, {.mode = mode_, .load = size_.load, .most = top_},
                              presentation_);
    }
    PlanInputs inputs(served_.systems);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    const plan::PoolSystem system =
        ASSAY_TRY(pool_system(inputs, served_.system, served_.engine, served_.version));
    const plan::PoolSystem decode =
        ASSAY_TRY(pool_system(inputs, decode_system_.empty() ? served_.system : decode_system_,
                              served_.engine, served_.version));
    request_.engine = served_.engine;
    request_.precision = plan::served_precision(served_.engine, model.precision);
    request_.gpus_per_node = system.facts->gpus_per_node;
    request_.memory = [&](std::int64_t gpus) { return gpu_memory(*system.facts, gpus); };
    size_.searched_gpus = kSearchedNodes * system.facts->gpus_per_node;
    const auto search_at = [&](std::int64_t gpus) {
      request_.gpus = gpus;
      return plan::search_modes(model, request_, mode_, system, decode);
    };
    const plan::SizeResult result =
        ASSAY_TRY(plan::size_deployment(size_, request_, search_at, top_));
    const std::string title =
        fmt::format("{} on {}, {}, {} + {} tokens", model.name, served_.system,
                    plan::name_of(served_.engine), request_.prompt_tokens, request_.output_tokens);
    print_summary(plan::size_book(title, size_, request_, result), presentation_.summary());
    return result.meets_load ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  // A copy of prompts and decoding together takes two nodes at most.
  static constexpr std::int64_t kSearchedNodes = 2;

  ServedModel served_;
  plan::SizeRequest size_;
  plan::SearchRequest request_;
  plan::ServingMode mode_ = plan::ServingMode::kBoth;
  std::string decode_system_;
  std::uint64_t top_ = 5;
  PlannerCompat compat_ = PlannerCompat::kNone;
  Presentation presentation_;
};

const CommandSpec kPlanSize{
    .name = "plan size",
    .summary = "find the fewest GPUs that carry a load within limits",
    .description =
        "Searches the deployments of two nodes as 'assay plan search' does, and counts the copies "
        "of each that carry the load: requests per second, or requests in flight. The best of each "
        "worker that keep the limits are listed, the fewest GPUs first, with what they can carry "
        "and their mean TTFT and TPOT when they are full.\n\n"
        "--compat sizes as a public planner does (docs/compatibility.md).",
    .regression_means =
        "no deployment meets the limits, or the load needs more than --most-gpus; the closest is "
        "shown",
    .examples =
        "assay plan size --model qwen3-32b --target-request-rate 20 --tpot 30\n"
        "assay plan size --model gpt-oss-120b --target-concurrency 500 --serving-mode agg\n"
        "assay plan size --model config.json --target-request-rate 5 --backend vllm --format csv\n",
    .make = make_command<PlanSize>,
};
ASSAY_REGISTER(CommandSpec, kPlanSize);

}  // namespace
}  // namespace assay::cli
