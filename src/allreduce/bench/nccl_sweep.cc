#include "allreduce/bench/nccl_sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "allreduce/bench/nccl_runner.h"
#include "allreduce/nccl_csv.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/output_file.h"
#include "core/own_files.h"
#include "core/statistics.h"
#include "core/terminal.h"

namespace assay::allreduce {
namespace {

using SweepTime = std::chrono::steady_clock;

constexpr const char* kTunerLibrary = "libassay_nccl_tuner.so";
constexpr double kSecondsPerSweptCell = 0.7;

// A sweep's file while it is being written. Each call's rows are added to what the file has, which
// stays as it is, and the whole appears at once, so that nothing measured is lost however the
// program ends.
class SweptFile {
 public:
  // Errors are those of BenchmarkFile::open().
  static core::Result<SweptFile> open(const std::filesystem::path& path,
                                      Existing existing,
                                      const Provenance& provenance) {
    SweptFile file(path);
    if (existing == Existing::kRefuse) ASSAY_TRY(check_free(path));
    if (existing == Existing::kResume && core::is_regular_file(path)) {
      ASSAY_TRY(file.read_earlier());
      ASSAY_TRY(resume_provenance_file(path, provenance));
      return file;
    }
    // The provenance is written first, so that no row is ever without it.
    ASSAY_TRY(write_provenance_file(path, provenance));
    ASSAY_TRY(core::write_file(path, file.text_));
    return file;
  }

  core::Status add(const std::vector<NcclMeasurement>& measured) {
    for (const NcclMeasurement& one : measured)
      text_ += nccl_csv_line(one) + "\n";
    measurements_.insert(measurements_.end(), measured.begin(), measured.end());
    return core::write_file(path_, text_);
  }

  // Returns those of the arms that have no row yet. NCCL's own choice goes with them, because
  // settings are compared with what it took in the same minute.
  [[nodiscard]] std::vector<NcclArm> missing(const NcclCell& cell,
                                             const std::vector<NcclArm>& arms) const {
    std::vector<NcclArm> missing;
    for (const NcclArm& arm : arms) {
      const auto is_it = [&](const NcclMeasurement& one) {
        return one.cell == cell && one.arm == arm;
      };
      if (std::none_of(measurements_.begin(), measurements_.end(), is_it)) missing.push_back(arm);
    }
    if (!missing.empty() && missing.front()) missing.insert(missing.begin(), NcclArm());
    return missing;
  }

  // The measurements that the file already held, followed by the added ones.
  [[nodiscard]] const std::vector<NcclMeasurement>& measurements() const { return measurements_; }

 private:
  explicit SweptFile(std::filesystem::path path)
      : path_(std::move(path)), text_(nccl_csv_header() + "\n") {}

  // A last line that something else tore is left out.
  core::Status read_earlier() {
    std::string text = ASSAY_TRY(core::read_file(path_));
    text.resize(text.rfind('\n') + 1);
    if (!text.starts_with(text_)) {
      return core::Error{fmt::format(
          "'{}' has other columns than this version writes: measure anew with --overwrite, or use "
          "another --output",
          path_.string())};
    }
    measurements_ = ASSAY_TRY(parse_nccl_csv(text, path_));
    text_ = std::move(text);
    return {};
  }

  std::filesystem::path path_;
  std::string text_;
  std::vector<NcclMeasurement> measurements_;
};

bool is_swept_failure(Outcome outcome) {
  return outcome != Outcome::kOk && outcome != Outcome::kUnsupported;
}

// The state that the numbers of ranks share while they are measured one after the other.
class SweepRun {
 public:
  SweepRun(const NcclSweepOptions& options, const BenchmarkHooks& hooks)
      : options_(options), hooks_(hooks) {
    for (const int world_size : options.common.world_sizes)
      standing_.total += static_cast<std::int64_t>(cells_of(world_size).size());
  }

  core::Status measure(int world_size) {
    NcclRunner runner(launch_of(world_size), options_.common.deadline);
    tell(fmt::format("NCCL, TP {}, starting its worker", world_size));
    const WorkerHello hello = ASSAY_TRY(runner.hello());
    const auto path = options_.common.folder / NcclFileName{world_size, hello.sm_version}.text();
    SweptFile file = ASSAY_TRY(SweptFile::open(
        path, options_.common.existing, benchmark_provenance(options_.common, world_size, hello)));
    tell(fmt::format("NCCL, TP {}", world_size));
    for (const NcclCell& cell : cells_of(world_size)) {
      auto measured = measure_cell(runner, file, cell);
      if (!measured.ok()) return measured;
    }
    runner.finish();
    result_.files.push_back(path);
    const auto& all = file.measurements();
    result_.measurements.insert(result_.measurements.end(), all.begin(), all.end());
    return {};
  }

