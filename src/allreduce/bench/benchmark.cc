#include "allreduce/bench/benchmark.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "allreduce/bench/benchmark_file.h"
#include "allreduce/bench/cell_runner.h"
#include "allreduce/benchmark_csv.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

bool is_of_interest(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("CUDA_");
}

// The worker reports the GPUs and versions as facts, and logging does not affect what is timed.
bool changes_measurements(std::string_view name) {
  constexpr std::array<std::string_view, 6> kHarmless = {
      "CUDA_VISIBLE_DEVICES", "CUDA_HOME",   "CUDA_PATH", "CUDA_ROOT",
      "CUDA_VERSION",         "NCCL_VERSION"};
  return std::find(kHarmless.begin(), kHarmless.end(), name) == kHarmless.end() &&
         !name.starts_with("NCCL_DEBUG");
}

void add_variables(Provenance& provenance) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::size_t sign = variable.find('=');
    if (sign == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, sign);
    if (!is_of_interest(name)) continue;
    auto& kept = changes_measurements(name) ? provenance.settings : provenance.run;
    kept[fmt::format("variable {}", name)] = variable.substr(sign + 1);
  }
}

std::string gpus_text(const std::vector<int>& gpus) {
  std::vector<std::string> words;
  words.reserve(gpus.size());
  for (const int gpu : gpus)
    words.push_back(std::to_string(gpu));
  return words.empty() ? "first" : core::join(words, ",");
}

Provenance provenance_of(const BenchmarkOptions& options,
                         int world_size,
                         const WorkerHello& hello) {
  Provenance provenance;
  auto& settings = provenance.settings;
  for (const auto& [name, value] : hello.facts)
    settings[name] = value;
  settings["SM version"] = std::to_string(hello.sm_version);
  settings["TP size"] = std::to_string(world_size);
  settings["made by"] = options.program;
  settings["shapes"] = options.shapes == Shapes::kGrid ? "grid" : "held out";
  settings["--tie"] = fmt::format("{}", options.tie);
  settings["--min-samples"] = std::to_string(options.min_samples);
  settings["--max-samples"] = std::to_string(options.max_samples);
  settings["--memory-limit"] = std::to_string(options.memory_limit_bytes);
  settings["--table"] = options.table.string();
  add_variables(provenance);
  provenance.run["date"] =
      fmt::format("{:%Y-%m-%dT%H:%M:%S%z}", fmt::localtime(std::time(nullptr)));
  provenance.run["command line"] = options.command_line;
  provenance.run["GPUs"] = gpus_text(options.gpus);
  provenance.run["seed"] = std::to_string(options.seed);
  provenance.run["deadline (s)"] =
      fmt::format("{}", std::chrono::duration<double>(options.deadline).count());
  return provenance;
}

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kLockFile = ".allreduce_bench.lock";
constexpr const char* kWorkerLog = "worker.log";

