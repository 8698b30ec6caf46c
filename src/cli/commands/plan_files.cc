#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "cli/calibrated_pools.h"
#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "plan/files/deployment_files.h"
#include "plan/files/engine_files.h"
#include "plan/files/placement.h"
#include "plan/files/price_planned.h"
#include "plan/files/price_pools.h"
#include "plan/search/pool_text.h"

namespace assay::cli {
namespace {

const Choices<plan::Target> kTargets{{"plain", plan::Target::kPlain},
                                     {"kubernetes", plan::Target::kKubernetes},
                                     {"dynamo", plan::Target::kDynamo},
                                     {"llm-d", plan::Target::kLlmd}};

// The model as it can be read from any folder.
std::string config_path(const std::string& model) {
  std::error_code error;
  if (!std::filesystem::exists(model, error)) return model;
  return std::filesystem::absolute(model, error).lexically_normal().string();
}

// The name that clients ask for.
std::string served_name(const std::string& path) {
  if (!path.starts_with('/')) return path;
  return std::filesystem::path(path).filename().string();
}

class PlanFiles final : public Command {
 public:
  explicit PlanFiles(App& app) {
    add_served_model(app, served_);
    add_worker(app);
    add_lengths_options(app, planned_.prompt_tokens, planned_.output_tokens);
    add_prefix_option(app, planned_.prefix_tokens);
    app.add_option("--max-num-tokens", planned_.step_tokens, "most tokens of a step")
        ->type_name("N")
        ->default_str("as the engine and the load have it")
        ->check(count_up_to(plan::kMostTokens));
    speculation_.add(app);
    add_calibration_option(app, calibration_);
    app.add_option("--model-path", model_path_,
                   "where the engine finds the weights: an id of Hugging Face, or a folder")
        ->type_name("PATH")
        ->default_str("as --model");
    add_choice_list(app, "--target", targets_, kTargets,
                    "what to write manifests for, besides scripts")
        ->default_str("plain");
    app.add_option("--name", planned_.name, "of the objects of Kubernetes")
        ->type_name("NAME")
        ->default_str("the model's and the engine's");
    app.add_option("--namespace", planned_.kube_space, "of the objects of Kubernetes")
        ->type_name("NAME")
        ->default_str("that of whoever applies them");
    app.add_option("--image", planned_.image,
                   "the container with the engine, and for Dynamo with its workers")
        ->type_name("IMAGE")
        ->default_str("the engine's own");
    app.add_option("--port", planned_.port, "that the server listens to")
        ->type_name("N")
        ->default_str("8000")
        ->check(count_up_to(plan::kMostPort));
    app.add_option("-o,--output", output_, "the folder to write")->type_name("DIR")->required();
    app.add_flag("--overwrite", overwrite_, "replace the files in --output");
    app.note_given(given_);
  }

  [[nodiscard]] core::Status check() const override {
    if (prefill_.empty() != decode_.empty()) {
      return core::Error{prefill_.empty() ? "--decode needs --prefill: the instances of prompts"
                                          : "--prefill needs --decode: the instances that decode"};
    }
    ASSAY_TRY(check_prefix(planned_.prefix_tokens, planned_.prompt_tokens));
    for (const char* name : {"--prefix", "--max-num-tokens"}) {
      if (is_disaggregated() && given_.contains(name))
        return core::Error{fmt::format("{} is of instances that compute prompts and decode", name)};
    }
    for (const char* name : {"--tp", "--dp", "--pp", "--moe-tp", "--moe-ep", "--copies"}) {
      if (is_disaggregated() && given_.contains(name))
        return core::Error{fmt::format(
            "--prefill and --decode have the widths and the instances of all copies: leave out {}",
            name)};
    }
    for (const char* name : {"--prefill-batch", "--decode-system"}) {
      if (!is_disaggregated() && given_.contains(name))
        return core::Error{
            fmt::format("{} is of disaggregated deployments: say which by --prefill "
                        "and --decode",
                        name)};
    }
    if (speculation_.is_given() && planned_.worker.pp > 1)
      return core::Error{"--speculative-tokens is not priced with the stages of --pp"};
    return speculation_.check();
  }

  core::Result<Outcome> run() override {
    PlanInputs inputs(served_.prices);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    const CalibratedPools systems =
        ASSAY_TRY(calibrated_pools(inputs, served_, decode_system_, calibration_, model.name));
    planned_.speculation = ASSAY_TRY(speculation_.speculation(model));
    drop_unfound_prefix(model, planned_.prefix_tokens);
    ASSAY_TRY(complete(model, systems));
    ASSAY_TRY(plan::check_planned(planned_));
    ASSAY_TRY(check_hosts());
    ASSAY_TRY(price(model, systems));
    ASSAY_TRY(tell_version(inputs));
    inputs.warn_of_lacking_model(planned_.engine, planned_.engine_version, model);
    const std::string room = is_disaggregated() ? "" : plan::room_in_words(planned_);
    if (!room.empty()) print_warning(room);
    const auto files = ASSAY_TRY(plan::deployment_files(planned_, targets_));
    ASSAY_TRY(plan::write_files(output_, files,
                                overwrite_ ? plan::Existing::kReplaced : plan::Existing::kRefused));
    for (const plan::DeploymentFile& file : files)
      print(fmt::format("{:<21} {}\n", file.name, file.purpose));
    if (!planned_.calibration_text.empty()) print(planned_.calibration_text + "\n");
    const plan::EngineCache kept{
        planned_.engine, plan::served_precision(planned_.engine, model, served_.cache).cache};
    const std::string cache = plan::cache_types_in_words(model, std::span(&kept, 1));
    if (!cache.empty()) print_sentence(cache);
    return Outcome::kOk;
  }

