#include "cli/allreduce_commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "allreduce/bench/benchmark_summary.h"
#include "allreduce/benchmark_csv.h"
#include "allreduce/estimates.h"
#include "allreduce/measured_on.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/trace_options.h"
#include "cli/version.h"
#include "cli/workers.h"
#include "core/file_kind.h"
#include "core/interrupt.h"
#include "core/terminal.h"

namespace assay::cli {
namespace {

constexpr double kPercent = 100;

// Ctrl-C ends a worker within a second, but one that is stuck in the driver takes longer.
constexpr unsigned kSecondsToStop = 15;

template <class Enum, std::size_t kCount>
Choices<Enum> numbered_choices(const std::array<std::string_view, kCount>& names) {
  Choices<Enum> choices;
  for (std::size_t i = 0; i < kCount; ++i)
    choices.emplace_back(names.at(i), static_cast<Enum>(i));
  return choices;
}

// NCCL comes first, because it can do everything.
Choices<allreduce::Strategy> fallback_choices() {
  Choices<allreduce::Strategy> choices;
  for (const allreduce::Strategy strategy : allreduce::all_strategies()) {
    const bool is_nccl = strategy == allreduce::Strategy::kNccl;
    choices.emplace(is_nccl ? choices.begin() : choices.end(), name_of(strategy), strategy);
  }
  return choices;
}

// Returns 0.02 for "2%" and for "2".
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

Option* add_percent(App& app, const std::string& name, double& part, const std::string& help) {
  return app
      .add_option(
          name, [&part](const std::string& text) { part = part_of_percent(text); }, help)
      ->type_name("PERCENT")
      ->default_str(fmt::format("{:g}", part * kPercent))
      ->check(percent_problem);
}

core::Result<std::string> provenance(const allreduce::BenchmarkFolder& folder,
                                     const allreduce::Benchmark& benchmark) {
  const auto times = std::count_if(
      benchmark.measurements.begin(), benchmark.measurements.end(),
      [](const allreduce::Measurement& measurement) { return !std::isnan(measurement.time_us); });
  return allreduce::provenance_of(folder.files, static_cast<std::size_t>(times));
}

void add_threshold(App& app, const char* name, std::int64_t& value, const char* help) {
  app.add_option(name, value, help)
      ->type_name("N")
      ->check(whole_number_problem)
      ->default_str(std::to_string(value));
}

void add_thresholds(App& app, allreduce::Thresholds& thresholds) {
  add_threshold(app, "--min-tokens", thresholds.min_tokens,
                "leave out measurements of fewer tokens");
  add_threshold(app, "--max-tokens", thresholds.max_tokens,
                "leave out measurements of more tokens");
  add_threshold(app, "--min-hidden", thresholds.min_hidden,
                "leave out measurements of smaller hidden sizes");
  add_threshold(app, "--max-hidden", thresholds.max_hidden,
                "leave out measurements of larger hidden sizes");
}

std::string message_size_problem(const std::string& text) {
  std::string problem = count_problem(text);
  if (!problem.empty()) return problem;
  const bool fits =
      text.size() <= 9 && std::stoll(text) >= 1 && std::stoll(text) <= kMostMessageSize;
  return fits ? "" : fmt::format("'{}' is not a whole number from 1 to {}", text, kMostMessageSize);
}

std::string world_size_problem(const std::string& text) {
  const bool fits = text.size() == 1 && text[0] >= '2' && text[0] - '0' <= allreduce::kMostRanks;
  return fits ? ""
              : fmt::format("'{}' is not a number of GPUs from 2 to {}", text,
                            allreduce::kMostRanks);
}

}  // namespace

void add_message_sizes(App& app, allreduce::Cell& message) {
  app.add_option("TP", message.world_size,
                 "GPUs that reduce together: the tensor-parallel size, 2 to 8")
      ->required()
      ->check(world_size_problem);
  app.add_option("HIDDEN", message.hidden_size, "elements of a token")
      ->required()
      ->check(message_size_problem);
  app.add_option("TOKENS", message.num_tokens, "tokens of the message")
      ->required()
      ->check(message_size_problem);
}

Choices<allreduce::Fusion> fusion_choices() {
  return numbered_choices<allreduce::Fusion>(allreduce::kFusionNames);
}

Choices<allreduce::Launch> launch_choices() {
  return numbered_choices<allreduce::Launch>(allreduce::kLaunchNames);
}

Choices<allreduce::NcclCollective> nccl_collective_choices() {
  return numbered_choices<allreduce::NcclCollective>(allreduce::kNcclCollectiveNames);
}

Choices<allreduce::DataType> data_type_choices() {
  return numbered_choices<allreduce::DataType>(allreduce::kDataTypeNames);
}

Choices<allreduce::Strategy> strategy_choices(const std::vector<allreduce::Strategy>& strategies) {
  Choices<allreduce::Strategy> choices;
  for (const allreduce::Strategy strategy : strategies)
    choices.emplace_back(name_of(strategy), strategy);
  return choices;
}

core::Status check_benchmark_folder(const std::filesystem::path& folder) {
  std::error_code code;
  if (std::filesystem::exists(folder, code) || code) return {};
  return core::Error{
      fmt::format("there is no folder '{}': name that of the benchmark files, which 'assay "
                  "allreduce bench' writes",
                  folder.string())};
}

core::Result<std::filesystem::path> benchmark_worker(const std::filesystem::path& named) {
  auto worker = ASSAY_TRY(named_worker(named));
  if (worker.empty()) return allreduce::find_worker();
  return worker;
}

core::Result<allreduce::BenchmarkOptions> default_benchmark(const std::filesystem::path& folder) {
  allreduce::BenchmarkOptions options;
  options.folder = folder;
  options.strategies = allreduce::all_strategies();
  options.program = program_version();
  options.command_line = own_command_line();
  const int gpus = ASSAY_TRY(count_gpus());
  options.world_sizes = ASSAY_TRY(allreduce::default_world_sizes(gpus));
  options.worker = ASSAY_TRY(benchmark_worker(""));
  return options;
}

namespace {

// Calls `run` with hooks that show the progress on the terminal.
template <class Run>
auto with_progress(Talk talk, const Run& run) {
  core::allow_seconds_to_stop(kSecondsToStop);
  core::TerminalLine line(talk == Talk::kNever ? core::TerminalLine::Show::kNever
                                               : core::TerminalLine::Show::kOnTerminal);
  allreduce::BenchmarkHooks hooks;
  hooks.on_notice = [&](const std::string& text) {
    line.clear();
    print_warning(text);
  };
  hooks.on_progress = [&](const allreduce::BenchmarkStanding& standing) {
    if (line.shown()) line.draw(allreduce::progress_text(standing));
  };
  auto result = run(hooks);
  line.clear();
  return result;
}

}  // namespace

core::Result<allreduce::BenchmarkResult> benchmark_with_progress(
    const allreduce::BenchmarkOptions& options, Talk talk, allreduce::RankLeader* ranks) {
  return with_progress(talk, [&](const allreduce::BenchmarkHooks& hooks) {
    return allreduce::run_benchmark(options, hooks, ranks);
  });
}

core::Result<allreduce::NcclSweepResult> nccl_sweep_with_progress(
    const allreduce::NcclSweepOptions& options, Talk talk) {
  return with_progress(talk, [&](const allreduce::BenchmarkHooks& hooks) {
    return allreduce::run_nccl_sweep(options, hooks);
  });
}

Option* add_tuning_options(App& app, TuningArguments& arguments, const char* folder_names) {
  Option* folder = app.add_option(folder_names, arguments.data_folder,
                                  "the folder of the benchmark.tp{N}.sm{V}.csv files");
  folder->type_name("DIR");
  app.add_option("--sm_version,--sm-version", arguments.sm_version,
                 "read the files of this SM version: 90 for compute capability 9.0")
      ->type_name("N")
      ->default_str("the one that the folder has");
  add_choice(app, "--dtype", arguments.tuning.data_type, data_type_choices(),
             "the data type of an element");
  add_choice(
      app, "--launch", arguments.tuning.launch, launch_choices(),
      "how the measured calls were launched: back to back from a CUDA graph, one by one from the "
      "host, or one alone in a graph");
  add_choice_list(
      app, "--strategies", arguments.tuning.strategies,
      strategy_choices(allreduce::all_strategies()),
      "the strategies that may be chosen; NCCL_SYMMETRIC enters the lookup table only when it is "
      "named here");
  add_percent(app, "--tie", arguments.tuning.tie,
              "treat a gain below this part of the time as a tie");
  add_percent(app, "--noise", arguments.tuning.noise,
              "half of the 95 % interval, for times whose file gives none");
  add_choice(app, "--fallback", arguments.fallback, fallback_choices(),
             "the strategy where nothing was measured, also in the lookup table if TensorRT-LLM "
             "knows it");
  add_thresholds(app, arguments.tuning.thresholds);
  return folder;
}

core::Result<TunedBenchmark> load_tuned(const std::filesystem::path& folder,
                                        const TuningArguments& arguments) {
  ASSAY_TRY(check_benchmark_folder(folder));
  const allreduce::BenchmarkFolder files =
      ASSAY_TRY(allreduce::find_benchmarks(folder, arguments.sm_version, arguments.tuning.launch));
  allreduce::Benchmark benchmark = ASSAY_TRY(allreduce::read_benchmarks(files));
  show_warnings(benchmark.warnings);
  allreduce::TuningOptions options = arguments.tuning;
  if (arguments.fallback) options.fallback = *arguments.fallback;
  // The lookup table of a layout has a filling of its own, unless one is named that it can have.
  if (arguments.fallback && spec_of(options.fallback).is_public)
    options.lookup_fallback = options.fallback;
  auto tables = allreduce::tune(benchmark, options, ASSAY_TRY(provenance(files, benchmark)));
  if (!tables.ok()) return tables.error().context("'" + folder.string() + "'");
  return TunedBenchmark{
      .benchmark = std::move(benchmark), .tables = std::move(tables).value(), .files = files.files};
}

namespace {

// Parses what a caller of the library gives beside the name of a table.
class TuningOptionsOnly final : public Command {
 public:
  explicit TuningOptionsOnly(App& app) {
    add_tuning_options(app, arguments, "--data_dir,--data-dir");
  }

