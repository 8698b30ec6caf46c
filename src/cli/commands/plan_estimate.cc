#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "cli/workload_options.h"
#include "plan/calibrate/calibration_report.h"
#include "plan/engine.h"
#include "plan/estimate.h"
#include "plan/serve_workload.h"
#include "plan/workload_report.h"

namespace assay::cli {
namespace {

class PlanEstimate final : public Command {
 public:
  explicit PlanEstimate(App& app) {
    add_served_model(app, served_);
    add_count(app, "--tp", tp_, "GPUs that share heads and dense layers");
    add_count(app, "--dp", dp_, "groups of GPUs with requests of their own, which share experts");
    add_count(app, "--moe-ep", moe_ep_, "groups of GPUs with experts of their own");
    app.add_option("--moe-tp", moe_tp_, "GPUs that share an expert")
        ->type_name("N")
        ->default_str("the GPUs over --moe-ep")
        ->check(positive_number_problem);
    app.add_option("--batch", batch_,
                   "requests in flight, of one group of GPUs; of requests that come by themselves, "
                   "the most at once")
        ->type_name("N")
        ->default_str("16, or the engine's own limit")
        ->check(positive_number_problem);
    app.add_option("--copies", copies_, "of the model, among which requests that come are shared")
        ->type_name("N")
        ->default_str("1")
        ->check(positive_number_problem);
    add_lengths_options(app, load_.prompt_tokens, load_.output_tokens);
    add_limits_options(app, ttft_limit_ms_, tpot_limit_ms_);
    add_workload_options(app, workload_);
    add_calibration_option(app, calibration_);
    app.note_given(given_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    const std::int64_t gpus = tp_ * dp_;
    ASSAY_TRY(workload_.check());
    for (const char* name : {"--ttft", "--tpot", "--copies"}) {
      if (!workload_.is_open() && given_.contains(name)) {
        return core::Error{fmt::format(
            "{} is of requests that come by themselves: say which by --workload or --request-rate",
            name)};
      }
    }
    if (moe_tp() * moe_ep_ == gpus) return {};
    return core::Error{
        fmt::format("experts are on --moe-tp {} x --moe-ep {} GPUs, but --tp {} x --dp {} are {}",
                    moe_tp(), moe_ep_, tp_, dp_, gpus)};
  }

  core::Result<Outcome> run() override {
    PlanInputs inputs(served_.systems);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    plan::Tables& tables =
        *ASSAY_TRY(inputs.tables(served_.system, served_.engine, served_.version));
    const serving::Deployment deployment{
        .tp = tp_,
        .moe_tp = moe_tp(),
        .moe_ep = moe_ep_,
        .precision = plan::served_precision(served_.engine, model.precision),
        .distribution = model.skew};
    const auto prices = ASSAY_TRY(plan::StepPrices::bind(model, deployment, tables));
    const plan::Worker worker{.tp = tp_, .dp = dp_, .moe_tp = moe_tp(), .moe_ep = moe_ep_};
    const auto calibrated = ASSAY_TRY(read_calibration(calibration_, served_, model.name));
    model::Book book;
    Outcome outcome = Outcome::kOk;
    if (workload_.is_open()) {
      const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(served_.system));
      const plan::ServedWorker served{.engine = served_.engine,
                                      .deployment = deployment,
                                      .groups = dp_,
                                      .memory = gpu_memory(facts, worker.gpus())};
      outcome = ASSAY_TRY(add_workload(model, served, prices, calibrated.calibration(), book));
    } else {
      load_.concurrency = batch_.value_or(load_.concurrency);
      const std::string title =
          fmt::format("{}, {} requests of {} + {} tokens a group", subject(model, worker),
                      load_.concurrency, load_.prompt_tokens, load_.output_tokens);
      book = plan::estimate_book(
          prices, {.title = title, .load = load_, .calibration = calibrated.calibration()});
    }
    plan::add_calibration(calibrated, book);
    print_summary(book, presentation_.summary(), kAllRows);
    return outcome;
  }

 private:
  [[nodiscard]] std::string subject(const serving::Model& model, const plan::Worker& worker) const {
    return fmt::format("{} on {} of {}, {}", model.name, worker.text(), served_.system,
                       plan::name_of(served_.engine));
  }