 private:
  void add_worker(App& app) {
    const auto count = [&](const char* name, auto& target, const char* help,
                           std::int64_t most = plan::kMostGpus) {
      return app.add_option(name, target, help)->type_name("N")->check(count_up_to(most));
    };
    count("--tp", planned_.worker.tp, "GPUs that share heads and dense layers")->default_str("1");
    count("--dp", planned_.worker.dp,
          "groups of GPUs with requests of their own, which share experts")
        ->default_str("1");
    count("--moe-tp", moe_tp_, "GPUs that share an expert")->default_str("the GPUs over --moe-ep");
    count("--moe-ep", moe_ep_, "groups of GPUs with experts of their own")->default_str("1");
    count("--pp", planned_.worker.pp, "stages of a pipeline, each of --tp x --dp GPUs")
        ->default_str("1");
    const auto pool = [&](const char* name, std::string& text, const char* help) {
      app.add_option(name, text, help)->type_name("WORKERS");
    };
    pool("--prefill", prefill_, "disaggregated: the instances of prompts, '3P(tp 2)'");
    pool("--decode", decode_, "disaggregated: those that decode, '1D(tp 8)'");
    count("--prefill-batch", prefill_batch_, "disaggregated: prompts that a group computes at once",
          plan::kMostRequests)
        ->default_str("1");
    app.add_option("--decode-system", decode_system_, "disaggregated: the GPUs that decode")
        ->type_name("NAME")
        ->suggest(shipped_words())
        ->default_str("as --system");
    app.add_option(
           "--hosts", planned_.hosts,
           "the machines, in turn, of a disaggregated deployment, or of a worker that spans "
           "several")
        ->type_name("NAME,...")
        ->delimiter(',')
        ->default_str("this one, or node-0,node-1,...");
    count("--batch", batch_,
          "requests in flight, of one group of GPUs; with stages: of each of their batches; "
          "disaggregated: that decode",
          plan::kMostRequests)
        ->default_str("16");
    count("--copies", planned_.copies, "of the model")->default_str("1");
  }

  [[nodiscard]] bool is_disaggregated() const { return !prefill_.empty(); }

  core::Status complete(const serving::Model& model, const CalibratedPools& systems) {
    planned_.engine = served_.engine;
    planned_.engine_version = systems.system.version;
    planned_.cache_type = served_.cache;
    planned_.system = served_.system;
    planned_.gpus_per_node = systems.system.facts->gpus_per_node;
    planned_.calibration = systems.calibration.calibration();
    planned_.calibration_text = systems.calibration.text;
    planned_.config = config_path(served_.model);
    planned_.gpu_product = plan::gpu_product_of(served_.system);
    planned_.model_path = ASSAY_TRY(weights_path(model_path_, served_.model));
    planned_.model = served_name(planned_.model_path);
    if (planned_.name.empty()) planned_.name = plan::kube_name(planned_.model, planned_.engine);
    if (is_disaggregated()) return complete_pools(systems);
    return complete_worker(model);
  }

  core::Status complete_worker(const serving::Model& model) {
    plan::Worker& worker = planned_.worker;
    planned_.concurrency = batch_ * worker.dp * worker.pp;
    const std::int64_t gpus = worker.tp * worker.dp;
    if (!model.has_experts() && (moe_tp_ || moe_ep_))
      return core::Error{fmt::format("{} has no experts: no --moe-tp, no --moe-ep", model.name)};
    worker.moe_ep = moe_ep_.value_or(moe_tp_ ? gpus / *moe_tp_ : 1);
    worker.moe_tp = moe_tp_.value_or(gpus / worker.moe_ep);
    return {};
  }

  core::Status complete_pools(const CalibratedPools& systems) {
    const plan::PoolText prefill = ASSAY_TRY(plan::parse_pool(prefill_));
    const plan::PoolText decode = ASSAY_TRY(plan::parse_pool(decode_));
    if (speculation_.is_given() && (prefill.worker.pp > 1 || decode.worker.pp > 1))
      return core::Error{"--speculative-tokens is not priced with stages"};
    plan::split(planned_, prefill.instances, prefill.worker, decode.instances, decode.worker);
    plan::PlannedDeployment& of_prefill = planned_.pools.front();
    plan::PlannedDeployment& of_decode = planned_.pools.back();
    of_prefill.concurrency = prefill_batch_ * of_prefill.batches();
    of_decode.concurrency = batch_ * of_decode.batches();
    if (systems.is_one_system) return {};
    of_decode.system = decode_system_;
    of_decode.gpus_per_node = systems.decode_system.facts->gpus_per_node;
    of_decode.gpu_product = plan::gpu_product_of(decode_system_);
    of_decode.calibration = systems.decode_calibration.calibration();
    of_decode.calibration_text = systems.decode_calibration.text;
    return {};
  }

