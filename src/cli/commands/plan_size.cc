#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_compat.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/searched_engines.h"
#include "cli/summary_output.h"
#include "cli/workload_options.h"
#include "plan/search/serving_modes.h"
#include "plan/search/size.h"
#include "plan/search/workload_search.h"

namespace assay::cli {
namespace {

std::string rate_problem(const std::string& text) {
  const std::optional<double> rate = finite_number(text);
  if (rate && *rate > 0 && *rate <= plan::kMostRequests) return "";
  return fmt::format("'{}' is not a number above 0 and up to {}", text, plan::kMostRequests);
}

class PlanSize final : public Command {
 public:
  explicit PlanSize(App& app) {
    app.add_option("--target-request-rate", size_.load.requests_per_s,
                   "requests per second that all GPUs together must serve")
        ->type_name("RATE")
        ->check(rate_problem);
    app.add_option("--target-concurrency", size_.load.concurrency,
                   "requests that must be in flight at once, instead of a rate")
        ->type_name("N")
        ->check(count_up_to(plan::kMostRequests));
    add_searched_model(app, served_, engines_);
    add_gpus(app, "--most-gpus", size_.most_gpus, "GPUs that there are at most");
    add_lengths_options(app, request_.prompt_tokens, request_.output_tokens);
    add_prefix_option(app, request_.cached_prefix);
    speculation_.add(app);
    add_serving_mode_options(app, mode_, decode_system_);
    add_scheduler_option(app, request_.scheduler);
    add_least_length_option(app, request_.least_length);
    limits_.add(app);
    add_confidence_option(app, confidence_,
                          "the chance with which limits must be kept, as error bars have it");
    add_workload_options(app, workload_);
    add_calibration_option(app, calibration_);
    add_gpus(app, "--max-pp", request_.most_stages, "most pipeline stages of a worker");
    add_max_nodes_option(app, request_.most_nodes);
    app.add_option("--top-n", top_, "deployments to list, one of each worker")
        ->type_name("N")
        ->default_str("5")
        ->check(positive_number_problem);
    add_planner_compat(
        app, compat_,
        {"--decode-system", "--scheduler", "--least-length", "--most-gpus", "--confidence",
         "--request-latency", "--store", "--workload", "--request-rate", "--conversation-num",
         "--calibration", "--max-pp", "--max-nodes", "--kv-cache-dtype"});
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    ASSAY_TRY(workload_.check());
    ASSAY_TRY(check_confidence(confidence_, workload_.is_open()));
    ASSAY_TRY(check_staged_drafts(speculation_, request_.most_stages));
    ASSAY_TRY(check_several_engines(engines_, served_, compat_));
    ASSAY_TRY(check_prefix(request_.cached_prefix, request_.prompt_tokens));
    const int loads = static_cast<int>(size_.load.requests_per_s > 0) +
                      static_cast<int>(size_.load.concurrency > 0) +
                      static_cast<int>(workload_.is_open());
    if (loads == 1) return {};
    return core::Error{
        "say the load, in one way: --target-request-rate or --target-concurrency, which full "
        "deployments carry in the long run, or requests that come by themselves (--workload, "
        "--request-rate, --conversation-num)"};
  }

  core::Result<Outcome> run() override {
    served_.engine = engines_.front();
    limits_.set(request_);
    if (compat_ != PlannerCompat::kNone) {
      return search_as_public(
          served_, request_,
          {.mode = mode_, .load = size_.load, .most = top_, .drafts = speculation_}, presentation_);
    }
    PlanInputs inputs(served_.prices);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    warn_of_version(served_, calibration_);
    drop_unfound_prefix(model, request_.cached_prefix);
    if (!workload_.is_open())
      warn_of_context(model, request_.prompt_tokens, request_.output_tokens);
    request_.speculation = ASSAY_TRY(speculation_.speculation(model));
    const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(served_.system));
    const SearchedEngines searched = ASSAY_TRY(
        searched_engines(inputs, model, {served_, engines_, decode_system_, calibration_}));
    request_.gpus_per_node = facts.gpus_per_node;
    request_.memory = [&](std::int64_t gpus) { return gpu_memory(facts, gpus); };
    request_.link = [&](std::int64_t gpus) { return plan::stage_link(facts, gpus); };
    request_.top = top_;
    request_.confidence = chance_of(confidence_);
    size_.searched_gpus = kSearchedNodes * facts.gpus_per_node;
    request_.gpus = std::min(size_.searched_gpus, size_.most_gpus);
    request_.most_copy_gpus = size_.searched_gpus;
    size_.names_engines = engines_.size() > 1;
    return workload_.is_open() ? run_workload(model, searched) : run_load(model, searched);
  }

