#include "cli/allreduce_options.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "allreduce/bench/benchmark_file.h"
#include "allreduce/benchmark_csv.h"
#include "cli/options.h"
#include "cli/trace_options.h"
#include "core/files.h"

namespace assay::cli {
namespace {

constexpr double kPercent = 100;

Choices<allreduce::Strategy> strategy_choices() {
  Choices<allreduce::Strategy> choices;
  for (const allreduce::Strategy strategy : allreduce::all_strategies())
    choices.emplace_back(name_of(strategy), strategy);
  return choices;
}

// NCCL, which can do everything, first.
Choices<allreduce::Strategy> fallback_choices() {
  Choices<allreduce::Strategy> choices = strategy_choices();
  std::rotate(choices.begin(), choices.end() - 1, choices.end());
  return choices;
}

const Choices<allreduce::DataType> kDataTypes{{"bfloat16", allreduce::DataType::kBfloat16},
                                              {"float16", allreduce::DataType::kFloat16},
                                              {"float32", allreduce::DataType::kFloat32}};
const Choices<allreduce::Launch> kLaunches{{"graph", allreduce::Launch::kGraph},
                                           {"eager", allreduce::Launch::kEager}};

Option* add_percent(App& app, const std::string& name, double& part, const std::string& help) {
  return app
      .add_option(
          name, [&part](const std::string& text) { part = part_of_percent(text); }, help)
      ->type_name("PERCENT")
      ->default_str(fmt::format("{:g}", part * kPercent))
      ->check(percent_problem);
}

// What the file beside a benchmark says: "NVIDIA H200, CUDA 13.0, NCCL 2.28.9, 2026-11-21, of ".
// Other people's benchmarks have no such file.
std::string measured_on(const std::filesystem::path& benchmark) {
  const auto text = core::read_file(allreduce::provenance_path(benchmark));
  if (!text.ok()) return "";
  const auto kept = nlohmann::json::parse(text.value(), nullptr, false);
  const auto settings = kept.is_object() ? kept.find("settings") : kept.end();
  if (!kept.is_object() || settings == kept.end() || !settings->is_object()) return "";
  const auto word = [](const nlohmann::json& of, const char* name) {
    const auto found = of.find(name);
    return found != of.end() && found->is_string() ? found->get<std::string>() : std::string("?");
  };
  const auto runs = kept.find("runs");
  const bool has_run = runs != kept.end() && runs->is_array() && !runs->empty();
  const std::string date = has_run && runs->front().is_object() ? word(runs->front(), "date") : "?";
  return fmt::format("{}, CUDA {}, NCCL {}, {}, of ", word(*settings, "GPU"),
                     word(*settings, "CUDA runtime"), word(*settings, "NCCL"), date.substr(0, 10));
}

std::string provenance(const allreduce::BenchmarkFolder& folder,
                       const allreduce::Benchmark& benchmark) {
  std::string names;
  for (const std::filesystem::path& file : folder.files)
    names += (names.empty() ? "" : " ") + file.filename().string();
  const auto times = std::count_if(
      benchmark.measurements.begin(), benchmark.measurements.end(),
      [](const allreduce::Measurement& measurement) { return !std::isnan(measurement.time_us); });
  return fmt::format("{}{} times in {}", measured_on(folder.files.front()), times, names);
}

}  // namespace

Option* add_tuning_options(App& app, TuningArguments& arguments) {
  Option* folder = app.add_option("--data_dir,--data-dir", arguments.data_folder,
                                  "the folder of the benchmark.tp{N}.sm{V}.csv files");
  folder->type_name("DIR");
  app.add_option("--sm_version,--sm-version", arguments.sm_version,
                 "of the files to read: 90 for compute capability 9.0")
      ->type_name("N")
      ->default_str("the one that the folder has");
  add_choice(app, "--dtype", arguments.tuning.data_type, kDataTypes, "type of the elements");
  add_choice(app, "--launch", arguments.tuning.launch, kLaunches,
             "how the measured calls were launched: from a CUDA graph or one by one");
  add_choice_list(app, "--strategies", arguments.tuning.strategies, strategy_choices(),
                  "what may be chosen; NCCL_SYMMETRIC enters the lookup table only when it is "
                  "named here");
  add_percent(app, "--tie", arguments.tuning.tie, "a gain below this part of the time is none");
  add_percent(app, "--noise", arguments.tuning.noise,
              "half of the 95 % interval of times whose file gives none");
  add_choice(app, "--fallback", arguments.tuning.fallback, fallback_choices(),
             "the strategy where nothing was measured");
  return folder;
}

double part_of_percent(std::string_view text) {
  if (!text.empty() && text.back() == '%') text.remove_suffix(1);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value / kPercent;
}

std::string percent_problem(const std::string& text) {
  const bool has_sign = !text.empty() && text.back() == '%';
  const std::string number = has_sign ? text.substr(0, text.size() - 1) : text;
  if (!not_negative_problem(number).empty() || part_of_percent(number) > 1) {
    return fmt::format("'{}' is not a percentage from 0 to 100, such as 2%", text);
  }
  return "";
}

core::Result<TunedBenchmark> load_tuned(const std::filesystem::path& folder,
                                        const TuningArguments& arguments) {
  const allreduce::BenchmarkFolder files =
      ASSAY_TRY(allreduce::find_benchmarks(folder, arguments.sm_version, arguments.tuning.launch));
  allreduce::Benchmark benchmark = ASSAY_TRY(allreduce::read_benchmarks(files));
  show_warnings(benchmark.warnings);
  auto tables = allreduce::tune(benchmark, arguments.tuning, provenance(files, benchmark));
  if (!tables.ok()) return tables.error().context("'" + folder.string() + "'");
  return TunedBenchmark{std::move(benchmark), std::move(tables).value()};
}

}  // namespace assay::cli
