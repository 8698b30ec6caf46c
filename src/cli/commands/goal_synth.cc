#include <fmt/core.h>

#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "cli/command.h"
#include "cli/goal_outputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/summary_output.h"
#include "cli/table_times.h"
#include "cli/trace_options.h"
#include "goal/chakra/write_traces.h"
#include "goal/generate.h"
#include "goal/synth/serving_step.h"
#include "goal/synth/training.h"

namespace assay::cli {
namespace {

enum class StepKind : std::uint8_t { kTraining, kPrefill, kDecode };

constexpr const char* kTraining = "A training step";
constexpr const char* kServing = "A step of a served model";

// The longest lists of a step's operators.
constexpr std::size_t kShownRows = 60;

class GoalSynth final : public Command {
 public:
  explicit GoalSynth(App& app) {
    app.add_option("--model", model_,
                   "its config.json, a folder with one, or the name of a model that ships")
        ->type_name("MODEL")
        ->required();
    const Choices<StepKind> kinds{{"training", StepKind::kTraining},
                                  {"prefill", StepKind::kPrefill},
                                  {"decode", StepKind::kDecode}};
    add_choice(app, "--of", kind_, kinds, "what the step does: train, compute prompts, or decode");
    add_schedule_folder(app, request_);
    app.add_flag("--plan-only", plan_only_, "show what would be made; write nothing");
    add_made_form(app, form_,
                  {MadeForm::kText, MadeForm::kBinary, MadeForm::kJob, MadeForm::kChakra});
    add_deployment(app);
    add_training(app);
    add_serving(app);
    add_times(app);
    add_simulator_options(app, simulator_, "Graph");
    app.note_given(given_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if (request_.target.folder.empty() && !plan_only_)
      return core::Error{"-o names the folder to write into; --plan-only writes nothing"};
    const bool writes_schedule = form_ == MadeForm::kText || form_ == MadeForm::kBinary;
    ASSAY_TRY(check_simulator_options(simulator_, given_, writes_schedule));
    const bool trains = kind_ == StepKind::kTraining;
    for (const char* name : trains ? kServingOnly : kTrainingOnly) {
      if (given_.contains(name)) {
        return core::Error{fmt::format(
            "{} is of {}", name,
            trains ? "steps that serve: --of prefill or --of decode" : "training: --of training")};
      }
    }
    return check_unused();
  }

  core::Result<Outcome> run() override {
    PlanInputs inputs(prices_);
    const serving::Model& model = *ASSAY_TRY(inputs.model(model_));
    plan::Tables& tables = *ASSAY_TRY(inputs.tables(system_, plan::Engine::kTrtllm, ""));
    const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(system_));
    TableTimes times(tables);
    const auto gpus_per_node =
        static_cast<std::uint32_t>(gpus_per_node_.value_or(facts.gpus_per_node));
    const goal::MadeJob made =
        kind_ == StepKind::kTraining
            ? ASSAY_TRY(goal::make_training_job(model, training(gpus_per_node), times))
            : ASSAY_TRY(goal::make_serving_job(model, serving_step(gpus_per_node), times));
    if (presentation_.shows_summary())
      print_summary(made.summary, presentation_.summary(), kShownRows);
    if (plan_only_) return Outcome::kOk;
    return write(made);
  }

 private:
  // Refuses options of one kind of step or of its output where it is of another.
  [[nodiscard]] core::Status check_unused() const {
    if (kind_ == StepKind::kDecode && given_.contains("--prefix")) {
      return core::Error{"--prefix is of prompts: the cache of --of decode has --isl tokens"};
    }
    ASSAY_TRY(check_prefix(prefix_, prompt_));
    if (training_.data_parallel == goal::DataParallel::kFullySharded &&
        given_.contains("--bucket")) {
      return core::Error{"--bucket is not for --data-parallel fsdp, which scatters by layers"};
    }
    if (form_ == MadeForm::kChakra && given_.contains("--costs")) {
      return core::Error{
          "--costs is of a schedule or a job: traces have collectives as nodes, without slices"};
    }
    return {};
  }

  inline static const std::vector<const char*> kTrainingOnly = {
      "--pp",       "--sequence",       "--sequence-parallel", "--micro-batches", "--micro-batch",
      "--schedule", "--virtual-stages", "--data-parallel",     "--bucket",        "--recompute"};
  inline static const std::vector<const char*> kServingOnly = {"--batch", "--isl", "--prefix"};

