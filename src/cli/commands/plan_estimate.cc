#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "cli/calibrated_pools.h"
#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_compat.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "cli/workload_options.h"
#include "plan/calibrate/calibration_report.h"
#include "plan/energy.h"
#include "plan/engine.h"
#include "plan/estimate.h"
#include "plan/estimate_disaggregated.h"
#include "plan/estimate_memory.h"
#include "plan/serve_workload.h"
#include "plan/uncertainty/step_parts.h"
#include "plan/workload_report.h"

namespace assay::cli {
namespace {

class PlanEstimate final : public Command {
 public:
  explicit PlanEstimate(App& app) {
    add_served_model(app, served_);
    add_gpus(app, "--tp", tp_, "GPUs that share heads and dense layers");
    add_gpus(app, "--dp", dp_, "groups of GPUs with requests of their own, which share experts");
    add_gpus(app, "--moe-ep", moe_ep_, "groups of GPUs with experts of their own");
    add_gpus(app, "--pp", pp_, "stages of a pipeline, each of --tp x --dp GPUs");
    app.add_option("--moe-tp", moe_tp_, "GPUs that share an expert")
        ->type_name("N")
        ->default_str("the GPUs over --moe-ep")
        ->check(count_up_to(plan::kMostGpus));
    add_pool(app, "--prefill", prefill_, "disaggregated: the instances of prompts, '3P(tp 2)'");
    add_pool(app, "--decode", decode_, "disaggregated: those that decode, '1D(tp 8)'");
    app.add_option("--decode-system", decode_system_, "disaggregated: the GPUs that decode")
        ->type_name("NAME")
        ->suggest(shipped_words())
        ->default_str("as --system");
    app.add_option("--prefill-batch", prefill_batch_,
                   "disaggregated: prompts that a group computes at once")
        ->type_name("N")
        ->default_str("1, or of requests that come by themselves the engine's own limit")
        ->check(count_up_to(plan::kMostRequests));
    app.add_option("--batch", batch_,
                   "requests in flight, of one group of GPUs; disaggregated: that decode; of "
                   "requests that come by themselves: the most at once")
        ->type_name("N")
        ->default_str("16, or the engine's own limit")
        ->check(count_up_to(plan::kMostRequests));
    app.add_option("--copies", copies_, "of the model, among which requests that come are shared")
        ->type_name("N")
        ->default_str("1")
        ->check(count_up_to(plan::kMostGpus));
    add_lengths_options(app, load_.prompt_tokens, load_.output_tokens);
    add_prefix_option(app, load_.cached_prefix);
    speculation_.add(app);
    limits_.add(app);
    add_least_length_option(app, least_length_);
    add_workload_options(app, workload_);
    add_calibration_option(app, calibration_);
    add_planner_compat(app, compat_,
                       {"--prefill", "--decode", "--decode-system", "--prefill-batch", "--copies",
                        "--pp", "--request-latency", "--store", "--workload", "--request-rate",
                        "--calibration", "--least-length", "--kv-cache-dtype"});
    app.note_given(given_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if (prefill_.empty() != decode_.empty()) {
      return core::Error{prefill_.empty() ? "--decode needs --prefill: the instances of prompts"
                                          : "--prefill needs --decode: the instances that decode"};
    }
    if (is_disaggregated() && (tp_ != 1 || dp_ != 1 || moe_ep_ != 1 || moe_tp_ || pp_ != 1)) {
      return core::Error{
          "--prefill and --decode have the widths, and stages as in '1P(tp 8, pp 2)': leave out "
          "--tp, --dp, --pp, --moe-tp and --moe-ep"};
    }
    if (is_disaggregated() && !workload_.is_open() && load_.cached_prefix > 0)
      return core::Error{
          "--prefix of a disaggregated deployment is priced under a load: 'assay plan search "
          "--serving-mode disagg', or --request-rate here"};
    ASSAY_TRY(check_prefix(load_.cached_prefix, load_.prompt_tokens));
    ASSAY_TRY(speculation_.check());
    if (pp_ > 1 && speculation_.is_given())
      return core::Error{"--speculative-tokens is not priced with the stages of --pp"};
    const std::int64_t gpus = tp_ * dp_;
    ASSAY_TRY(workload_.check());
    for (const char* name :
         {"--ttft", "--tpot", "--request-latency", "--copies", "--least-length"}) {
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
    if (compat_ != PlannerCompat::kNone) {
      load_.concurrency = batch_.value_or(load_.concurrency);
      return estimate_as_public(served_, worker(), load_, speculation_, presentation_);
    }
    PlanInputs inputs(served_.prices);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    warn_of_version(served_, calibration_);
    drop_unfound_prefix(model, load_.cached_prefix);
    if (!workload_.is_open()) warn_of_context(model, load_.prompt_tokens, load_.output_tokens);
    const plan::Speculation speculation = ASSAY_TRY(speculation_.speculation(model));
    load_.speculation = speculation;
    if (workload_.is_open()) {
      requests_ = ASSAY_TRY(read_workload(workload_, {.prompt_tokens = load_.prompt_tokens,
                                                      .output_tokens = load_.output_tokens,
                                                      .least_length = least_length_,
                                                      .prefix_tokens = load_.cached_prefix}));
    }
    if (is_disaggregated()) return run_disaggregated(inputs, model);
    const plan::PoolSystem system =
        ASSAY_TRY(pool_system(inputs, served_.system, served_.engine, served_.version));
    inputs.warn_of_lacking_model(served_.engine, system.version, model);
    const serving::Deployment deployment{
        .tp = tp_,
        .moe_tp = moe_tp(),
        .moe_ep = moe_ep_,
        .precision = plan::served_precision(served_.engine, model, served_.cache),
        .distribution = model.skew,
        .speculative_tokens = speculation.tokens,
        .most_tokens = workload_.is_open() ? plan::workload_lengths(requests_).request_most
                                           : load_.prompt_tokens + load_.output_tokens,
        .head_norm = plan::head_norm_of(served_.engine, system.version)};
    ASSAY_TRY(check_experts(model));
    ASSAY_TRY(plan::check_worker(model, served_.engine, deployment.precision, worker()));
    const auto prices = ASSAY_TRY(plan::StepPrices::bind(model, deployment, *system.tables));
    const auto calibrated = ASSAY_TRY(read_calibration(calibration_, served_, model.name));
    const store::SystemFacts& facts = *system.facts;
    const plan::Pipeline pipeline =
        ASSAY_TRY(plan::pipeline_of(model, worker(), facts.gpus_per_node, [&](std::int64_t gpus) {
          return plan::stage_link(facts, gpus);
        }));
    const plan::ServedWorker served{.engine = served_.engine,
                                    .deployment = deployment,
                                    .groups = dp_,
                                    .memory = gpu_memory(facts, worker().gpus()),
                                    .pp = pp_,
                                    .speculation = speculation,
                                    .kept = plan::kept_cache(served_.engine, system.version,
                                                             plan::Caches::kStay, model.family)};
    model::Book book;
    Outcome outcome = Outcome::kOk;
    if (workload_.is_open()) {
      outcome =
          ASSAY_TRY(add_workload(model, served, prices, pipeline, calibrated.calibration(), book));
    } else {
      load_.concurrency = batch_.value_or(load_.concurrency);
      book = ASSAY_TRY(steady_book(model, served, prices, pipeline, calibrated, facts));
    }
    add_cache_note(model, book);
    plan::add_calibration(calibrated, book);
    print_summary(book, presentation_.summary(), kAllRows);
    return outcome;
  }

 private:
  void add_cache_note(const serving::Model& model, model::Book& book) const {
    const plan::EngineCache kept{
        served_.engine, plan::served_precision(served_.engine, model, served_.cache).cache};
    plan::add_note(plan::cache_types_in_words(model, std::span(&kept, 1)), book.tables.front());
  }

  // Experts are nothing that a dense model has.
  [[nodiscard]] core::Status check_experts(const serving::Model& model) const {
    if (model.has_experts() || (moe_ep_ == 1 && !moe_tp_)) return {};
    return core::Error{fmt::format("{} has no experts: no --moe-tp, no --moe-ep", model.name)};
  }

  // std::nullopt: the load does not fit, which the rest of the answer does not need.
  [[nodiscard]] std::optional<double> benchmark_ttft_ms(
      const serving::Model& model,
      const plan::ServedWorker& served,
      const plan::StepCost& cost,
      const plan::Calibration& calibration) const {
    plan::ClosedLoop loop = steady_loop(served);
    loop.client_ms = plan::benchmark_client_ms(calibration);
    const auto metrics = plan::serve(model, served, plan::CalibratedCost(cost, calibration), loop);
    if (!metrics.ok()) return std::nullopt;
    return calibration.ttft_factor * metrics.value().ttft_ms.mean;
  }

  // Returns the load of a deployment, of which each batch has as many requests of nominal lengths.
  [[nodiscard]] plan::ClosedLoop steady_loop(const plan::ServedWorker& served) const {
    return {.concurrency = load_.concurrency * served.batches(),
            .prompt_tokens = load_.prompt_tokens,
            .output_tokens = load_.output_tokens,
            .prefix_tokens = load_.cached_prefix};
  }

  [[nodiscard]] plan::Worker worker() const {
    return {.tp = tp_, .dp = dp_, .moe_tp = moe_tp(), .moe_ep = moe_ep_, .pp = pp_};
  }

  [[nodiscard]] std::string subject(const serving::Model& model) const {
    plan::Worker named = worker();
    if (!model.has_experts()) named.moe_tp = named.tp;
    return fmt::format("{} on {} of {}, {}", model.name, named.text(), served_.system,
                       plan::name_of(served_.engine));
  }

  // Returns the tables of a steady load, which has to fit into the deployment's memory.
  [[nodiscard]] core::Result<model::Book> steady_book(const serving::Model& model,
                                                      plan::ServedWorker served,
                                                      const plan::StepPrices& prices,
                                                      const plan::Pipeline& pipeline,
                                                      const plan::UsedCalibration& calibrated,
                                                      const store::SystemFacts& facts) const {
    served.max_batch = load_.concurrency;
    const plan::HeldLoad held{load_.concurrency, load_.prompt_tokens, load_.output_tokens,
                              load_.cached_prefix};
    ASSAY_TRY(plan::check_held(
        model, served, held, [&](std::int64_t gpus) { return gpu_memory(facts, gpus); },
        facts.gpus_per_node));
    model::Table memory = plan::memory_table(model, served, held, "Memory of a GPU");
    for (const std::string& note : memory.notes)
      print_warning(note);
    return plan::estimate_book(
        prices, {.title = fmt::format("{}, {} requests of {} + {} tokens a group", subject(model),
                                      load_.concurrency, load_.prompt_tokens, load_.output_tokens),
                 .worker = served,
                 .loop = steady_loop(served),
                 .pipeline = pipeline,
                 .calibration = calibrated.calibration(),
                 .calibration_errors = calibrated.errors(),
                 .gpus_of_stage = tp_,
                 .benchmark_ttft_ms = benchmark_ttft_ms(
                     model, served, plan::StagedCost(prices, pipeline), calibrated.calibration()),
                 .memory = std::move(memory)});
  }

  // Tables of the deployment under the workload, and the operators of its mean steps.
  core::Result<Outcome> add_workload(const serving::Model& model,
                                     const plan::ServedWorker& served,
                                     const plan::StepPrices& prices,
                                     const plan::Pipeline& pipeline,
                                     const plan::Calibration& calibration,
                                     model::Book& book) const {
    const plan::Workload& workload = requests_;
    warn_of_requests(model, workload);
    const plan::ServiceLevel level = limits_.level();
    const plan::StagedCost staged(prices, pipeline);
    plan::StepLog steps;
    const auto metrics = ASSAY_TRY(
        plan::serve_workload(model, served, plan::CalibratedCost(staged, calibration), workload,
                             {.copies = copies_,
                              .max_batch = batch_.value_or(0),
                              .level = plan::before_calibration(level, calibration),
                              .steps = &steps}));
    const std::string copies = copies_ > 1 ? fmt::format("{} copies of ", copies_) : "";
    book.title = fmt::format("{}{}, {}", copies, subject(model), text_of(workload_, workload));
    book.tables = plan::workload_tables(metrics, {.title = book.title,
                                                  .gpus = copies_ * worker().gpus(),
                                                  .level = level,
                                                  .ttft_factor = calibration.ttft_factor});
    if (served.speculation.tokens > 0)
      book.tables.front().notes.push_back(plan::speculation_note(served.speculation));
    plan::add_energy(plan::energy_of_run({&prices, &steps, tp_}, plan::served_requests(workload)),
                     book);
    const plan::WorkloadLengths lengths = plan::workload_lengths(workload);
    const double batch = metrics.serving.mean_batch / static_cast<double>(dp_ * pp_);
    const plan::SteadyLoad mean{.concurrency = std::max<std::int64_t>(1, std::llround(batch)),
                                .prompt_tokens = lengths.prompt_mean,
                                .output_tokens = lengths.output_mean,
                                .speculation = served.speculation};
    plan::add_note(plan::bound_note(plan::parts_of_load(plan::costs_of_load(prices, mean)).mean),
                   book.tables.front());
    for (model::Table& table : plan::operators_tables(prices, mean))
      book.tables.push_back(std::move(table));
    return metrics.serving.good_share >= workload_.good_share() ? Outcome::kOk
                                                                : Outcome::kRegressionFound;
  }

  static void add_pool(App& app, const char* name, std::string& text, const char* help) {
    app.add_option(name, text, help)->type_name("WORKERS");
  }

  [[nodiscard]] bool is_disaggregated() const { return !prefill_.empty(); }

  core::Result<Outcome> run_disaggregated(PlanInputs& inputs, const serving::Model& model) const {
    const CalibratedPools pools =
        ASSAY_TRY(calibrated_pools(inputs, served_, decode_system_, calibration_, model.name));
    plan::PoolsEstimate request{.engine = served_.engine,
                                .prefill = ASSAY_TRY(plan::parse_pool(prefill_)),
                                .decode = ASSAY_TRY(plan::parse_pool(decode_)),
                                .prefill_system = pools.system,
                                .decode_system = pools.decode_system,
                                .prefill_batch = prefill_batch_.value_or(1),
                                .decode_batch = batch_.value_or(load_.concurrency),
                                .prompt_tokens = load_.prompt_tokens,
                                .output_tokens = load_.output_tokens,
                                .speculation = load_.speculation,
                                .cache = served_.cache};
    inputs.warn_of_lacking_model(served_.engine, pools.system.version, model);
    if (speculation_.is_given() && request.prefill.worker.pp * request.decode.worker.pp > 1)
      return core::Error{"--speculative-tokens is not priced with stages"};
    const std::string subject = fmt::format(
        "{} on {}P({}) of {} + {}D({}) of {}, {}", model.name, request.prefill.instances,
        request.prefill.worker.text(), served_.system, request.decode.instances,
        request.decode.worker.text(), decode_system_.empty() ? served_.system : decode_system_,
        plan::name_of(served_.engine));
    if (workload_.is_open()) return run_pools_workload(model, pools, request, subject);
    request.title = fmt::format("{}, {} requests of {} + {} tokens a group that decodes", subject,
                                request.decode_batch, request.prompt_tokens, request.output_tokens);
    model::Book book = ASSAY_TRY(plan::estimate_disaggregated_book(model, request));
    add_cache_note(model, book);
    pools.add_calibrations(book);
    print_summary(book, presentation_.summary(), kAllRows);
    return Outcome::kOk;
  }

  core::Result<Outcome> run_pools_workload(const serving::Model& model,
                                           const CalibratedPools& pools,
                                           plan::PoolsEstimate request,
                                           const std::string& subject) const {
    const plan::Workload& workload = requests_;
    warn_of_requests(model, workload);
    const std::string copies = copies_ > 1 ? fmt::format("{} copies of ", copies_) : "";
    request.title = fmt::format("{}{}, {}", copies, subject, text_of(workload_, workload));
    auto made =
        ASSAY_TRY(plan::estimate_pools_workload(model, request,
                                                {.workload = workload,
                                                 .copies = copies_,
                                                 .most_batch = batch_.value_or(0),
                                                 .most_prefill_batch = prefill_batch_.value_or(0),
                                                 .level = limits_.level()}));
    if (speculation_.is_given())
      made.book.tables.front().notes.push_back(plan::speculation_note(load_.speculation));
    add_cache_note(model, made.book);
    pools.add_calibrations(made.book);
    print_summary(made.book, presentation_.summary(), kAllRows);
    return made.good_share >= workload_.good_share() ? Outcome::kOk : Outcome::kRegressionFound;
  }

  [[nodiscard]] std::int64_t moe_tp() const {
    return moe_tp_.value_or(std::max<std::int64_t>(1, tp_ * dp_ / moe_ep_));
  }

  ServedModel served_;
  std::int64_t tp_ = 1;
  std::int64_t dp_ = 1;
  std::optional<std::int64_t> moe_tp_;
  std::int64_t moe_ep_ = 1;
  std::int64_t pp_ = 1;
  std::optional<std::int64_t> batch_;
  std::int64_t copies_ = 1;
  LatencyLimitOptions limits_;
  double least_length_ = 0.8;
  WorkloadOptions workload_;
  plan::Workload requests_;  // of the workload, where there is one
  std::set<std::string> given_;
  std::string prefill_;
  std::string decode_;
  std::string decode_system_;
  std::optional<std::int64_t> prefill_batch_;
  plan::SteadyLoad load_{.concurrency = 16, .prompt_tokens = 4000, .output_tokens = 1000};
  SpeculationOptions speculation_;
  std::filesystem::path calibration_;
  PlannerCompat compat_ = PlannerCompat::kNone;
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
        "best kernel, 'other engine' another engine's, 'scaled' rows of 2 and 4 GPUs for "
        "collectives "
        "of 8, 'links' those of a node and the links between nodes, 'formula' bytes over "
        "bandwidth, "
        "'lower bound' the same of what computes, too.\n\n"
        "The memory of a GPU follows, with how many requests its cache holds; a worker that holds "
        "none is an error, which names the least that does.\n\n"
        "TTFT and TPOT are those of a mean step under a steady load, without a queue; 'assay plan "
        "search' simulates the scheduler.\n\n"
        "With --workload or --request-rate the scheduler is simulated for requests that come by "
        "themselves: percentiles of latencies, the share of requests that keep --ttft and --tpot, "
        "and how much of the prompts was found in prefix caches. With --conversation-num these "
        "requests are the turns of conversations, each with all that was said before it.\n\n"
        "--prefill and --decode price a disaggregated deployment, in the words in which 'assay "
        "plan "
        "search' prints it: prompts, the transfer of their caches, steps that decode, and which of "
        "the two pools bounds it.\n\n"
        "With --speculative-tokens a step verifies what the model's own layers drafted "
        "(multi-token "
        "prediction) and drafts again; --acceptance-rate says how much of it comes out. Times, and "
        "TPOT, are then of that (docs/plan.md).\n\n"
        "Where the rows that price it tell their power, the energy of a step, a request and an "
        "output "
        "token follows, with the share of the time that it is of.\n\n"
        "--compat answers as a public planner does: static batching operator by operator, "
        "continuous batching by its closed form, and its estimate of memory "
        "(docs/compatibility.md).",
    .regression_means = "fewer requests than --goodput keep --ttft and --tpot",
    .examples =
        "assay plan estimate --model qwen3-32b --tp 4 --batch 64\n"
        "assay plan estimate --model gpt-oss-120b --tp 2 --format json\n"
        "assay plan estimate --model qwen3-32b --prefill '3P(tp 1)' --decode '1D(tp 4)' --batch "
        "64\n"
        "assay plan estimate --model config.json --backend vllm --systems-paths systems\n"
        "assay plan estimate --model deepseek-v3 --tp 8 --speculative-tokens 2 --acceptance-rate "
        "0.8\n"
        "assay plan estimate --model qwen3-32b --tp 2 --request-rate 2 --ttft 2000 --tpot 20\n"
        "assay plan estimate --model qwen3-32b --tp 2 --copies 2 --workload trace.jsonl\n"
        "assay plan estimate --model qwen3-32b --prefill '2P(tp 1)' --decode '1D(tp 2)' "
        "--request-rate 3\n"
        "assay plan estimate --model qwen3-8b --conversation-num 200 --conversation-turn-mean 5 "
        "\\\n"
        "    --conversation-turn-delay-mean 2000 --num-clients 40 --isl 500 --osl 200\n",
    .make = make_command<PlanEstimate>,
};
ASSAY_REGISTER(CommandSpec, kPlanEstimate);

}  // namespace
}  // namespace assay::cli