  core::Result<Outcome> run() override { return Outcome::kOk; }

  TuningArguments arguments;
};

// The command that has these options and a manual page.
constexpr CommandSpec kTuningOptions{
    .name = "allreduce explain", .summary = "", .make = make_command<TuningOptionsOnly>};

}  // namespace

core::Result<TuningArguments> tuning_arguments(const std::filesystem::path& folder,
                                               const std::vector<std::string>& options) {
  std::error_code code;
  if (!options.empty() && !std::filesystem::is_directory(folder, code)) {
    return core::Error{
        fmt::format("'{}' is no folder of benchmark files, which options are of", folder.string())};
  }
  std::vector<std::string> words = {"--data_dir", folder.string()};
  words.insert(words.end(), options.begin(), options.end());
  const auto parsed = ASSAY_TRY(parse_command(kTuningOptions, words));
  return static_cast<TuningOptionsOnly&>(*parsed).arguments;
}

core::Result<allreduce::StrategySource> open_strategies(const TuningArguments& arguments) {
  const std::filesystem::path& name = arguments.data_folder;
  std::error_code code;
  if (std::filesystem::is_directory(name, code))
    return allreduce::StrategySource(ASSAY_TRY(load_tuned(name, arguments)).tables);
  const std::string text = ASSAY_TRY(core::read_text(name, core::TextFormat::kJson));
  return allreduce::StrategySource(ASSAY_TRY(allreduce::table_from_json(text, name.string())));
}

}  // namespace assay::cli