  static std::uint32_t narrow(std::int64_t count) { return static_cast<std::uint32_t>(count); }

  static void add_number(
      App& app, const char* name, std::int64_t& number, const char* help, const char* group) {
    app.add_option(name, number, help)
        ->type_name("N")
        ->default_str(fmt::format("{}", number))
        ->check(small_number_problem)
        ->group(group);
  }

  static std::string small_number_problem(const std::string& text) {
    std::string problem = positive_number_problem(text);
    if (!problem.empty()) return problem;
    const std::optional<double> number = finite_number(text);
    constexpr double kMost = 1 << 24;
    return number && *number <= kMost ? "" : fmt::format("'{}' is more than {:.0f}", text, kMost);
  }

  void add_deployment(App& app) {
    const char* group = "GPUs";
    add_number(app, "--tp", tp_, "GPUs that share heads and dense layers", group);
    add_number(app, "--pp", pp_, "stages of a pipeline", group);
    add_number(app, "--dp", dp_, "data-parallel replicas; groups with requests of their own",
               group);
    add_number(app, "--ep", ep_, "groups of GPUs with experts of their own", group);
    app.add_option("--gpus-per-node", gpus_per_node_, "GPUs of a node")
        ->type_name("N")
        ->default_str("as the system has")
        ->check(small_number_problem)
        ->group(group);
  }

  void add_training(App& app) {
    add_number(app, "--sequence", sequence_, "tokens of a sequence", kTraining);
    app.add_flag("--sequence-parallel", training_.sequence_parallel,
                 "spread the sequence, too, over the GPUs of --tp where layers are not")
        ->group(kTraining);
    add_number(app, "--micro-batches", micro_batches_, "of each replica", kTraining);
    add_number(app, "--micro-batch", micro_batch_, "sequences of a micro-batch", kTraining);
    const Choices<goal::Pipeline> schedules{{"1f1b", goal::Pipeline::kOneForwardOneBackward},
                                            {"interleaved", goal::Pipeline::kInterleaved},
                                            {"zero-bubble", goal::Pipeline::kZeroBubble}};
    add_choice(app, "--schedule", training_.pipeline, schedules,
               "the order of micro-batches on a stage; zero-bubble: ZB-H1")
        ->group(kTraining);
    add_number(app, "--virtual-stages", chunks_, "chunks of layers on a stage, of 'interleaved'",
               kTraining);
    const Choices<goal::DataParallel> ways{
        {"distributed", goal::DataParallel::kDistributedOptimizer},
        {"all-reduce", goal::DataParallel::kAllReduce},
        {"fsdp", goal::DataParallel::kFullySharded}};
    add_choice(app, "--data-parallel", training_.data_parallel, ways,
               "how replicas agree: reduce-scatter and all-gather around a distributed optimizer, "
               "all-reduce of gradients, or layers fully sharded as by PyTorch's FSDP2")
        ->group(kTraining);
    app.add_option("--bucket", bucket_, "least parameters whose gradients are synchronised at once")
        ->type_name("N")
        ->default_str("40000000")
        ->check(positive_number_problem)
        ->group(kTraining);
    const Choices<goal::Recompute> recomputes{{"none", goal::Recompute::kNone},
                                              {"attention", goal::Recompute::kAttention},
                                              {"layers", goal::Recompute::kLayers}};
    add_choice(app, "--recompute", training_.recompute, recomputes,
               "what the backward pass computes once more instead of keeping it")
        ->group(kTraining);
  }

  void add_serving(App& app) {
    add_number(app, "--batch", batch_, "requests of a group", kServing);
    add_number(app, "--isl", prompt_, "tokens of a prompt; of a request that decodes, in the cache",
               kServing);
    app.add_option(
           "--prefix", prefix_,
           "tokens of each prompt that are in the cache, so that the others of --isl are new")
        ->type_name("N")
        ->default_str("0")
        ->check(count_problem)
        ->group(kServing);
  }

  void add_times(App& app) {
    app.add_option("--system", system_, "the GPUs, by the name of a system that ships")
        ->type_name("NAME")
        ->default_str("h200_sxm");
    add_price_sources(app, prices_);
    add_slice_costs(app, costs_file_);
  }