  // Says how to go on after an error.
  [[nodiscard]] core::Error with_hint(const core::Error& error) const {
    if (standing_.done == 0) return error;
    return core::Error{
        fmt::format("{}; {} measured and kept: go on by the same command with --resume",
                    error.message, core::counted(standing_.done, "call is", "calls are"))};
  }

  [[nodiscard]] NcclSweepResult take() && {
    result_.wall_seconds = elapsed_seconds();
    return std::move(result_);
  }

 private:
  core::Status measure_cell(NcclRunner& runner, SweptFile& file, const NcclCell& cell) {
    NcclRequest request = request_of(cell);
    request.arms = file.missing(cell, request.arms);
    if (request.arms.empty()) {
      --standing_.total;
      return {};
    }
    const auto measured = ASSAY_TRY(runner.measure(request));
    ASSAY_TRY(file.add(measured));
    for (const NcclMeasurement& one : measured)
      standing_.failures += is_swept_failure(one.outcome) ? 1 : 0;
    ++standing_.done;
    tell(standing_.doing);
    return {};
  }

  [[nodiscard]] std::vector<NcclCell> cells_of(int world_size) const {
    return plan_nccl_cells(world_size, options_.axes,
                           nccl_sizes(options_.common.shapes, options_.common.filter));
  }

  [[nodiscard]] NcclWorkerLaunch launch_of(int world_size) const {
    NcclWorkerLaunch launch{.program = options_.common.worker,
                            .plugin = options_.plugin,
                            .gpus = options_.common.gpus,
                            .log = worker_launch(options_.common).log};
    const auto ranks = static_cast<std::size_t>(world_size);
    if (launch.gpus.empty()) {
      launch.gpus.resize(ranks);
      std::iota(launch.gpus.begin(), launch.gpus.end(), 0);
    }
    launch.gpus.resize(ranks);
    return launch;
  }

  NcclRequest request_of(const NcclCell& cell) {
    const std::int64_t id = ++last_id_;
    return {.id = id,
            .cell = cell,
            .arms = nccl_arms(cell.collective, options_.axes),
            .tie = options_.common.tie,
            .min_samples = options_.common.min_samples,
            .max_samples = options_.common.max_samples,
            .seed = options_.common.seed + static_cast<std::uint64_t>(id)};
  }

  void tell(std::string doing) {
    standing_.doing = std::move(doing);
    if (!hooks_.on_progress) return;
    const double elapsed = elapsed_seconds();
    if (standing_.done > 0 && elapsed > 0) {
      standing_.cells_per_second = static_cast<double>(standing_.done) / elapsed;
      standing_.left_seconds =
          static_cast<double>(standing_.total - standing_.done) / standing_.cells_per_second;
    }
    hooks_.on_progress(standing_);
  }

  [[nodiscard]] double elapsed_seconds() const {
    return std::chrono::duration<double>(SweepTime::now() - start_).count();
  }

