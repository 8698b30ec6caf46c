#include "cli/collect_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "cli/collecting.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"
#include "collect/plan/plan_for_models.h"
#include "doctor/doctor.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSmokeCases = 4;

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const collect::Operator* op : collect::all_operators())
    names.emplace_back(op->name);
  return names;
}

const collect::Axis* find_axis(const collect::Operator& op, const std::string& option) {
  const auto found = std::find_if(op.axes.begin(), op.axes.end(), [&](const collect::Axis& axis) {
    return collect::option_name(axis) == option;
  });
  return found == op.axes.end() ? nullptr : &*found;
}

// Returns the facts of this machine for the run's record. A driver that does not answer is not an
// error here, because the workers report any problem.
collect::Settings environment() {
  collect::Settings facts;
  const auto known = doctor::environment_facts();
  if (!known.ok()) return {{"environment", known.error().message}};
  for (const model::Fact& fact : known.value()) {
    const std::string unit = fact.unit.empty() ? "" : " " + fact.unit;
    facts[fact.item] = model::text(fact.value) + unit;
  }
  return facts;
}

}  // namespace

std::vector<std::string> CollectArguments::named() const {
  std::vector<std::string> names = positional_;
  names.insert(names.end(), ops_.begin(), ops_.end());
  return names;
}

core::Status CollectArguments::check() const {
  ASSAY_TRY(check_models());
  if (module_.empty()) {
    ASSAY_TRY(check_names());
    if (for_models_.empty()) ASSAY_TRY(check_axes());
  } else {
    ASSAY_TRY(check_module());
  }
  ASSAY_TRY(device_.check());
  ASSAY_TRY(check_refine());
  ASSAY_TRY(check_choice_of_cases());
  if (resumes() && new_run_) return core::Error{"--resume and --new-run exclude each other"};
  if (resumes() && (plan_only_ || list_)) {
    return core::Error{"--plan-only and --list start nothing to resume"};
  }
  const bool odd = backend_.find_first_of("/,\"\n") != std::string::npos;
  if (odd)
    return core::Error{
        fmt::format("--backend: '{}' must have no '/', ',', '\"' or end of line", backend_)};
  return {};
}

core::Status CollectArguments::check_choice_of_cases() const {
  if (given_.contains("--seed") && !smoke_ && !shuffle_)
    return core::Error{"--seed is of a random order: --shuffle or --smoke"};
  if (!list_) return {};
  for (const char* option : {"--for-model", "--grid", "--case-filter", "--unless-in", "--limit",
                             "--smoke", "--shuffle"}) {
    if (!given_.contains(option)) continue;
    return core::Error{fmt::format(
        "--list counts all cases of each grid; --plan-only shows which of them {} leaves", option)};
  }
  return {};
}

core::Status CollectArguments::check_module() const {
  if (list_) return core::Error{"--list shows assay's own operators; --plan-only shows a module's"};
  for (const auto& [option, list] : axis_values_) {
    if (!list.empty()) {
      return core::Error{fmt::format("--{}: a module lists its cases itself", option)};
    }
  }
  return {};
}

core::Status CollectArguments::check_names() const {
  const std::vector<std::string> known = known_names();
  for (const std::string& name : named()) {
    if (collect::find_operator(name) != nullptr) continue;
    const std::string near = core::nearest(name, known);
    const std::string hint = near.empty() ? "" : fmt::format("did you mean '{}'? ", near);
    return core::Error{fmt::format("unknown operator '{}'; {}the operators are {}", name, hint,
                                   core::join(known, ", "))};
  }
  return {};
}