  // Tables of the deployment under the workload, and the operators of its mean steps.
  core::Result<Outcome> add_workload(const serving::Model& model,
                                     const plan::ServedWorker& served,
                                     const plan::StepPrices& prices,
                                     const plan::Calibration& calibration,
                                     model::Book& book) const {
    const plan::Workload workload = ASSAY_TRY(read_workload(
        workload_, {.prompt_tokens = load_.prompt_tokens, .output_tokens = load_.output_tokens}));
    const plan::ServiceLevel level{.ttft_ms = ttft_limit_ms_, .tpot_ms = tpot_limit_ms_};
    const auto metrics = ASSAY_TRY(
        plan::serve_workload(model, served, plan::CalibratedCost(prices, calibration), workload,
                             {.copies = copies_,
                              .max_batch = batch_.value_or(0),
                              .level = plan::before_calibration(level, calibration)}));
    const plan::Worker worker{.tp = tp_, .dp = dp_, .moe_tp = moe_tp(), .moe_ep = moe_ep_};
    const std::string copies = copies_ > 1 ? fmt::format("{} copies of ", copies_) : "";
    book.title =
        fmt::format("{}{}, {}", copies, subject(model, worker), text_of(workload_, workload));
    book.tables = plan::workload_tables(metrics, {.title = book.title,
                                                  .gpus = copies_ * worker.gpus(),
                                                  .level = level,
                                                  .ttft_factor = calibration.ttft_factor});
    const plan::WorkloadLengths lengths = plan::workload_lengths(workload);
    const double batch = metrics.serving.mean_batch / static_cast<double>(dp_);
    for (model::Table& table : plan::operators_tables(
             prices, {.concurrency = std::max<std::int64_t>(1, std::llround(batch)),
                     .prompt_tokens = lengths.prompt_mean,
                     .output_tokens = lengths.output_mean}))
      book.tables.push_back(std::move(table));
    return metrics.serving.good_share >= workload_.good_share() ? Outcome::kOk
                                                                : Outcome::kRegressionFound;
  }

  [[nodiscard]] std::int64_t moe_tp() const {
    return moe_tp_.value_or(std::max<std::int64_t>(1, tp_ * dp_ / moe_ep_));
  }

  ServedModel served_;
  std::int64_t tp_ = 1;
  std::int64_t dp_ = 1;
  std::optional<std::int64_t> moe_tp_;
  std::int64_t moe_ep_ = 1;
  std::optional<std::int64_t> batch_;
  std::int64_t copies_ = 1;
  double ttft_limit_ms_ = 5000;
  double tpot_limit_ms_ = 60;
  WorkloadOptions workload_;
  std::set<std::string> given_;
  plan::SteadyLoad load_{.concurrency = 16, .prompt_tokens = 4000, .output_tokens = 1000};
  std::filesystem::path calibration_;
  Presentation presentation_;
};

const CommandSpec kPlanEstimate{
    .name = "plan estimate",
    .summary = "price one deployment, operator by operator",
    .description =
        "The time of a step that decodes, and of one that computes a prompt, as the sum of the "
        "operators that a GPU runs: how often each is launched, its time, how uncertain that is, "
        "what it moves and computes, and which measurement it comes from.\n\n"
        "'fidelity' says how near a price is to what the engine runs: 'engine' is its own table of "
        "this version, 'other version' its own of another, 'kernels' assay's measurement of the "
        "best kernel, 'other engine' another engine's, 'formula' bytes over bandwidth.\n\n"
        "TTFT and TPOT are those of a mean step under a steady load, without a queue; 'assay plan "
        "search' simulates the scheduler.\n\n"
        "With --workload or --request-rate the scheduler is simulated for requests that come by "
        "themselves: percentiles of latencies, the share of requests that keep --ttft and --tpot, "
        "and how much of the prompts was found in prefix caches.",
    .regression_means = "fewer requests than --goodput keep --ttft and --tpot",
    .examples =
        "assay plan estimate --model qwen3-32b --tp 4 --batch 64\n"
        "assay plan estimate --model gpt-oss-120b --tp 2 --format json\n"
        "assay plan estimate --model config.json --backend vllm --systems-paths systems\n"
        "assay plan estimate --model qwen3-32b --tp 2 --request-rate 2 --ttft 2000 --tpot 20\n"
        "assay plan estimate --model qwen3-32b --tp 2 --copies 2 --workload trace.jsonl\n",
    .make = make_command<PlanEstimate>,
};
ASSAY_REGISTER(CommandSpec, kPlanEstimate);

}  // namespace
}  // namespace assay::cli
