#include "cli/plan_options.h"

#include "cli/model_options.h"
#include "cli/store_options.h"

namespace assay::cli {

void add_systems_option(App& app, std::filesystem::path& systems) {
  app.add_option("--systems-paths", systems,
                 "a folder of public tables: NAME.yaml and data/NAME for each system; without it, "
                 "what ships with assay")
      ->type_name("DIR");
}

void add_count(App& app, const char* name, std::int64_t& count, const char* help) {
  app.add_option(name, count, help)
      ->type_name("N")
      ->default_str(std::to_string(count))
      ->check(positive_number_problem);
}

void add_lengths_options(App& app, std::int64_t& prompt_tokens, std::int64_t& output_tokens) {
  add_count(app, "--isl", prompt_tokens, "tokens of a prompt");
  add_count(app, "--osl", output_tokens, "tokens of an answer");
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

void add_latency_limit_options(App& app, double& ttft_ms, double& tpot_ms) {
  app.add_option("--ttft", ttft_ms, "most time to the first token, in ms")
      ->type_name("MS")
      ->default_str("5000")
      ->check(positive_number_problem);
  app.add_option("--tpot", tpot_ms, "most time for each further token, in ms")
      ->type_name("MS")
      ->default_str("60")
      ->check(positive_number_problem);
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
  add_systems_option(app, served.systems);
}

void add_version_option(App& app, ServedModel& served) {
  app.add_option("--backend-version", served.version, "the engine's version")
      ->type_name("VERSION")
      ->default_str("the newest");
}

}  // namespace

void add_served_model(App& app, ServedModel& served) {
  add_model_and_system(app, served);
  add_choice(app, "--backend", served.engine, kEngines, "the engine that serves");
  add_version_option(app, served);
}

void add_searched_model(App& app, ServedModel& served, std::vector<plan::Engine>& engines) {
  add_model_and_system(app, served);
  Choices<std::vector<plan::Engine>> choices;
  std::vector<plan::Engine> all;
  for (const auto& [name, engine] : kEngines) {
    choices.push_back({name, {engine}});
    all.push_back(engine);
  }
  choices.push_back({"any", all});
  add_choice(app, "--backend", engines, choices,
             "the engine that serves; any: all of them, in one ranking");
  add_version_option(app, served);
}

}  // namespace assay::cli