  void warn_of_dynamos_version() const {
    const bool is_dynamos = planned_.image.empty() &&
                            std::count(targets_.begin(), targets_.end(), plan::Target::kDynamo) > 0;
    if (!is_dynamos || planned_.engine_version.empty()) return;
    const plan::EngineFiles& engine = plan::files_of(planned_.engine);
    print_warning(fmt::format(
        "dynamo.yaml takes {}, whose version of {} is its own and need not be {}: --image names "
        "another",
        engine.dynamo_image, engine.name, planned_.engine_version));
  }

  // Says where the version that prices are of and that of the files may differ.
  core::Status tell_version(PlanInputs& inputs) const {
    warn_of_dynamos_version();
    if (!served_.version.empty()) return {};
    const plan::EngineFiles& engine = plan::files_of(planned_.engine);
    const std::string& planned = planned_.engine_version;
    const std::string tables = ASSAY_TRY(inputs.newest_version(served_.system, planned_.engine));
    if (tables.empty()) return {};
    if (planned.empty()) {
      print_warning(fmt::format(
          "prices are of tables of {} {}, but the files are for {}: no official image has that "
          "name, or it lacks their options; --backend-version and --image name others",
          engine.name, tables, engine.version));
      return {};
    }
    print(fmt::format("the files are for {} {}, whose tables of {} come first in prices\n",
                      engine.name, planned, served_.system));
    if (decode_system_.empty()) return {};
    const std::string decode = ASSAY_TRY(inputs.newest_version(decode_system_, planned_.engine));
    if (decode == planned) return {};
    print_warning(
        fmt::format("the newest tables of {} are of {} {}", decode_system_, engine.name, decode));
    return {};
  }

  [[nodiscard]] core::Status check_hosts() const {
    const std::int64_t nodes = is_disaggregated() ? plan::nodes_of(plan::place_instances(planned_))
                                                  : planned_.nodes_of_worker();
    const auto named = static_cast<std::int64_t>(planned_.hosts.size());
    if (named == 0 || named == nodes) return {};
    return core::Error{fmt::format("--hosts names {} machines, but {} needs {} of {} GPUs", named,
                                   planned_.text(), nodes, planned_.gpus_per_node)};
  }

  core::Status price(const serving::Model& model, const CalibratedPools& systems) {
    if (is_disaggregated())
      return plan::price_pools(model, systems.system, systems.decode_system, planned_);
    const store::SystemFacts& facts = *systems.system.facts;
    const plan::Pipeline pipeline = ASSAY_TRY(
        plan::pipeline_of(model, planned_.worker, facts.gpus_per_node,
                          [&](std::int64_t gpus) { return plan::stage_link(facts, gpus); }));
    return plan::price_planned(model, gpu_memory(facts, planned_.worker.gpus()), pipeline,
                               *systems.system.tables, planned_);
  }

  ServedModel served_;
  plan::PlannedDeployment planned_{.prompt_tokens = 4000, .output_tokens = 1000};
  std::int64_t batch_ = 16;
  std::optional<std::int64_t> moe_tp_;
  std::optional<std::int64_t> moe_ep_;
  std::string prefill_;
  std::string decode_;
  std::string decode_system_;
  std::int64_t prefill_batch_ = 1;
  std::set<std::string> given_;
  SpeculationOptions speculation_;
  std::string model_path_;
  std::vector<plan::Target> targets_;
  std::filesystem::path calibration_;
  std::filesystem::path output_;
  bool overwrite_ = false;
};

const CommandSpec kPlanFiles{
    .name = "plan files",
    .summary = "write what deploys and measures a plan: settings, scripts and manifests",
    .description =
        "The deployment is priced with the limits that its files have: at most the requests of "
        "--batch at once, CUDA graphs for no more, the tokens of a step, the share of memory and "
        "the type of the cache.\n\n"
        "serve.sh serves one copy on this machine, or its part of one whose GPUs are on several, "
        "and "
        "measure.sh measures it by the engine's own client; 'assay plan validate DIR' compares the "
        "results with predictions. docs/plan.md "
        "lists the files, and the options of each engine.",
    .examples =
        "assay plan files --model Qwen/Qwen3-32B --backend vllm --tp 4 --batch 32 -o files\n"
        "assay plan files --model Qwen/Qwen3-32B --tp 4 --batch 32 --target kubernetes,dynamo -o "
        "files\n"
        "assay plan files --model Qwen/Qwen3-32B --prefill '2P(tp 1)' --decode '1D(tp 4)' -o "
        "files\n"
        "assay plan files --model deepseek-v3 --model-path /models/v3 --tp 8 --pp 2 --hosts a,b -o "
        "files\n",
    .make = make_command<PlanFiles>,
};
ASSAY_REGISTER(CommandSpec, kPlanFiles);

}  // namespace
}  // namespace assay::cli