 private:
  core::Result<Outcome> run_load(const serving::Model& model,
                                 const SearchedEngines& engines) const {
    plan::DeploymentCurves curves;
    if (mode_ != plan::ServingMode::kDisaggregated)
      curves = ASSAY_TRY(plan::curves_of_engines(model, request_, engines.systems));
    plan::SizeInputs sized{.curves = curves.curves};
    if (mode_ != plan::ServingMode::kAggregated) {
      sized.split_at = [&](std::int64_t gpus) {
        plan::SearchRequest request = request_;
        request.gpus = gpus;
        return plan::search_modes(model, request, plan::ServingMode::kDisaggregated,
                                  engines.systems);
      };
    }
    plan::SizeResult result = ASSAY_TRY(plan::size_deployment(size_, request_, sized, top_));
    result.notes.insert(result.notes.end(), curves.notes.begin(), curves.notes.end());
    result.notes.insert(result.notes.end(), engines.notes.begin(), engines.notes.end());
    const std::string title =
        fmt::format("{} on {}, {}, {} + {} tokens", model.name, served_.system, names_of(engines_),
                    request_.prompt_tokens, request_.output_tokens);
    model::Book book = plan::size_book(title, size_, request_, result);
    add_speculation_note(book);
    engines.add_calibrations(book);
    print_summary(book, presentation_.summary());
    return result.meets_load ? Outcome::kOk : Outcome::kRegressionFound;
  }

  core::Result<Outcome> run_workload(const serving::Model& model,
                                     const SearchedEngines& engines) const {
    const plan::Workload workload =
        ASSAY_TRY(read_workload(workload_, {.prompt_tokens = request_.prompt_tokens,
                                            .output_tokens = request_.output_tokens,
                                            .least_length = request_.least_length,
                                            .prefix_tokens = request_.cached_prefix}));
    warn_of_requests(model, workload);
    const plan::WorkloadLimits limits{.level = limits_.level(),
                                      .good_share = workload_.good_share(),
                                      .most_gpus = size_.most_gpus};
    auto found =
        ASSAY_TRY(plan::size_workload(model, request_, workload, limits, mode_, engines.systems));
    found.names_engines = size_.names_engines;
    found.notes.insert(found.notes.end(), engines.notes.begin(), engines.notes.end());
    const plan::WorkloadCandidate& shown = found.best.empty() ? found.closest : found.best.front();
    warn_of_short_run(workload_, shown.metrics.serving.latency_ms.mean);
    const std::string title = fmt::format("{} on {}, {}, {}", model.name, served_.system,
                                          names_of(engines_), text_of(workload_, workload));
    model::Book book = plan::workload_size_book(title, found, limits);
    book.tables.front().notes.push_back(title);
    add_speculation_note(book);
    engines.add_calibrations(book);
    print_summary(book, presentation_.summary());
    return found.best.empty() ? Outcome::kRegressionFound : Outcome::kOk;
  }

  void add_speculation_note(model::Book& book) const {
    if (speculation_.is_given())
      book.tables.front().notes.push_back(plan::speculation_note(request_.speculation));
  }

  // A copy of prompts and decoding together takes two nodes at most.
  static constexpr std::int64_t kSearchedNodes = 2;

  ServedModel served_;
  std::vector<plan::Engine> engines_ = {plan::Engine::kTrtllm};
  plan::SizeRequest size_;
  plan::SearchRequest request_;
  LatencyLimitOptions limits_;
  std::optional<double> confidence_;
  WorkloadOptions workload_;
  std::filesystem::path calibration_;
  plan::ServingMode mode_ = plan::ServingMode::kBoth;
  std::string decode_system_;
  SpeculationOptions speculation_;
  std::uint64_t top_ = 5;
  PlannerCompat compat_ = PlannerCompat::kNone;
  Presentation presentation_;
};

const CommandSpec kPlanSize{
    .name = "plan size",
    .summary = "find the fewest GPUs that carry a load within limits",
    .description =
        "Of every worker the least copies that carry the load (requests per second, or requests "
        "in flight) within the limits, found by simulating what the closed form points at; of "
        "disaggregated deployments, in copies within two nodes, those that a search of as many "
        "GPUs simulates. The fewest GPUs come first, with what they can carry and their mean TTFT "
        "and TPOT in the long run. --backend any sizes all engines and lists the fewest GPUs of "
        "any.\n\n"
        "A limit counts as kept where a measurement keeps it with a chance of --confidence, as the "
        "error bar of the prediction has it.\n\n"
        "With --workload, --request-rate or --conversation-num requests come by themselves, and "
        "the least copies are those with which --goodput percent of them keep --ttft and "
        "--tpot.\n\n"
        "--speculative-tokens has the model's own layers draft tokens, of which --acceptance-rate "
        "come out, as in 'assay plan search'.\n\n"
        "--compat sizes as a public planner does (docs/compatibility.md).",
    .regression_means =
        "no deployment meets the limits, or the load needs more than --most-gpus; the closest is "
        "shown",
    .examples =
        "assay plan size --model qwen3-32b --target-request-rate 20 --tpot 30\n"
        "assay plan size --model gpt-oss-120b --target-concurrency 500 --serving-mode agg\n"
        "assay plan size --model qwen3-32b --workload trace.jsonl --goodput 95 --ttft 500\n"
        "assay plan size --model deepseek-v3 --target-request-rate 5 --speculative-tokens 2 \\\n"
        "    --acceptance-rate 0.8\n"
        "assay plan size --model config.json --target-request-rate 5 --backend vllm --format csv\n"
        "assay plan size --model qwen3-32b --target-request-rate 20 --backend any\n",
    .make = make_command<PlanSize>,
};
ASSAY_REGISTER(CommandSpec, kPlanSize);

}  // namespace
}  // namespace assay::cli
