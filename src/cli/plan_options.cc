#include "cli/plan_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/store_options.h"

namespace assay::cli {

namespace {

Option* add_count(
    App& app, const char* name, std::int64_t& count, std::int64_t most, const char* help) {
  return app.add_option(name, count, help)
      ->type_name("N")
      ->default_str(std::to_string(count))
      ->check(count_up_to(most));
}

void add_tokens(App& app, const char* name, std::int64_t& tokens, const char* help) {
  add_count(app, name, tokens, plan::kMostTokens, help);
}

}  // namespace

Option* add_gpus(App& app, const char* name, std::int64_t& gpus, const char* help) {
  return add_count(app, name, gpus, plan::kMostGpus, help);
}

void add_lengths_options(App& app, std::int64_t& prompt_tokens, std::int64_t& output_tokens) {
  add_tokens(app, "--isl", prompt_tokens, "tokens of a prompt");
  add_tokens(app, "--osl", output_tokens, "tokens of an answer");
}

void add_max_nodes_option(App& app, std::int64_t& nodes) {
  add_gpus(app, "--max-nodes", nodes,
           "most nodes that a stage of a worker spans; what it exchanges between them is reckoned "
           "by the links' figures");
}

void add_step_tokens_option(App& app, std::vector<std::int64_t>& tokens) {
  const auto assign = [&tokens](const std::string& list) {
    tokens.clear();
    for (const std::string& word : split(list, ','))
      tokens.push_back(std::llround(finite_number(word).value_or(1)));
  };
  const auto problem = [](const std::string& list) -> std::string {
    for (const std::string& word : split(list, ',')) {
      std::string wrong = count_up_to(plan::kMostTokens)(word);
      if (!wrong.empty()) return wrong;
    }
    return "";
  };
  app.add_option("--max-num-tokens", assign,
                 "most tokens of a step, of which each is tried with every aggregated worker")
      ->type_name("N[,N...]")
      ->default_str("the engine's own")
      ->check(problem);
}

void add_prefix_option(App& app, std::int64_t& tokens) {
  app.add_option("--prefix", tokens,
                 "tokens of each prompt that all have at its begin, which prefix caches then hold")
      ->type_name("N")
      ->default_str("none")
      ->check(count_up_to(plan::kMostTokens));
}

std::string context_in_words(const serving::Model& model,
                             std::int64_t prompt_tokens,
                             std::int64_t output_tokens) {
  if (model.context == 0 || prompt_tokens + output_tokens <= model.context) return "";
  return fmt::format(
      "{} takes sequences of up to {} tokens (max_position_embeddings): engines refuse a prompt of "
      "{} with an answer of {}",
      model.name, model.context, prompt_tokens, output_tokens);
}

void warn_of_context(const serving::Model& model,
                     std::int64_t prompt_tokens,
                     std::int64_t output_tokens) {
  const std::string text = context_in_words(model, prompt_tokens, output_tokens);
  if (!text.empty()) print_warning(text);
}

void drop_unfound_prefix(const serving::Model& model, std::int64_t& prefix_tokens) {
  const std::string text = plan::unfound_prefixes_in_words(model.family);
  if (prefix_tokens == 0 || text.empty()) return;
  print_warning(text);
  prefix_tokens = 0;
}

core::Status check_prefix(std::int64_t prefix_tokens, std::int64_t prompt_tokens) {
  if (prefix_tokens < prompt_tokens) return {};
  if (prefix_tokens == 0) return {};
  return core::Error{fmt::format("--prefix {} leaves nothing of a prompt of --isl {}",
                                 prefix_tokens, prompt_tokens)};
}

std::string speculative_tokens_problem(const std::string& text) {
  const std::optional<double> number = finite_number(text);
  const bool is_whole = number && *number == std::floor(*number);
  if (is_whole && *number >= 0 && *number <= plan::kMostSpeculativeTokens) return "";
  return fmt::format("'{}' is not a whole number from 0 to {}", text, plan::kMostSpeculativeTokens);
}

void SpeculationOptions::add(App& app) {
  app.add_option("--speculative-tokens", tokens_,
                 "tokens that the model's own layers (MTP) draft of each request in a step")
      ->type_name("N")
      ->default_str("none")
      ->check(speculative_tokens_problem);
  app.add_option("--acceptance-rate", rates_,
                 "how likely a draft is accepted where the one before it was; or the share of "
                 "steps by position, as engines report it: 0.85,0.6")
      ->type_name("R[,R...]");
}

core::Result<plan::Speculation> SpeculationOptions::said() const {
  std::vector<double> rates;
  for (std::size_t begin = 0; begin <= rates_.size();) {
    const std::size_t end = std::min(rates_.find(',', begin), rates_.size());
    const std::string part = rates_.substr(begin, end - begin);
    const std::optional<double> rate = finite_number(part);
    if (!rate) return core::Error{fmt::format("--acceptance-rate: '{}' is no number", part)};
    rates.push_back(*rate);
    begin = end + 1;
  }
  core::Result<plan::Speculation> made = plan::speculation_of(tokens_, rates);
  if (!made.ok()) return made.error().context("--acceptance-rate");
  return made;
}

core::Status SpeculationOptions::check() const {
  if (tokens_ == 0 && rates_.empty()) return {};
  if (tokens_ == 0)
    return core::Error{
        "--acceptance-rate is of drafted tokens: --speculative-tokens says how many"};
  if (rates_.empty()) {
    return core::Error{
        "--speculative-tokens needs --acceptance-rate: how often drafts are accepted depends on "
        "what is asked, and engines report it"};
  }
  const auto made = said();
  if (!made.ok()) return made.error();
  return {};
}

core::Result<plan::Speculation> SpeculationOptions::speculation(const serving::Model& model) const {
  if (tokens_ == 0) return plan::Speculation{};
  plan::Speculation made = ASSAY_TRY(said());
  ASSAY_TRY(plan::check_speculation(model, made));
  return made;
}

std::string SpeculationOptions::words() const {
  if (tokens_ == 0) return "";
  return fmt::format(" --speculative-tokens {} --acceptance-rate {}", tokens_, rates_);
}

core::Status check_staged_drafts(const SpeculationOptions& drafts, std::int64_t most_stages) {
  ASSAY_TRY(drafts.check());
  if (drafts.is_given() && most_stages > 1)
    return core::Error{"--speculative-tokens is not priced with the stages of --max-pp"};
  return {};
}

std::string share_problem(const std::string& text) {
  const std::optional<double> share = finite_number(text);
  return share && *share > 0 && *share <= 1 ? "" : "must be above 0 and at most 1";
}

void add_serving_mode_options(App& app, plan::ServingMode& mode, std::string& decode_system) {
  static const Choices<plan::ServingMode> modes{{"both", plan::ServingMode::kBoth},
                                                {"agg", plan::ServingMode::kAggregated},
                                                {"disagg", plan::ServingMode::kDisaggregated}};
  add_choice(app, "--serving-mode", mode, modes,
             "whether every worker computes prompts and decodes (agg), or some do the one and some "
             "the other (disagg)");
  app.add_option("--decode-system", decode_system, "the GPUs that decode, of disagg")
      ->type_name("NAME")
      ->suggest(shipped_words())
      ->default_str("as --system");
}

namespace {

constexpr double kUsualTtftMs = 5000;
constexpr double kUsualTpotMs = 60;

}  // namespace

void LatencyLimitOptions::add(App& app) {
  const auto add_limit = [&](const char* name, std::optional<double>& ms, const char* help) {
    return app.add_option(name, ms, help)->type_name("MS")->check(positive_number_problem);
  };
  add_limit("--ttft", ttft_ms_, "most time to the first token, in ms")
      ->default_str("5000; none beside --request-latency");
  add_limit("--tpot", tpot_ms_, "most time for each further token, in ms")
      ->default_str("60; none beside --request-latency");
  add_limit("--request-latency", request_ms_,
            "most time for a whole request, in ms, from its coming to its last token")
      ->default_str("none");
}

plan::ServiceLevel LatencyLimitOptions::level() const {
  plan::ServiceLevel level{.ttft_ms = ttft_ms_, .tpot_ms = tpot_ms_, .latency_ms = request_ms_};
  if (request_ms_) return level;
  level.ttft_ms = ttft_ms_.value_or(kUsualTtftMs);
  level.tpot_ms = tpot_ms_.value_or(kUsualTpotMs);
  return level;
}

void LatencyLimitOptions::set(plan::SearchRequest& request) const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const plan::ServiceLevel kept = level();
  request.ttft_limit_ms = kept.ttft_ms.value_or(kNone);
  request.tpot_limit_ms = request.has_tpot() ? kept.tpot_ms.value_or(kNone) : kNone;
  request.request_limit_ms = kept.latency_ms.value_or(kNone);
}

