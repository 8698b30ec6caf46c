#include "cli/collect_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "cli/axis_values.h"
#include "cli/options.h"
#include "cli/version.h"
#include "cli/workers.h"
#include "collect/listing.h"
#include "core/line_process.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSmokeCases = 4;

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const collect::Operator* of : collect::all_operators())
    names.emplace_back(of->name);
  return names;
}

const collect::Axis* find_axis(const collect::Operator& of, const std::string& option) {
  const auto found = std::find_if(of.axes.begin(), of.axes.end(), [&](const collect::Axis& axis) {
    return collect::option_name(axis) == option;
  });
  return found == of.axes.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> CollectArguments::named() const {
  std::vector<std::string> names = positional_;
  names.insert(names.end(), ops_.begin(), ops_.end());
  return names;
}

core::Status CollectArguments::check() const {
  ASSAY_TRY(check_names());
  ASSAY_TRY(check_axes());
  if (kind_ == Kind::kCpu && !gpus_.empty()) {
    return core::Error{"--gpus and --device cpu exclude each other"};
  }
  const bool resumes = resume_ || retry_failed_;
  if (resumes && new_run_) return core::Error{"--resume and --new-run exclude each other"};
  if (resumes && (plan_only_ || list_)) {
    return core::Error{"--plan-only and --list start nothing to resume"};
  }
  const bool odd = backend_.find_first_of("/,\"\n") != std::string::npos;
  if (odd)
    return core::Error{
        fmt::format("--backend: '{}' must have no '/', ',', '\"' or end of line", backend_)};
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
    const collect::Operator* of = collect::find_operator(name);
    const bool again = std::find(operators.begin(), operators.end(), of) != operators.end();
    if (!again) operators.push_back(of);
  }
  return operators;
}

core::Result<collect::PlanOptions> CollectArguments::plan_options() const {
  collect::PlanOptions options{.operators = operators(), .grid = grid_};
  for (const auto& [option, list] : axis_values_) {
    if (list.empty()) continue;
    const collect::Operator& of = *options.operators.front();
    options.overrides.push_back(ASSAY_TRY(axis_override(of, *find_axis(of, option), list)));
  }
  options.case_filters = case_filters_;
  options.limit = limit_;
  if (smoke_ && !limit_) options.limit = kSmokeCases;
  const bool shuffled = smoke_ || shuffle_;
  options.order = shuffled ? collect::Order::kShuffled : collect::Order::kDeclared;
  options.seed = seed_;
  options.check_every = check_every_;
  return options;
}

core::Result<std::vector<int>> CollectArguments::used_gpus() const {
  if (kind_ == Kind::kCpu || !gpus_.empty()) return gpus_;
  const auto count = count_gpus();
  if (!count.ok()) return count.error();
  if (count.value() == 0) {
    return core::Error{
        "no NVIDIA GPU is here (see nvidia-smi and CUDA_VISIBLE_DEVICES); --device cpu measures on "
        "the CPU"};
  }
  std::vector<int> all(static_cast<std::size_t>(count.value()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

core::Result<fs::path> CollectArguments::worker(bool on_cpu) const {
  auto named = ASSAY_TRY(named_worker(worker_));
  if (!named.empty()) return named;
  auto own = core::find_own_program(on_cpu ? "assay-cpu-worker" : "assay-worker");
  if (own.ok()) return own;
  return core::Error{fmt::format(
      "{}; this build has no {} part: build it where {} is, or name the program with --worker",
      own.error().message, on_cpu ? "oneDNN" : "CUDA", on_cpu ? "oneDNN" : "CUDA")};
}

// As a refusal to resume names them.
collect::Settings CollectArguments::settings() const {
  const collect::MeasureOptions& measuring = request_.options;
  collect::Settings settings;
  settings["--grid"] = grid_ == collect::Grid::kCommon   ? "common"
                       : grid_ == collect::Grid::kCoarse ? "coarse"
                                                         : "fine";
  std::vector<std::string> names;
  for (const collect::Operator* of : operators())
    names.emplace_back(of->name);
  settings["operators"] = core::join(names, " ");
  for (const auto& [option, list] : axis_values_) {
    if (!list.empty()) settings["--" + option] = list;
  }
  settings["--case-filter"] = core::join(case_filters_, " or ");
  settings["--limit"] = limit_ ? std::to_string(*limit_) : "";
  settings["--smoke"] = smoke_ ? "on" : "off";
  // Without a limit the order changes neither cases nor results.
  if (limit_ && shuffle_) settings["--shuffle"] = "on";
  settings["--seed"] = std::to_string(seed_);
  settings["--l2"] = measuring.l2 == model::L2State::kHot ? "hot" : "cold";
  settings["--launch"] = measuring.launch == model::Launch::kGraph ? "graph" : "eager";
  settings["--certainty"] = fmt::format("{}", certainty_percent_);
  settings["--num-warmups"] = std::to_string(measuring.num_warmups);
  settings["--num-runs"] = std::to_string(measuring.num_runs);
  settings["--repeat-n"] = std::to_string(measuring.repeat_n);
  settings["--measure-power"] = request_.measure_power ? "on" : "off";
  settings["--power-seconds"] = fmt::format("{}", request_.power_seconds);
  settings["--backend"] = backend_;
  return settings;
}

core::Result<collect::CollectOptions> CollectArguments::collect_options() const {
  collect::CollectOptions options;
  options.folder = folder_;
  options.beginning = retry_failed_ ? collect::Beginning::kRetryFailed
                      : resume_     ? collect::Beginning::kResume
                      : new_run_    ? collect::Beginning::kFresh
                                    : collect::Beginning::kNew;
  options.settings = settings();
  options.record = {{"command line", own_command_line()}, {"made by", program_version()}};
  options.gpus = ASSAY_TRY(used_gpus());
  options.worker = ASSAY_TRY(worker(options.gpus.empty()));
  options.deadlines.of_case = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::duration<double>(deadline_seconds_));
  options.request = request_;
  options.request.options.certainty = certainty_percent_ / 100;
  options.backend = backend_;
  return options;
}

}  // namespace assay::cli