core::Status CollectArguments::check_models() const {
  if (for_models_.empty()) {
    for (const char* option : {"--quant", "--phase", "--speculative-tokens"}) {
      if (given_.contains(option))
        return core::Error{fmt::format("{} is of models: name them by --for-model", option)};
    }
    return {};
  }
  if (!module_.empty())
    return core::Error{"--for-model is for assay's own operators, not a --module"};
  if (refine_) {
    return core::Error{
        "--for-model and --refine exclude each other: the store's points are refined"};
  }
  for (const auto& [option, list] : axis_values_) {
    if (list.empty()) continue;
    if (option == "tp" || option == "ep") {
      const std::string problem = gpu_count_problem(list);
      if (!problem.empty()) return core::Error{fmt::format("--{}: {}", option, problem)};
      continue;
    }
    return core::Error{
        fmt::format("--{} and --for-model exclude each other: the models tell the "
                    "values; --case-filter chooses among their cases",
                    option)};
  }
  return {};
}

core::Status CollectArguments::check_axes() const {
  const auto all = operators();
  for (const auto& [option, list] : axis_values_) {
    if (list.empty()) continue;
    if (!names_operators() || all.size() != 1) {
      return core::Error{
          fmt::format("--{} is an axis: name the one operator that it is of", option)};
    }
    if (find_axis(*all.front(), option) != nullptr) continue;
    std::vector<std::string> names;
    for (const collect::Axis& axis : all.front()->axes)
      names.push_back("--" + collect::option_name(axis));
    return core::Error{fmt::format("{} has no axis --{}; it has {}", all.front()->name, option,
                                   core::join(names, ", "))};
  }
  if (!names_operators() || all.size() != 1) return {};
  const auto options = plan_options();
  if (!options.ok()) return options.error();
  return {};
}

std::vector<const collect::Operator*> CollectArguments::operators() const {
  if (!names_operators()) return collect::all_operators();
  std::vector<const collect::Operator*> operators;
  for (const std::string& name : named()) {
    const collect::Operator* op = collect::find_operator(name);
    const bool again = std::find(operators.begin(), operators.end(), op) != operators.end();
    if (!again) operators.push_back(op);
  }
  return operators;
}

core::Result<collect::Plan> CollectArguments::plan() const {
  const collect::PlanOptions options = ASSAY_TRY(plan_options());
  collect::Plan plan;
  if (!for_models_.empty()) {
    plan = ASSAY_TRY(plan_of_models(options));
  } else if (module_.empty()) {
    plan = collect::make_plan(options);
  } else {
    const auto listing = ASSAY_TRY(collect::list_module(ASSAY_TRY(module_program(module_))));
    for (const std::string& note : listing.notes)
      print_warning(note);
    plan = ASSAY_TRY(collect::make_module_plan(listing.operators, named(), options));
  }
  if (!plan.cases.empty()) return plan;
  return core::Error{
      "no case to measure: --case-filter, --unless-in, --limit or the guardrails of the operators "
      "leave none "
      "(--plan-only shows cases)"};
}

core::Result<collect::Plan> CollectArguments::plan_of_models(
    const collect::PlanOptions& options) const {
  const auto given = [&](const char* option) {
    const auto found = axis_values_.find(option);
    return found == axis_values_.end() ? std::string() : found->second;
  };
  const serving::NeedsRequest request =
      ASSAY_TRY(models_.request(for_models_, given("tp"), given("ep")));
  const serving::Needs needs = serving::needs_of(request);
  for (const std::string& note : notes_of_excluded(needs.excluded))
    print_note(note);
  collect::ModelsPlan made = collect::plan_for_models(request, needs.needs, options);
  for (const collect::Unmeasured& unmeasured : made.unmeasured) {
    print_warning(fmt::format("{} is left out, of which the models need {} {}: {}",
                              unmeasured.operator_name, unmeasured.uses,
                              unmeasured.uses == 1 ? "shape" : "shapes", unmeasured.reason));
  }
  return std::move(made.plan);
}

collect::Grid CollectArguments::grid() const {
  // A module lists its cases itself.
  const bool on_cpu = device_.kind == DeviceKind::kCpu && module_.empty();
  if (given_.contains("--grid")) return grid_;
  if (on_cpu) return collect::Grid::kCpu;
  return for_models_.empty() ? grid_ : collect::Grid::kModels;
}