namespace {

// "" for a chance that an error bar can tell: its ends are at 10 and 90 %.
std::string confidence_problem(const std::string& text) {
  const std::optional<double> percent = finite_number(text);
  return percent && *percent >= 10 && *percent <= 95 ? "" : "must be a number from 10 to 95";
}

}  // namespace

double chance_of(const std::optional<double>& percent) {
  return percent ? *percent / 100 : plan::kUsualConfidence;
}

core::Status check_confidence(const std::optional<double>& percent, bool is_open) {
  if (!is_open || !percent) return {};
  return core::Error{
      "--confidence is of requests that are kept in flight: limits on those that come by "
      "themselves go by the prediction"};
}

Option* add_confidence_option(App& app, std::optional<double>& percent, const char* help) {
  return app.add_option("--confidence", percent, help)
      ->type_name("PERCENT")
      ->default_str("50")
      ->check(confidence_problem);
}

void add_scheduler_option(App& app, plan::Scheduler& scheduler) {
  static const Choices<plan::Scheduler> schedulers{{"simulation", plan::Scheduler::kSimulation},
                                                   {"closed-form", plan::Scheduler::kClosedForm}};
  add_choice(
      app, "--scheduler", scheduler, schedulers,
      "how latencies come of steps: by the engine's scheduler, simulated, or by a mean step");
}

