// The declarations of the options of `assay collect`.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "cli/collect_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "collect/plan/operator.h"

namespace assay::cli {
namespace {

constexpr const char* kWhatGroup = "What is measured";
constexpr const char* kAxesGroup = "Values of axes, when one operator is named";
constexpr const char* kHowGroup = "How it is measured";
constexpr const char* kRunGroup = "Run options";
constexpr const char* kOutputGroup = "Output options";

constexpr std::size_t kMostHelps = 2;  // help texts for one axis of several operators

// Returns the option's name with dashes and with the underscores of the public collector.
std::string both(const std::string& name) {
  std::string other = name;
  std::replace(other.begin(), other.end(), '-', '_');
  return other == name ? "--" + name : "--" + name + ",--" + other;
}

std::vector<std::string> operator_words() {
  std::vector<std::string> words;
  for (const collect::Operator* op : collect::all_operators())
    words.emplace_back(op->name);
  return words;
}

std::string help_of(const collect::Axis& axis) {
  const bool told = axis.unit.empty() || axis.help.find(axis.unit) != std::string::npos;
  return told ? axis.help : fmt::format("{} ({})", axis.help, axis.unit);
}

// Returns the help texts of axes by the name of their option. Operators may describe an axis
// differently.
std::map<std::string, std::vector<std::string>> axis_helps() {
  std::map<std::string, std::vector<std::string>> helps;
  for (const collect::Operator* op : collect::all_operators()) {
    for (const collect::Axis& axis : op->axes) {
      std::vector<std::string>& texts = helps[collect::option_name(axis)];
      const std::string help = help_of(axis);
      if (std::find(texts.begin(), texts.end(), help) == texts.end()) texts.push_back(help);
    }
  }
  return helps;
}

}  // namespace

CollectArguments::CollectArguments(App& app) {
  app.note_given(given_);
  add_what(app);
  add_refining(app);
  add_how(app);
  add_running(app);
  add_axes(app);
  app.add_option("-o,--output", folder_, "folder of the store, the tables and the reports")
      ->type_name("DIR")
      ->default_str("perf")
      ->group(kOutputGroup);
  add_presentation_options(app, presentation_);
}

void CollectArguments::add_what(App& app) {
  app.add_option("OPERATOR", positional_, "operators to measure; --list shows them")
      ->suggest(operator_words());
  app.add_option("--ops", ops_, "operators, by commas or spaces")
      ->type_name("OPERATOR")
      ->suggest(operator_words())
      ->delimiter(',')
      ->default_str("all")
      ->group(kWhatGroup);
  app.add_option("--module", module_,
                 "a Python file with get_..._test_cases() and run_...(), in place of assay's own "
                 "operators; OPERATOR chooses among its own")
      ->type_name("FILE.py")
      ->group(kWhatGroup);
  app.add_option("--for-model,--for_model", for_models_,
                 "measure what serving these models needs: config.json files, folders that have "
                 "one, names of models that ship with assay, or 'all' of these; --tp and --ep are "
                 "then the numbers of GPUs of a deployment")
      ->type_name("CONFIG")
      ->suggest(model_words_or_all())
      ->group(kWhatGroup);
  models_.add_precision(app, kWhatGroup);
  add_choice<collect::Grid>(
      app, "--grid", grid_,
      {{"common", collect::Grid::kCommon},
       {"coarse", collect::Grid::kCoarse},
       {"fine", collect::Grid::kFine},
       {"cpu", collect::Grid::kCpu},
       {"models", collect::Grid::kModels}},
      "common: the public collector's points; coarse: few over the whole range; "
      "fine: with those beside the edges of tiles and waves; cpu: at most 100 that are quick on a "
      "CPU; models: coarse, with more tokens and requests")
      ->default_str("common; of --device cpu: cpu; of --for-model: models")
      ->group(kWhatGroup);
  app.add_option(both("case-filter"), case_filters_,
                 "only cases whose id (see --plan-only) has this text, such as 'm=1 '; given "
                 "again: or that text")
      ->type_name("TEXT")
      ->one_value_each()
      ->group(kWhatGroup);
  app.add_option(both("unless-in"), unless_in_,
                 "leave out cases that another store has measured with the same --l2 and --launch: "
                 "a file, or the name of a shipped one")
      ->type_name("STORE")
      ->group(kWhatGroup);
  app.add_option(
         "--limit", limit_,
         "only N cases of each operator: the first by falling sizes, with --shuffle any; of "
         "--refine the worst N")
      ->type_name("N")
      ->check(whole_number_problem)
      ->group(kWhatGroup);
  app.add_flag("--smoke", smoke_, "4 cases of each operator (or --limit), taken at random")
      ->group(kWhatGroup);
  app.add_flag("--shuffle", shuffle_, "in random order within each operator")->group(kWhatGroup);
  app.add_option("--seed", seed_, "of the random order of --smoke and --shuffle")
      ->type_name("N")
      ->check(count_problem)
      ->default_str("42")
      ->group(kWhatGroup);
}

void CollectArguments::add_refining(App& app) {
  Option* refine =
      app.add_flag("--refine", refine_,
                   "measure points between those that the store in --output has, where predicting "
                   "a point from its neighbours goes wrong; as a run of the same settings")
          ->group(kWhatGroup);
  app.add_option(both("refine-limit"), refine_limit_percent_,
                 "error of a predicted point that calls for points beside it")
      ->type_name("PERCENT")
      ->check(not_negative_problem)
      ->default_str("5")
      ->needs(refine)
      ->group(kWhatGroup);
  app.add_option(both("refine-from"), refine_from_,
                 "refine the points of this store instead: a file, or the name of a shipped one")
      ->type_name("STORE")
      ->default_str("that in --output")
      ->needs(refine)
      ->group(kWhatGroup);
}

// Declares one option for all axes of the same name.
void CollectArguments::add_axes(App& app) {
  for (const auto& [name, texts] : axis_helps()) {
    ASSAY_CHECK(app.find("--" + name) == nullptr, "an axis has the name of an option of collect");
    const std::string help =
        texts.size() > kMostHelps ? "differs: see OPERATOR --list" : core::join(texts, "; or ");
    app.add_option(both(name), axis_values_[name], help)->type_name("V,V")->group(kAxesGroup);
  }
}

void CollectArguments::add_how(App& app) {
  add_choice<model::L2State>(
      app, "--l2", request_.options.l2,
      {{"engine", model::L2State::kEngine},
       {"hot", model::L2State::kHot},
       {"cold", model::L2State::kCold}},
      "what of its data a launch may find in the L2 cache; engine: activations but neither weights "
      "nor caches of keys and values")
      ->group(kHowGroup);
  add_choice<model::Launch>(app, "--launch", request_.options.launch,
                            {{"graph", model::Launch::kGraph}, {"eager", model::Launch::kEager}},
                            "replayed from a CUDA graph; eager: launched one by one")
      ->group(kHowGroup);
  app.add_option("--certainty", certainty_percent_,
                 "measure until the interval of the median (at least 95 %) is within this "
                 "share of it")
      ->type_name("PERCENT")
      ->check(positive_number_problem)
      ->default_str("1")
      ->group(kHowGroup);
  app.add_option(both("num-warmups"), request_.options.num_warmups, "launches before timing")
      ->type_name("N")
      ->check(count_problem)
      ->default_str("3")
      ->group(kHowGroup);
  app.add_option(both("num-runs"), request_.options.num_runs,
                 "this many samples instead of as many as certainty takes")
      ->type_name("N")
      ->check(whole_number_problem)
      ->group(kHowGroup);
  app.add_option(both("repeat-n"), request_.options.repeat_n,
                 "launches in a sample, instead of as many as 1 ms takes")
      ->type_name("N")
      ->check(whole_number_problem)
      ->group(kHowGroup);
  app.add_option(both("check-every"), check_every_,
                 "compare every Nth case of an operator, and its first 3, with a reference of "
                 "higher precision before timing; 0: none")
      ->type_name("N")
      ->check(count_problem)
      ->default_str("100")
      ->group(kHowGroup);
  Option* measure_power = app.add_flag(both("measure-power"), request_.measure_power,
                                       "measure energy (J) and mean power (W) too")
                              ->group(kHowGroup);
  app.add_option(both("power-every"), request_.power_every,
                 "with --measure-power: of cases that differ only in sizes, such as --m, every Nth "
                 "along each size, and the largest; the others have no power")
      ->type_name("N")
      ->check(count_problem)
      ->default_str("1")
      ->needs(measure_power)
      ->group(kHowGroup);
  app.add_option("--power-seconds,--power_test_duration_sec", request_.power_seconds,
                 "the time between two steps of the energy counter over which the power is taken, "
                 "at least")
      ->type_name("SECONDS")
      ->check(positive_number_problem)
      ->default_str("0.4")
      ->needs(measure_power)
      ->group(kHowGroup);
}

void CollectArguments::add_running(App& app) {
  add_device_options(app, device_, "cuda", kRunGroup);
  app.add_option("--deadline", deadline_seconds_,
                 "that a case may take; one that takes longer has failed")
      ->type_name("SECONDS")
      ->check(positive_number_problem)
      ->default_str("60")
      ->group(kRunGroup);
  app.add_option("--lock-clocks", lock_clocks_,
                 "lock the GPUs' clocks for the time of the run, and always unlock them: the SM's "
                 "and the memory's, in MHz ('assay doctor' tells which)")
      ->type_name("SM,MEM")
      ->check([](const std::string& text) {
        const auto clocks = doctor::parse_clocks(text);
        return clocks.ok() ? std::string() : clocks.error().message;
      })
      ->group(kHowGroup);
  app.add_flag("--resume", resume_, "go on with the last run in --output")->group(kRunGroup);
  app.add_flag(both("resume-retry-failed"), retry_failed_,
               "the same, and measure the failed cases again")
      ->group(kRunGroup);
  app.add_flag(both("new-run"), new_run_,
               "begin a new run though the last one in --output is not finished")
      ->group(kRunGroup);
  app.add_flag(both("plan-only"), plan_only_, "show the cases; start and write nothing")
      ->group(kRunGroup);
  app.add_flag("--list", list_,
               "show the operators and how many cases each grid has; of named ones their axes")
      ->group(kRunGroup);
  app.add_option("--backend", backend_,
                 "what the tables have in the column framework, except for rows of a --module, and "
                 "reports in their names")
      ->type_name("NAME")
      ->default_str("assay")
      ->group(kRunGroup);
}

}  // namespace assay::cli