core::Result<collect::PlanOptions> CollectArguments::plan_options() const {
  collect::PlanOptions options{.grid = grid()};
  if (module_.empty()) options.operators = operators();
  if (ASSAY_TRY(own_rank())) {
    ASSAY_TRY(collect::keep_collectives(
        options.operators, names_operators() ? collect::Chosen::kByName : collect::Chosen::kAll));
  }
  for (const auto& [option, list] : axis_values_) {
    if (list.empty() || !for_models_.empty()) continue;
    const collect::Operator& op = *options.operators.front();
    options.overrides.push_back(
        ASSAY_TRY(collect::parse_override(op, *find_axis(op, option), split(list, ','))));
  }
  options.case_filters = case_filters_;
  if (!unless_in_.empty())
    options.measured = ASSAY_TRY(collect::measured_cases(unless_in_, request().options));
  if (request_.measure_power) options.power_every = request_.power_every;
  options.limit = limit_;
  if (smoke_ && !limit_) options.limit = kSmokeCases;
  const bool shuffled = smoke_ || shuffle_;
  options.order = shuffled ? collect::Order::kShuffled : collect::Order::kMixed;
  options.seed = seed_;
  options.check_every = check_every_;
  return options;
}

core::Status CollectArguments::choose_worker(const DeviceArguments& device,
                                             collect::CollectOptions& options) const {
  if (!module_.empty()) {
    options.worker = worker_of(ASSAY_TRY(module_program(module_)));
    return {};
  }
  const fs::path program = ASSAY_TRY(device.worker_program());
  if (!ASSAY_TRY(own_rank())) {
    options.worker = worker_of(program);
    return {};
  }
  options.worker = worker_in_job(program);
  options.gpus.clear();
  options.place = "the MPI job";
  return {};
}

core::Status CollectArguments::follow_if_launched() const {
  const auto rank = ASSAY_TRY(own_rank());
  if (!rank || rank->rank == 0) return {};
  return become_follower(ASSAY_TRY(device_.worker_program()));
}

core::Result<std::optional<doctor::ClockLock>> CollectArguments::lock_clocks(
    collect::CollectOptions& options) const {
  const std::vector<int>& gpus = options.gpus;
  if (lock_clocks_.empty()) return std::optional<doctor::ClockLock>();
  if (gpus.empty()) return core::Error{"--lock-clocks is for GPUs of this machine"};
  if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) {
    return core::Error{
        "--lock-clocks counts GPUs as nvidia-smi does: unset CUDA_VISIBLE_DEVICES and choose with "
        "--gpus"};
  }
  options.environment.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  return std::optional(
      ASSAY_TRY(doctor::ClockLock::acquire(gpus, ASSAY_TRY(doctor::parse_clocks(lock_clocks_)))));
}

collect::CaseRequest CollectArguments::request() const {
  collect::CaseRequest request = request_;
  request.options.certainty = certainty_percent_ / 100;
  return request;
}

// Returns the settings under the names that they have in a refusal to resume.
collect::Settings CollectArguments::settings() const {
  collect::Settings settings = collect::settings_of(request());
  settings["--grid"] = collect::name_of(grid());
  std::vector<std::string> names = named();
  if (module_.empty()) {
    names.clear();
    for (const collect::Operator* op : operators())
      names.emplace_back(op->name);
  }
  settings["--module"] = module_.string();
  settings["operators"] = core::join(names, " ");
  for (const auto& [option, list] : axis_values_) {
    if (!list.empty()) settings["--" + option] = list;
  }
  settings["--for-model"] = core::join(for_models_, " ");
  settings["--case-filter"] = core::join(case_filters_, " or ");
  settings["--unless-in"] = unless_in_.string();
  if (refine_) {
    settings.erase("--grid");
    settings["--refine"] = fmt::format("beyond {:g} %", refine_limit_percent_);
    settings["--refine-from"] = refine_from_.string();
  }
  settings["--limit"] = limit_ ? std::to_string(*limit_) : "";
  settings["--smoke"] = smoke_ ? "on" : "off";
  // Without a limit, the order changes neither the cases nor their results.
  if (limit_ && shuffle_) settings["--shuffle"] = "on";
  settings["--seed"] = std::to_string(seed_);
  settings["--backend"] = backend_;
  return settings;
}