// The time to wait for the lock, since a run that was killed may still be ending its worker.
constexpr std::chrono::milliseconds kPatience{5'000};

// Identifies a file among those of one TP size.
using FileKey = std::pair<Launch, DataType>;

bool is_failure(Outcome outcome) {
  return outcome != Outcome::kOk && outcome != Outcome::kUnsupported;
}

core::Result<core::FileLock> lock_folder(const fs::path& folder) {
  auto lock = core::FileLock::acquire(folder / kLockFile, kPatience);
  if (lock.ok() || lock.error().message.find("locked by") == std::string::npos) return lock;
  return core::Error{
      fmt::format("another 'assay allreduce bench' is writing to '{}': wait for it, or use another "
                  "--output",
                  folder.string())};
}

// The state that the TP sizes share while they are measured one after the other.
class Run {
 public:
  Run(const BenchmarkOptions& options, const BenchmarkHooks& hooks, RankLeader* ranks)
      : options_(options), hooks_(hooks), ranks_(ranks) {
    for (const int world_size : options.world_sizes)
      standing_.total +=
          static_cast<std::int64_t>(cells_of(world_size).size() * options.launches.size());
  }

  core::Status measure(int world_size) {
    CellRunner runner(runner_hooks(world_size), options_.deadline);
    tell_doing(fmt::format("TP {}, starting its worker", world_size));
    const WorkerHello hello = ASSAY_TRY(runner.hello());
    tell_doing(fmt::format("TP {}", world_size));
    if (result_.files.empty()) ASSAY_TRY(check_files(hello.sm_version));
    std::map<FileKey, BenchmarkFile> files = ASSAY_TRY(open_files(world_size, hello));
    const std::vector<Cell> cells = cells_of(world_size);
    for (const Launch launch : options_.launches) {
      for (const Cell& cell : cells)
        ASSAY_TRY(measure_cell(runner, files.at({launch, cell.data_type}), cell, launch));
    }
    runner.finish();
    if (ranks_ != nullptr) ranks_->rest();
    tell_left_out(runner, world_size);
    for (const auto& [key, file] : files)
      count(file, key.first, cells);
    return {};
  }

  // Adds a hint to resume, if this run measured any cell.
  [[nodiscard]] core::Error with_hint(const core::Error& error) const {
    if (measured_ == 0) return error;
    return core::Error{
        fmt::format("{}; {} measured and kept: go on by the same command with --resume",
                    error.message, core::counted(measured_, "cell is", "cells are"))};
  }

  [[nodiscard]] BenchmarkResult take() && {
    result_.wall_seconds = elapsed_seconds();
    result_.without_time = without_time();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<Cell> cells_of(int world_size) const {
    return plan_cells(world_size, options_.axes, options_.filter);
  }

  [[nodiscard]] CellRunnerHooks runner_hooks(int world_size) {
    CellRunnerHooks hooks;
    hooks.start_worker = [this, world_size]() -> core::Result<Worker> {
      WorkerLaunch launch = worker_launch(options_);
      launch.world_size = world_size;
      const auto used = std::min(launch.gpus.size(), static_cast<std::size_t>(world_size));
      launch.gpus.resize(used);
      if (ranks_ != nullptr) launch.rank = WorkerRank{0, ranks_->begin(world_size)};
      return Worker::start(launch);
    };
    if (ranks_ != nullptr) hooks.elsewhere = [this] { return ranks_->problem(); };
    hooks.on_notice = [this](const std::string& text) { notice(text); };
    return hooks;
  }

  [[nodiscard]] fs::path path_of(int sm_version, int world_size, const FileKey& key) const {
    return options_.folder /
           BenchmarkFileName{world_size, sm_version, key.second, key.first}.text();
  }

  [[nodiscard]] std::vector<FileKey> keys() const {
    std::vector<FileKey> keys;
    for (const Launch launch : options_.launches) {
      for (const DataType type : options_.axes.data_types)
        keys.emplace_back(launch, type);
    }
    return keys;
  }

  // Checks all files before the first cell, so that the run does not stop an hour later because a
  // file of a later TP size already exists.
  [[nodiscard]] core::Status check_files(int sm_version) const {
    if (options_.existing != Existing::kRefuse) return {};
    for (const int world_size : options_.world_sizes) {
      for (const FileKey& key : keys())
        ASSAY_TRY(check_free(path_of(sm_version, world_size, key)));
    }
    return {};
  }

  core::Result<std::map<FileKey, BenchmarkFile>> open_files(int world_size,
                                                            const WorkerHello& hello) {
    std::map<FileKey, BenchmarkFile> files;
    const Provenance provenance = provenance_of(options_, world_size, hello);
    for (const FileKey& key : keys()) {
      BenchmarkFile file = ASSAY_TRY(BenchmarkFile::open(path_of(hello.sm_version, world_size, key),
                                                         options_.existing, provenance));
      if (file.cut_bytes() > 0) {
        notice(fmt::format("{}: cut off an unfinished last line of {}; it is measured again",
                           file.path().string(), core::counted(file.cut_bytes(), "byte")));
      }
      result_.files.push_back(file.path());
      files.emplace(key, std::move(file));
    }
    return files;
  }

  core::Status measure_cell(CellRunner& runner,
                            BenchmarkFile& file,
                            const Cell& cell,
                            Launch launch) {
    CellRequest request = request_of(cell, launch);
    const auto end = std::remove_if(request.strategies.begin(), request.strategies.end(),
                                    [&](Strategy strategy) { return file.has(cell, strategy); });
    request.strategies.erase(end, request.strategies.end());
    if (!request.strategies.empty()) {
      const auto measurements = ASSAY_TRY(runner.measure(std::move(request)));
      if (!measurements.empty()) ASSAY_TRY(file.append(measurements));
      ++measured_;
      for (const Measurement& one : measurements)
        standing_.failures += is_failure(one.outcome) ? 1 : 0;
    }
    ++standing_.done;
    tell_progress();
    return {};
  }

  CellRequest request_of(const Cell& cell, Launch launch) {
    const std::int64_t id = ++last_id_;
    return {.id = id,
            .cell = cell,
            .launch = launch,
            .strategies = options_.strategies,
            .tie = options_.tie,
            .min_samples = options_.min_samples,
            .max_samples = options_.max_samples,
            .memory_limit_bytes = options_.memory_limit_bytes,
            .seed = options_.seed + static_cast<std::uint64_t>(id)};
  }

  void tell_doing(std::string doing) {
    standing_.doing = std::move(doing);
    tell_progress();
  }

  void tell_progress() {
    if (!hooks_.on_progress) return;
    const double elapsed = elapsed_seconds();
    if (measured_ > 0 && elapsed > 0) {
      standing_.cells_per_second = static_cast<double>(measured_) / elapsed;
      standing_.left_seconds =
          static_cast<double>(standing_.total - standing_.done) / standing_.cells_per_second;
    }
    hooks_.on_progress(standing_);
  }

  void tell_left_out(const CellRunner& runner, int world_size) const {
    if (runner.left_out() == 0) return;
    notice(fmt::format("TP {}: {} left out because their strategy kept hanging", world_size,
                       core::counted(runner.left_out(), "measurement is", "measurements are")));
  }

  // Counts all outcomes that the file has for the planned cells, including those of earlier runs.
  void count(const BenchmarkFile& file, Launch launch, const std::vector<Cell>& cells) {
    std::map<Cell, std::vector<const Measurement*>> found;
    for (const Measurement& one : file.measurements())
      found[one.cell].push_back(&one);
    std::map<std::pair<DataType, Fusion>, BenchmarkCounts> counts;
    const auto name = benchmark_file_name(file.path().filename().string());
    for (const Cell& cell : cells) {
      if (cell.data_type != name->data_type) continue;
      BenchmarkCounts& row = counts[{cell.data_type, cell.fusion}];
      row.world_size = cell.world_size;
      row.launch = launch;
      row.data_type = cell.data_type;
      row.fusion = cell.fusion;
      ++row.cells;
      row.expected += static_cast<std::int64_t>(options_.strategies.size());
      for (const Measurement* one : found[cell])
        count(*one, row);
    }
    for (const auto& [key, row] : counts)
      result_.counts.push_back(row);
  }

  void count(const Measurement& one, BenchmarkCounts& row) {
    const auto& wanted = options_.strategies;
    if (std::find(wanted.begin(), wanted.end(), one.strategy) == wanted.end()) return;
    ++row.outcomes.at(static_cast<std::size_t>(one.outcome));
    timed_[one.strategy] += one.outcome == Outcome::kOk ? 1 : 0;
    failed_[one.strategy] += is_failure(one.outcome) ? 1 : 0;
  }

  [[nodiscard]] std::vector<Strategy> without_time() const {
    const auto number = [](const auto& counts, Strategy strategy) {
      const auto found = counts.find(strategy);
      return found == counts.end() ? std::int64_t{0} : found->second;
    };
    const auto& all = options_.strategies;
    const bool nothing = std::all_of(
        all.begin(), all.end(), [&](Strategy strategy) { return number(timed_, strategy) == 0; });
    std::vector<Strategy> without;
    for (const Strategy strategy : all) {
      if (number(timed_, strategy) > 0) continue;
      if (nothing || number(failed_, strategy) > 0) without.push_back(strategy);
    }
    return without;
  }

  void notice(const std::string& text) const {
    if (hooks_.on_notice) hooks_.on_notice(text);
  }

  [[nodiscard]] double elapsed_seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  const BenchmarkOptions& options_;
  const BenchmarkHooks& hooks_;
  RankLeader* ranks_;
  Clock::time_point start_ = Clock::now();
  std::int64_t last_id_ = 0;
  std::int64_t measured_ = 0;  // cells measured by this run
  BenchmarkStanding standing_;
  std::map<Strategy, std::int64_t> timed_;
  std::map<Strategy, std::int64_t> failed_;
  BenchmarkResult result_;
};

}  // namespace

std::int64_t BenchmarkCounts::missing() const {
  return expected - std::accumulate(outcomes.begin(), outcomes.end(), std::int64_t{0});
}

Provenance benchmark_provenance(const BenchmarkOptions& options,
                                int world_size,
                                const WorkerHello& hello) {
  return provenance_of(options, world_size, hello);
}

core::Result<core::FileLock> lock_benchmark_folder(const std::filesystem::path& folder) {
  return lock_folder(folder);
}

WorkerLaunch worker_launch(const BenchmarkOptions& options) {
  return {.program = options.worker,
          .gpus = options.gpus,
          .table = options.table,
          .log = options.folder / kWorkerLog};
}

core::Result<BenchmarkResult> run_benchmark(const BenchmarkOptions& options,
                                            const BenchmarkHooks& hooks,
                                            RankLeader* ranks) {
  const auto axes = check_axes(options.axes);
  if (!axes.ok()) return axes.error();
  const auto folder = core::make_directories(options.folder);
  if (!folder.ok()) return folder.error();
  const core::FileLock lock = ASSAY_TRY(lock_folder(options.folder));
  Run run(options, hooks, ranks);
  for (const int world_size : options.world_sizes) {
    const auto measured = run.measure(world_size);
    if (!measured.ok()) return run.with_hint(measured.error());
  }
  return std::move(run).take();
}

}  // namespace assay::allreduce
