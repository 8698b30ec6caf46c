#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "allreduce/bench/benchmark.h"
#include "allreduce/bench/benchmark_summary.h"
#include "allreduce/bench/nccl_sweep.h"
#include "cli/allreduce_commands.h"
#include "cli/byte_size.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "cli/version.h"
#include "cli/workers.h"
#include "core/files.h"
#include "core/interrupt.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

template <class Number>
std::optional<std::vector<Number>> numbers_of(const std::string& list) {
  std::vector<Number> numbers;
  for (const std::string& word : split(list, ',')) {
    Number number = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, code] = std::from_chars(word.data(), end, number);
    if (code != std::errc() || stop != end || number < 0) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

template <class Number>
std::string numbers_problem(const std::string& list) {
  if (numbers_of<Number>(list)) return "";
  return fmt::format("'{}' is not a list of whole numbers, such as 2,4,8", list);
}

template <class Number>
std::optional<Number> repeated(std::vector<Number> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const auto found = std::adjacent_find(numbers.begin(), numbers.end());
  return found == numbers.end() ? std::nullopt : std::optional(*found);
}

constexpr const char* kKeptNote =
    "what is measured is kept: go on by the same command with --resume";

class AllreduceBench final : public Command {
 public:
  explicit AllreduceBench(App& app) {
    add_axes(app);
    add_nccl_sweep(app);
    add_measuring(app);
    add_running(app);
    add_outputs(app);
    app.note_given(given_);
  }

  [[nodiscard]] core::Status check() const override {
    ASSAY_TRY(check_nccl_sweep());
    if (resume_ && overwrite_) return core::Error{"--resume and --overwrite exclude each other"};
    if (plan_only_ && resume_) return core::Error{"--plan-only starts nothing to resume"};
    if (options_.max_samples < options_.min_samples) {
      return core::Error{"--max-samples is less than --min-samples"};
    }
    if (!options_.table.empty() && !enable_auto_) {
      return core::Error{"--table is for strategy AUTO: add --enable_auto"};
    }
    for (const int size : options_.world_sizes) {
      if (size < 2 || size > allreduce::kMostGpus) {
        return core::Error{
            fmt::format("--tp {}: an all-reduce takes 2 to {} GPUs", size, allreduce::kMostGpus)};
      }
    }
    if (const auto size = repeated(options_.world_sizes)) {
      return core::Error{fmt::format("--tp names {} twice", *size)};
    }
    if (const auto gpu = repeated(options_.gpus)) {
      return core::Error{fmt::format("--gpus names GPU {} twice", *gpu)};
    }
    return check_cells();
  }

  core::Result<Outcome> run() override {
    const auto rank = ASSAY_TRY(allreduce::launched_rank(
        [](const char* name) -> const char* { return std::getenv(name); }));
    if (nccl_sweep_ && rank) {
      return core::Error{
          "--nccl-sweep has all ranks in one process: start it without mpirun or srun"};
    }
    if (!rank && !rendezvous_.empty()) {
      return core::Error{
          "--rendezvous is where the ranks of mpirun or srun meet, and neither started this"};
    }
    const bool follows = rank && rank->rank > 0;
    const auto completed = complete(rank);
    // Rank 0 meets the same error and reports it.
    if (follows && !completed.ok()) return Outcome::kOk;
    if (!completed.ok()) return completed.error();
    if (plan_only_ && follows) return Outcome::kOk;
    if (plan_only_) return show_plan();
    if (!options_.table.empty() && !core::is_regular_file(options_.table)) {
      return core::Error{fmt::format("no table: '{}' is not a file", options_.table.string())};
    }
    options_.worker = ASSAY_TRY(benchmark_worker(worker_));
    if (nccl_sweep_) return sweep_nccl();
    if (!rank) return measure(nullptr);
    const fs::path rendezvous =
        rendezvous_.empty() ? allreduce::default_rendezvous(*rank) : rendezvous_;
    if (follows) return follow(*rank, rendezvous);
    allreduce::RankLeader leader = ASSAY_TRY(allreduce::RankLeader::create(rendezvous));
    return measure(&leader);
  }

 private:
  static constexpr const char* kWhatGroup = "What is measured";
  static constexpr const char* kNcclGroup = "NCCL's settings";
  static constexpr const char* kHowGroup = "How it is measured";
  static constexpr const char* kRunGroup = "Run options";
  static constexpr const char* kOutputGroup = "Output options";

  void add_axes(App& app) {
    app.add_option(
           "--tp",
           [this](const std::string& list) { options_.world_sizes = *numbers_of<int>(list); },
           "TP sizes: how many GPUs reduce together")
        ->type_name("N,N")
        ->default_str("2,4,8 as far as there are GPUs")
        ->check(numbers_problem<int>)
        ->group(kWhatGroup);
    add_choice_list(app, "--strategies", options_.strategies,
                    strategy_choices(allreduce::all_strategies()), "strategies to measure")
        ->group(kWhatGroup);
    add_choice_list(app, "--fusion", fusions_, fusion_choices(),
                    "operations that are fused behind the all-reduce")
        ->default_str("all")
        ->group(kWhatGroup);
    add_choice_list(app, "--dtype", data_types_, data_type_choices(), "data types of the elements")
        ->default_str("bfloat16")
        ->group(kWhatGroup);
    add_numbers(app, "--hidden", hidden_sizes_, "hidden sizes: elements of a token")
        ->default_str("128 to 8192 by powers of two, and 1536,2880,3072,5120,6144,7168");
    add_numbers(app, "--tokens", num_tokens_, "token counts")
        ->default_str("1 to 16384 by powers of two");
    app.add_flag(
           "--held-out", [this] { options_.shapes = allreduce::Shapes::kHeldOut; },
           "measure shapes between those of the grid (hidden 640 to 7168, 3 to 12000 tokens), to "
           "judge tables by; they go to data/held_out unless --output names another folder")
        ->group(kWhatGroup);
    add_bytes(app, "--min-size", options_.filter.min_size_bytes,
              "leave out messages smaller than this");
    add_bytes(app, "--max-size", options_.filter.max_size_bytes,
              "leave out messages larger than this");
    app.add_option("--limit", options_.filter.most_cells,
                   "measure only the first N cells of each TP size; they span the whole grid")
        ->type_name("N")
        ->check(whole_number_problem)
        ->group(kWhatGroup);
    app.add_flag("--enable_auto,--enable-auto", enable_auto_,
                 "also measure the strategy AUTO, which follows --table")
        ->group(kWhatGroup);
    app.add_option("--table", options_.table, "the JSON table that AUTO follows")
        ->type_name("FILE")
        ->default_str("none: NCCL")
        ->group(kWhatGroup);
  }

  void add_nccl_sweep(App& app) {
    app.add_flag("--nccl-sweep", nccl_sweep_,
                 "measure NCCL itself: each algorithm, protocol and number of channels beside its "
                 "own choice, for messages of 1 KiB to 128 MiB; with --held-out, of sizes between "
                 "those; with several types in --dtype, all-reduce and reduce-scatter with each")
        ->group(kNcclGroup);
    add_choice_list(app, "--collectives", collectives_, nccl_collective_choices(),
                    "what NCCL is swept for")
        ->default_str("all")
        ->group(kNcclGroup);
    app.add_option(
           "--channels",
           [this](const std::string& list) { sweep_.axes.channels = *numbers_of<int>(list); },
           "numbers of channels (CTAs)")
        ->type_name("N,N")
        ->check(numbers_problem<int>)
        ->default_str("1,2,4,8,16,24,32")
        ->group(kNcclGroup);
  }

  void add_measuring(App& app) {
    add_choice<std::vector<allreduce::Launch>>(
        app, "--launch", options_.launches,
        {{"graph", {allreduce::Launch::kGraph}},
         {"eager", {allreduce::Launch::kEager}},
         {"isolated", {allreduce::Launch::kIsolated}},
         {"both", {allreduce::Launch::kGraph, allreduce::Launch::kEager}},
         {"all",
          {allreduce::Launch::kGraph, allreduce::Launch::kEager, allreduce::Launch::kIsolated}}},
        "how calls are launched: back to back from a CUDA graph, one by one from the host, one "
        "alone "
        "in a graph, or several of these; all but the first go to files of their own")
        ->group(kHowGroup);
    app.add_option("--tie", tie_percent_, "treat a lead below this many percent as a tie")
        ->type_name("PERCENT")
        ->check(not_negative_problem)
        ->default_str("2")
        ->group(kHowGroup);
    app.add_option("--min-samples", options_.min_samples,
                   "samples of every strategy in a cell; of fewer than six, intervals hold the "
                   "median with less than 95 %")
        ->type_name("N")
        ->check(whole_number_problem)
        ->default_str("6")
        ->group(kHowGroup);
    app.add_option("--max-samples", options_.max_samples,
                   "samples at most, where the fastest strategy stays uncertain")
        ->type_name("N")
        ->check(whole_number_problem)
        ->default_str("200")
        ->group(kHowGroup);
    app.add_option("--seed", options_.seed, "seed of the order of the samples and of the data")
        ->type_name("N")
        ->check(whole_number_problem)
        ->default_str("1")
        ->group(kHowGroup);
  }

  void add_running(App& app) {
    app.add_option(
           "--gpus", [this](const std::string& list) { options_.gpus = *numbers_of<int>(list); },
           "GPUs to use, by number; TP N takes the first N of them")
        ->type_name("N,N")
        ->default_str("all")
        ->check(numbers_problem<int>)
        ->group(kRunGroup);
    app.add_option(
           "--deadline",
           [this](double seconds) {
             options_.deadline = std::chrono::ceil<std::chrono::milliseconds>(
                 std::chrono::duration<double>(seconds));
           },
           "record a cell that takes longer as a hang")
        ->type_name("SECONDS")
        ->check(positive_number_problem)
        ->default_str("30")
        ->group(kRunGroup);
    app.add_option(
           "--memory-limit",
           [this](const std::string& text) { options_.memory_limit_bytes = *bytes_of(text); },
           "GPU memory that a cell may take on each GPU; cells that need more are recorded as "
           "unsupported")
        ->type_name("BYTES")
        ->check(bytes_problem)
        ->default_str("all there is")
        ->group(kRunGroup);
    app.add_flag("--resume", resume_, "go on with the files in --output: measure what is missing")
        ->group(kRunGroup);
    app.add_flag("--overwrite", overwrite_, "replace the files in --output")->group(kRunGroup);
    app.add_flag("--plan-only", plan_only_, "show what would be measured; start and write nothing")
        ->group(kRunGroup);
    app.add_option("--worker", worker_,
                   fmt::format("the program that measures; {} in the environment names it, too",
                               kWorkerVariable))
        ->type_name("FILE")
        ->default_str("assay-worker beside assay")
        ->group(kRunGroup);
    app.add_option("--rendezvous", rendezvous_,
                   "under mpirun or srun: the file through which the ranks meet; assay creates it")
        ->type_name("FILE")
        ->default_str("in /dev/shm, named after the launcher's job")
        ->group(kRunGroup);
  }

  void add_outputs(App& app) {
    app.add_option("-o,--output,--save_csv_dir", options_.folder, "folder of the benchmark files")
        ->type_name("DIR")
        ->default_str("data")
        ->group(kOutputGroup);
    add_presentation_options(app, presentation_);
  }

  static Option* add_numbers(App& app,
                             const std::string& name,
                             std::vector<std::int64_t>& target,
                             const std::string& help) {
    return app
        .add_option(
            name, [&target](const std::string& list) { target = *numbers_of<std::int64_t>(list); },
            help)
        ->type_name("N,N")
        ->check(numbers_problem<std::int64_t>)
        ->group(kWhatGroup);
  }

  static void add_bytes(App& app,
                        const std::string& name,
                        std::int64_t& target,
                        const std::string& help) {
    app.add_option(
           name, [&target](const std::string& text) { target = *bytes_of(text); }, help)
        ->type_name("BYTES")
        ->check(bytes_problem)
        ->default_str("none")
        ->group(kWhatGroup);
  }

  [[nodiscard]] allreduce::Axes axes() const {
    allreduce::Axes axes = allreduce::default_axes(options_.shapes);
    if (!fusions_.empty()) axes.fusions = fusions_;
    if (!data_types_.empty()) axes.data_types = data_types_;
    if (!hidden_sizes_.empty()) axes.hidden_sizes = hidden_sizes_;
    if (!num_tokens_.empty()) axes.num_tokens = num_tokens_;
    return axes;
  }

  [[nodiscard]] core::Status check_cells() const {
    ASSAY_TRY(check_axes(axes()));
    constexpr int kAnyWorldSize = 2;
    if (!plan_cells(kAnyWorldSize, axes(), options_.filter).empty()) return {};
    return core::Error{"nothing to measure: no message is of the sizes that were asked for"};
  }

  // Fills in the values that no option gave.
  core::Status complete(const std::optional<allreduce::LaunchedRank>& rank) {
    options_.axes = axes();
    options_.tie = tie_percent_ / 100;
    if (options_.strategies.empty()) options_.strategies = allreduce::all_strategies();
    if (enable_auto_) options_.strategies.push_back(allreduce::Strategy::kAuto);
    if (options_.folder.empty()) {
      options_.folder = options_.shapes == allreduce::Shapes::kGrid ? "data" : "data/held_out";
    }
    if (resume_) options_.existing = allreduce::Existing::kResume;
    if (overwrite_) options_.existing = allreduce::Existing::kOverwrite;
    options_.program = program_version();
    options_.command_line = own_command_line();
    return complete_world_sizes(rank);
  }

  core::Status complete_world_sizes(const std::optional<allreduce::LaunchedRank>& rank) {
    if (options_.world_sizes.empty()) {
      const int gpus = ASSAY_TRY(available(rank));
      auto sizes = allreduce::default_world_sizes(gpus);
      if (!sizes.ok() && plan_only_) {
        return core::Error{sizes.error().message + "; name TP sizes with --tp"};
      }
      if (!sizes.ok()) return sizes.error();
      options_.world_sizes = std::move(sizes).value();
    }
    for (const int size : options_.world_sizes) {
      if (rank && size > rank->size) {
        return core::Error{fmt::format("--tp {}: there are {} ranks", size, rank->size)};
      }
      const auto gpus = static_cast<int>(options_.gpus.size());
      if (gpus > 0 && size > gpus) {
        return core::Error{fmt::format("--tp {}: --gpus names {}", size, gpus)};
      }
    }
    return {};
  }

  [[nodiscard]] core::Result<int> available(
      const std::optional<allreduce::LaunchedRank>& rank) const {
    if (rank) return rank->size;
    if (!options_.gpus.empty()) return static_cast<int>(options_.gpus.size());
    return count_gpus();
  }

  [[nodiscard]] core::Result<Outcome> show_plan() const {
    if (nccl_sweep_) {
      print_summary(allreduce::nccl_plan_summary(nccl_sweep_options()), presentation_.summary());
      return Outcome::kOk;
    }
    show(allreduce::plan_summary(options_));
    return Outcome::kOk;
  }

  void show(model::Book book) const {
    if (presentation_.is_for_reading()) book = allreduce::for_terminal(std::move(book));
    print_summary(book, presentation_.summary());
  }

  [[nodiscard]] core::Result<Outcome> follow(const allreduce::LaunchedRank& rank,
                                             const fs::path& rendezvous) const {
    allreduce::WorkerLaunch launch = worker_launch(options_);
    launch.log.replace_filename(fmt::format("worker.rank{}.log", rank.rank));
    const auto status = allreduce::follow_leader(rendezvous, rank.rank, launch);
    if (!status.ok()) return status.error();
    return Outcome::kOk;
  }

  [[nodiscard]] core::Result<Outcome> measure(allreduce::RankLeader* ranks) const {
    const Talk talk = presentation_.quiet ? Talk::kNever : Talk::kOnTerminal;
    const auto result = benchmark_with_progress(options_, talk, ranks);
    if (!result.ok()) {
      // The message of an interrupted program does not say that the results are kept.
      if (core::interrupted()) print_note(kKeptNote);
      return result.error();
    }
    if (presentation_.shows_summary()) show(allreduce::benchmark_summary(result.value()));
    return verdict(result.value());
  }

  [[nodiscard]] core::Status check_nccl_sweep() const {
    if (!nccl_sweep_) {
      if (!collectives_.empty()) return core::Error{"--collectives is for --nccl-sweep"};
      if (given_.contains("--channels")) return core::Error{"--channels is for --nccl-sweep"};
      return {};
    }
    const bool has_shapes = !fusions_.empty() || !hidden_sizes_.empty() || !num_tokens_.empty() ||
                            !options_.strategies.empty() || enable_auto_;
    if (has_shapes) {
      return core::Error{"--nccl-sweep has no strategies, fusions, hidden sizes or tokens"};
    }
    for (const int channels : sweep_.axes.channels) {
      if (channels >= 1 && channels <= allreduce::kMostNcclChannels) continue;
      return core::Error{
          fmt::format("--channels {}: NCCL has 1 to {}", channels, allreduce::kMostNcclChannels)};
    }
    if (!allreduce::nccl_sizes(options_.shapes, options_.filter).empty()) return {};
    return core::Error{"nothing to measure: no message is of the sizes that were asked for"};
  }

  [[nodiscard]] allreduce::NcclSweepOptions nccl_sweep_options() const {
    allreduce::NcclSweepOptions options = sweep_;
    options.common = options_;
    options.axes.launches = options_.launches;
    if (!data_types_.empty()) options.axes.data_types = data_types_;
    if (!collectives_.empty()) options.axes.collectives = collectives_;
    return options;
  }

  [[nodiscard]] core::Result<Outcome> sweep_nccl() const {
    allreduce::NcclSweepOptions options = nccl_sweep_options();
    options.plugin = ASSAY_TRY(allreduce::find_nccl_tuner());
    const Talk talk = presentation_.quiet ? Talk::kNever : Talk::kOnTerminal;
    const auto swept = nccl_sweep_with_progress(options, talk);
    if (!swept.ok()) {
      if (core::interrupted()) print_note(kKeptNote);
      return swept.error();
    }
    const allreduce::NcclSweepResult& result = swept.value();
    if (presentation_.shows_summary()) {
      print_summary(allreduce::nccl_sweep_summary(result, options_.tie), presentation_.summary());
    }
    const bool timed = std::any_of(
        result.measurements.begin(), result.measurements.end(),
        [](const allreduce::NcclMeasurement& one) { return one.arm && one.time_us > 0; });
    if (timed) return Outcome::kOk;
    return core::Error{
        fmt::format("no time of any setting: see 'reason' in {}", result.files.front().string())};
  }

  static core::Result<Outcome> verdict(const allreduce::BenchmarkResult& result) {
    if (result.without_time.empty()) return Outcome::kOk;
    std::vector<std::string> names;
    for (const allreduce::Strategy strategy : result.without_time)
      names.emplace_back(name_of(strategy));
    return core::Error{fmt::format("no time at all for {}: see 'reason' in {}",
                                   core::join(names, ", "), result.files.front().string())};
  }

  allreduce::BenchmarkOptions options_;
  allreduce::NcclSweepOptions sweep_;
  std::vector<allreduce::NcclCollective> collectives_;
  std::vector<allreduce::Fusion> fusions_;
  std::vector<allreduce::DataType> data_types_;
  std::vector<std::int64_t> hidden_sizes_;
  std::vector<std::int64_t> num_tokens_;
  double tie_percent_ = 2;
  fs::path worker_;
  fs::path rendezvous_;
  bool nccl_sweep_ = false;
  bool enable_auto_ = false;
  bool resume_ = false;
  bool overwrite_ = false;
  bool plan_only_ = false;
  Presentation presentation_;
  std::set<std::string> given_;
};

const CommandSpec kAllreduceBench{
    .name = "allreduce bench",
    .summary = "measure every strategy at every shape on this machine's GPUs",
    .description =
        "A cell is a TP size, fusion, data type, hidden size and token count. In each cell, "
        "every strategy is first checked against a float64 reference. Then all strategies of "
        "the cell are timed in turn and in random order, until the fastest one is certain or "
        "those that remain are tied. A time is that of one call on the slowest GPU, in "
        "microseconds.\n\n"
        "Each cell is written to DIR/benchmark.tp<N>.sm<V>.csv as soon as it is measured; "
        "benchmark.tp<N>.sm<V>.json beside it says on what machine and with which versions it "
        "was measured. Other data types than bfloat16 and eager launches have files of their "
        "own (benchmark.tp4.sm90.float16.eager.csv). The coarse grid comes first, so that an "
        "interrupted run has some of everything. --resume measures the rest, and refuses to mix "
        "in another machine, version or setting.\n\n"
        "A strategy that hangs, crashes or computes wrong sums costs only itself in that cell: "
        "the columns 'outcome' and 'reason' say what happened, and the other strategies are "
        "still measured. A strategy that hangs in three cells in a row is left out from then "
        "on. The output of the worker goes to DIR/worker.log.\n\n"
        "Under mpirun or srun with one rank for each GPU of one host, each GPU has a process of "
        "its own, as in serving engines; rank 0 writes the files.\n\n"
        "With --nccl-sweep, NCCL's all-reduce, all-gather, reduce-scatter and broadcast are "
        "measured with each of its settings, which alternate in one process through "
        "libassay_nccl_tuner.so. Results are compared to the bit before a setting is timed, and "
        "a setting counts only where NCCL says that it ran the call just so. The times go to "
        "DIR/nccl_sweep.tp<N>.sm<V>.csv, and 'assay allreduce codegen' makes tuner files of "
        "them.",
    .examples =
        "assay allreduce bench\n"
        "assay allreduce bench --tp 8 --fusion NONE --hidden 4096,8192 -o data\n"
        "assay allreduce bench --resume\n"
        "assay allreduce bench --held-out\n"
        "assay allreduce bench --launch both --dtype float16,bfloat16 --plan-only\n"
        "assay allreduce bench --nccl-sweep --launch both\n"
        "mpirun -n 4 assay allreduce bench --tp 4 -o data/processes\n",
    .make = make_command<AllreduceBench>,
};
ASSAY_REGISTER(CommandSpec, kAllreduceBench);

}  // namespace
}  // namespace assay::cli