collect::CollectOptions CollectArguments::common_options() const {
  collect::CollectOptions options;
  options.folder = folder_;
  options.beginning = retry_failed_ ? collect::Beginning::kRetryFailed
                      : resume_     ? collect::Beginning::kResume
                      : new_run_    ? collect::Beginning::kFresh
                                    : collect::Beginning::kNew;
  options.settings = settings();
  options.record = collect::record_of_deadline(deadline_seconds_);
  options.record["command line"] = own_command_line();
  options.record["made by"] = program_version();
  options.record["--lock-clocks"] = lock_clocks_;
  if (module_.empty()) options.record["--check-every"] = std::to_string(check_every_);
  for (const auto& [item, value] : environment())
    options.record[item] = value;
  options.deadlines.of_case = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::duration<double>(deadline_seconds_));
  options.request = request();
  options.backend = backend_;
  return options;
}

core::Status CollectArguments::check_refine() const {
  if (!refine_) return {};
  if (list_) return core::Error{"--refine and --list exclude each other"};
  if (!module_.empty()) return core::Error{"--refine is for assay's own operators, not a --module"};
  if (given_.contains("--grid")) {
    return core::Error{"--refine and --grid exclude each other: the store's points are the grid"};
  }
  for (const auto& [option, list] : axis_values_) {
    if (list.empty()) continue;
    return core::Error{fmt::format(
        "--refine chooses the values of --{} itself; --case-filter chooses among its cases",
        option)};
  }
  return {};
}

core::Result<collect::RefinedRun> CollectArguments::find_refined() const {
  if (resumes()) return collect::find_refined_before(folder_, refine_from_);
  return collect::find_refined(folder_, refine_from_);
}

core::Result<collect::Refinement> CollectArguments::refinement() const {
  const collect::RefinedRun refined = ASSAY_TRY(find_refined());
  collect::PlanOptions options = ASSAY_TRY(plan_options());
  const auto then = ASSAY_TRY(collect::request_of(collect::recorded_settings(refined.run)));
  if (then.measure_power) options.power_every = then.power_every;
  return collect::plan_refinement(
      refined.store, {.run = refined.id, .limit = refine_limit(), .options = std::move(options)});
}

core::Result<collect::CollectOptions> CollectArguments::refine_options() const {
  const collect::RefinedRun refined = ASSAY_TRY(find_refined());
  collect::CollectOptions options = common_options();
  ASSAY_TRY(collect::measure_like(refined, given_, options));
  const std::string clocks = collect::clock_difference(refined.run, options.record);
  if (!clocks.empty())
    print_warning("points are measured beside others of other clocks: " + clocks);
  const DeviceArguments device =
      collect::was_on_cpu(refined.run) ? device_.with_default(DeviceKind::kCpu) : device_;
  options.gpus = ASSAY_TRY(device.used_gpus());
  ASSAY_TRY(choose_worker(device, options));
  warn_of_other_work(options);
  return options;
}

core::Result<collect::CollectOptions> CollectArguments::collect_options() const {
  if (refine_) return refine_options();
  collect::CollectOptions options = common_options();
  options.gpus = ASSAY_TRY(device_.used_gpus());
  ASSAY_TRY(choose_worker(device_, options));
  warn_of_other_work(options);
  return options;
}

}  // namespace assay::cli