  goal::TrainingPlan training(std::uint32_t gpus_per_node) const {
    goal::TrainingPlan plan = training_;
    plan.grid = {narrow(tp_), narrow(pp_), narrow(dp_), narrow(ep_), gpus_per_node};
    plan.micro_batches = narrow(micro_batches_);
    plan.micro_batch = narrow(micro_batch_);
    plan.sequence = narrow(sequence_);
    plan.chunks = narrow(chunks_);
    plan.bucket_parameters = static_cast<std::uint64_t>(bucket_);
    return plan;
  }

  goal::ServingStep serving_step(std::uint32_t gpus_per_node) const {
    const bool decodes = kind_ == StepKind::kDecode;
    return {.tp = narrow(tp_),
            .groups = narrow(dp_),
            .ep = narrow(ep_),
            .phase = decodes ? serving::Phase::kGeneration : serving::Phase::kContext,
            .requests = narrow(batch_),
            .new_tokens = decodes ? 1 : narrow(prompt_ - prefix_),
            .cached_tokens = narrow(decodes ? prompt_ : prefix_),
            .gpus_per_node = gpus_per_node};
  }

  core::Result<Outcome> write_chakra(const goal::MadeJob& made) const {
    const model::Job job = ASSAY_TRY(goal::scale(made.job, {.replicas = made.repeats}));
    const goal::WrittenTraces written =
        ASSAY_TRY(goal::write_traces(job, {}, request_.target.folder));
    show_warnings(written.warnings);
    if (!presentation_.quiet)
      print_note("wrote " + (request_.target.folder / "output.*.et").string());
    return Outcome::kOk;
  }

  core::Result<Outcome> write(const goal::MadeJob& made) {
    if (form_ == MadeForm::kChakra) return write_chakra(made);
    request_.target.format = format_of(form_);
    request_.input = "a made step of " + model_;
    apply(simulator_, request_);
    request_.costs = ASSAY_TRY(slice_costs(costs_file_));
    ASSAY_TRY(write_made_job(made, request_, presentation_.quiet));
    return Outcome::kOk;
  }

  std::string model_;
  StepKind kind_ = StepKind::kTraining;
  MadeForm form_ = MadeForm::kText;
  bool plan_only_ = false;
  std::int64_t tp_ = 1;
  std::int64_t pp_ = 1;
  std::int64_t dp_ = 1;
  std::int64_t ep_ = 1;
  std::optional<std::int64_t> gpus_per_node_;
  goal::TrainingPlan training_;
  std::int64_t sequence_ = 4096;
  std::int64_t micro_batches_ = 1;
  std::int64_t micro_batch_ = 1;
  std::int64_t chunks_ = 1;
  std::int64_t bucket_ = 40'000'000;
  std::int64_t batch_ = 16;
  std::int64_t prompt_ = 4000;
  std::int64_t prefix_ = 0;
  std::string system_ = "h200_sxm";
  PriceSources prices_;
  std::filesystem::path costs_file_;
  SimulatorOptions simulator_;
  goal::GenerateRequest request_;
  std::set<std::string> given_;
  Presentation presentation_;
};

const CommandSpec kGoalSynth{
    .name = "goal synth",
    .summary = "make a schedule of a step without a recording",
    .description =
        "Makes the job that a training step of a model is, as Megatron-LM or fully sharded data "
        "parallelism would run it, or one step of a served model. How long operators take comes "
        "from measured tables, as 'assay plan' reads them; the gradients of products are products "
        "with shapes of their own, all else of the backward pass is a stated multiple of the "
        "forward pass. No product is faster than those of its table that take long, since a step "
        "does not let the GPU rest as a measurement does. The table 'operators' says of each where "
        "its time comes from.\n\n"
        "The schedule follows as 'assay goal generate' makes it of a recording.",
    .examples =
        "assay goal synth --model llama-3.1-8b --tp 2 --dp 2 --micro-batches 4 -o out --write bin\n"
        "assay goal synth --model llama-3.1-70b --tp 8 --pp 8 --dp 160 --sequence-parallel \\\n"
        "    --micro-batches 32 --plan-only\n"
        "assay goal synth --model llama-3.1-8b --dp 4 --data-parallel fsdp -o out --write bin\n"
        "assay goal synth --model qwen3-30b-a3b --of decode --dp 4 --ep 4 --batch 64 -o out\n",
    .make = make_command<GoalSynth>,
};
ASSAY_REGISTER(CommandSpec, kGoalSynth);

}  // namespace
}  // namespace assay::cli