void add_least_length_option(App& app, double& share) {
  app.add_option("--least-length", share,
                 "lengths are uniform between this share of the nominal ones and them; 1: all are "
                 "equal")
      ->type_name("SHARE")
      ->default_str("0.8")
      ->check(share_problem);
}

namespace {

void add_model_and_system(App& app, ServedModel& served) {
  app.add_option("--model", served.model,
                 "a config.json, a folder that has one, or the name of a model that ships")
      ->type_name("CONFIG")
      ->suggest(model_words())
      ->required();
  app.add_option("--system", served.system, "the GPUs")
      ->type_name("NAME")
      ->suggest(shipped_words())
      ->default_str(served.system);
  add_price_sources(app, served.prices);
}

void add_version_option(App& app, ServedModel& served) {
  app.add_option("--backend-version", served.version,
                 "the engine's version, whose tables of --systems-paths come first, and which says "
                 "what caches keep of windows, what instances send each other, and how GPUs "
                 "share norms over heads")
      ->type_name("VERSION")
      ->default_str("the newest");
}

}  // namespace

Choices<plan::Engine> engine_choices() {
  Choices<plan::Engine> choices;
  for (const plan::Engine engine : plan::kEngines)
    choices.emplace_back(plan::name_of(engine), engine);
  return choices;
}

namespace {

const Choices<plan::CacheType> kCacheTypes{{"engine", plan::CacheType::kEngine},
                                           {"checkpoint", plan::CacheType::kCheckpoint},
                                           {"fp8", plan::CacheType::kFp8}};

void add_cache_option(App& app, ServedModel& served) {
  add_choice(
      app, "--kv-cache-dtype", served.cache, kCacheTypes,
      "the type of the cache of keys and values: the engine's own choice (TensorRT-LLM takes "
      "fp8 for weights in fp8), what the checkpoint says, or fp8");
}

}  // namespace

std::string ServedModel::cache_words() const {
  if (cache == plan::CacheType::kEngine) return "";
  return fmt::format(" --kv-cache-dtype {}", cache == plan::CacheType::kFp8 ? "fp8" : "checkpoint");
}

void add_served_model(App& app, ServedModel& served) {
  add_model_and_system(app, served);
  add_choice(app, "--backend", served.engine, engine_choices(), "the engine that serves");
  add_version_option(app, served);
  add_cache_option(app, served);
}

void warn_of_version(const ServedModel& served, const std::filesystem::path& calibration) {
  if (served.version.empty() || !served.prices.systems.empty() || !calibration.empty()) return;
  print_warning(
      fmt::format("--backend-version {} changes no price of an operator: without --systems-paths "
                  "these are of the best kernels, whatever the engine; what caches keep of "
                  "windows, how GPUs share norms over heads, "
                  "and what instances send each other, are as in that version",
                  served.version));
}

void add_searched_model(App& app, ServedModel& served, std::vector<plan::Engine>& engines) {
  add_model_and_system(app, served);
  Choices<std::vector<plan::Engine>> choices;
  for (const auto& [name, engine] : engine_choices())
    choices.push_back({name, {engine}});
  choices.push_back({"any", {plan::kEngines.begin(), plan::kEngines.end()}});
  add_choice(app, "--backend", engines, choices,
             "the engine that serves; any: all of them, in one ranking");
  add_version_option(app, served);
  add_cache_option(app, served);
}

}  // namespace assay::cli