  const NcclSweepOptions& options_;
  const BenchmarkHooks& hooks_;
  SweepTime::time_point start_ = SweepTime::now();
  std::int64_t last_id_ = 0;
  BenchmarkStanding standing_;
  NcclSweepResult result_;
};

// It sums up one collective with one number of ranks and one launch.
struct SweptGains {
  std::int64_t calls = 0;
  std::int64_t arms = 0;
  std::int64_t timed = 0;
  std::int64_t failed = 0;
  std::int64_t better = 0;
  std::vector<double> gains_percent;
};

// Adds a call: its arms, and how much longer NCCL's own choice takes than the best.
void add_call(SweptGains& gains, const std::vector<const NcclMeasurement*>& arms, double tie) {
  const NcclMeasurement* own = nullptr;
  const NcclMeasurement* best = nullptr;
  ++gains.calls;
  for (const NcclMeasurement* one : arms) {
    ++gains.arms;
    gains.failed += is_swept_failure(one->outcome) ? 1 : 0;
    if (one->outcome != Outcome::kOk) continue;
    ++gains.timed;
    if (!one->arm) own = one;
    if (best == nullptr || one->time_us < best->time_us) best = one;
  }
  if (own == nullptr || best == nullptr) return;
  const bool beyond_noise = best->time_us * (1 + tie) < own->time_us && best->high_us < own->low_us;
  const bool is_better = best->arm && beyond_noise && name_of(*best->arm) != own->ran;
  gains.better += is_better ? 1 : 0;
  gains.gains_percent.push_back(is_better ? kPercent * (own->time_us / best->time_us - 1) : 0);
}

using SweptKey = std::tuple<int, Launch, NcclCollective, DataType>;

SweptKey key_of(const NcclCell& cell) {
  return {cell.world_size, cell.launch, cell.collective, cell.data_type};
}

// The first columns of a table with a row for each key.
std::vector<model::Cell> cells_of_key(const SweptKey& key) {
  const auto& [world_size, launch, collective, data_type] = key;
  return {std::int64_t{world_size}, std::string(name_of(launch)), std::string(name_of(collective)),
          std::string(name_of(data_type))};
}

std::map<SweptKey, SweptGains> gains_of(const std::vector<NcclMeasurement>& measurements,
                                        double tie) {
  std::map<NcclCell, std::vector<const NcclMeasurement*>> calls;
  for (const NcclMeasurement& one : measurements)
    calls[one.cell].push_back(&one);
  std::map<SweptKey, SweptGains> gains;
  for (const auto& [cell, arms] : calls)
    add_call(gains[key_of(cell)], arms, tie);
  return gains;
}

}  // namespace

core::Result<NcclSweepResult> run_nccl_sweep(const NcclSweepOptions& options,
                                             const BenchmarkHooks& hooks) {
  const auto folder = core::make_directories(options.common.folder);
  if (!folder.ok()) return folder.error();
  const core::FileLock lock = ASSAY_TRY(lock_benchmark_folder(options.common.folder));
  SweepRun run(options, hooks);
  for (const int world_size : options.common.world_sizes) {
    const auto measured = run.measure(world_size);
    if (!measured.ok()) return run.with_hint(measured.error());
  }
  return std::move(run).take();
}

model::Book nccl_plan_summary(const NcclSweepOptions& options) {
  model::Table table{.name = "plan",
                     .title = "What would be measured",
                     .columns = {{.name = "TP"},
                                 {.name = "launch"},
                                 {.name = "collective"},
                                 {.name = "dtype"},
                                 {.name = "sizes"},
                                 {.name = "settings"}}};
  const auto sizes = nccl_sizes(options.common.shapes, options.common.filter);
  std::map<SweptKey, std::int64_t> planned;
  std::int64_t calls = 0;
  for (const int world_size : options.common.world_sizes) {
    for (const NcclCell& cell : plan_nccl_cells(world_size, options.axes, sizes)) {
      ++planned[key_of(cell)];
      ++calls;
    }
  }
  for (const auto& [key, count] : planned) {
    std::vector<model::Cell> row = cells_of_key(key);
    row.emplace_back(count);
    row.emplace_back(
        static_cast<std::int64_t>(nccl_arms(std::get<NcclCollective>(key), options.axes).size()));
    table.add_row(std::move(row));
  }
  table.notes.push_back(
      fmt::format("{}; about {} where a call takes {} s", core::counted(calls, "call"),
                  core::duration_text(static_cast<double>(calls) * kSecondsPerSweptCell),
                  kSecondsPerSweptCell));
  return {.title = "Plan of a sweep of NCCL's settings", .tables = {std::move(table)}};
}

model::Book nccl_sweep_summary(const NcclSweepResult& result, double tie) {
  model::Table table{.name = "nccl_sweep",
                     .title = "NCCL's settings beside its own choice",
                     .columns = {{.name = "TP"},
                                 {.name = "launch"},
                                 {.name = "collective"},
                                 {.name = "dtype"},
                                 {.name = "calls"},
                                 {.name = "settings"},
                                 {.name = "timed"},
                                 {.name = "failed"},
                                 {.name = "better"},
                                 {.name = "median gain (%)"},
                                 {.name = "largest gain (%)"}}};
  for (const auto& [key, gains] : gains_of(result.measurements, tie)) {
    const bool known = !gains.gains_percent.empty();
    std::vector<model::Cell> row = cells_of_key(key);
    row.insert(row.end(), {gains.calls, gains.arms, gains.timed, gains.failed, gains.better,
                           known ? core::median(gains.gains_percent) : 0.0,
                           known ? core::maximum(gains.gains_percent) : 0.0});
    table.add_row(std::move(row));
  }
  table.notes.emplace_back(
      "timed: NCCL ran the call just so; better: calls where a setting beats NCCL's own choice "
      "beyond "
      "the noise; gain: how much longer NCCL's own choice takes than the best setting");
  table.notes.push_back(fmt::format("measured in {}", core::duration_text(result.wall_seconds)));
  for (const auto& file : result.files)
    table.notes.push_back(file.string());
  return {.title = "Sweep of NCCL's settings", .tables = {std::move(table)}};
}

core::Result<std::filesystem::path> find_nccl_tuner() {
  return core::find_own_library(kTunerLibrary);
}

}  // namespace assay::allreduce
