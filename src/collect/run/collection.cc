#include "collect/run/collection.h"

#include <fmt/core.h>

#include <chrono>
#include <set>
#include <utility>

#include "collect/plan/module.h"
#include "collect/run/reports.h"
#include "core/counted.h"
#include "core/interrupt.h"
#include "core/statistics.h"
#include "core/terminal.h"
#include "core/text.h"

namespace assay::collect {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<std::string> operator_names(const Tally& tally) {
  std::vector<std::string> names;
  for (const OperatorTally& one : tally.operators())
    names.push_back(one.name);
  return names;
}

class Collection {
 public:
  Collection(const CollectOptions& options,
             const Plan& plan,
             const CollectHooks& hooks,
             RunState state,
             fs::path reports)
      : options_(options),
        plan_(plan),
        hooks_(hooks),
        state_(std::move(state)),
        reports_(std::move(reports)),
        result_{.tally = Tally(plan)} {
    set_device(state_.known_device());
    for (const store::StoredCase& one : state_.finished())
      result_.tally.add(one);
    standing_.total = static_cast<std::int64_t>(plan.cases.size());
  }

  core::Status run() {
    const auto any = [](const PlannedCase&) { return true; };
    if (options_.gpus.empty()) return run_on({only_one()}, open_cases(any));
    const auto needs_one = [](const PlannedCase& one) { return one.devices == Devices::kOne; };
    const auto needs_all = [](const PlannedCase& one) { return one.devices == Devices::kAll; };
    ASSAY_TRY(run_on(each_gpu(), open_cases(needs_one)));
    if (result_.end == SupervisorEnd::kInterrupted) return {};
    return run_on({all_gpus()}, open_cases(needs_all));
  }

  [[nodiscard]] core::Error with_hint(const core::Error& error) const {
    if (result_.measured_now == 0) return error;
    return core::Error{
        fmt::format("{}; {} finished and kept: go on by the same command with --resume",
                    error.message, core::counted(result_.measured_now, "case is", "cases are"))};
  }

  // Files are written even if the program was asked to stop.
  core::Result<CollectResult> finish() && {
    const core::FinishingTouches guard;
    result_.run = state_.run();
    if (!options_.again && result_.tally.total().measured > 0) {
      result_.files = ASSAY_TRY(write_public_tables(state_.store(), options_.folder));
    }
    ASSAY_TRY(write_reports(reports_, heading_, result_.tally, time_use(result_.times)));
    result_.files.push_back(reports_);
    result_.wall_seconds = elapsed_seconds();
    return std::move(result_);
  }

 private:
  template <class Wanted>
  [[nodiscard]] std::vector<const PlannedCase*> open_cases(Wanted wanted) const {
    std::vector<const PlannedCase*> open;
    for (const PlannedCase& one : plan_.cases) {
      if (wanted(one) && !state_.is_finished(one.id)) open.push_back(&one);
    }
    return open;
  }

  [[nodiscard]] WorkerPlace place(const std::string& name,
                                  const std::string& device_id,
                                  const std::vector<int>& gpus,
                                  const std::string& log) const {
    return {.name = name,
            .device_id = device_id,
            .arguments = options_.worker(gpus),
            .log = reports_ / log,
            .environment = options_.environment};
  }

  [[nodiscard]] WorkerPlace only_one() const {
    return place(options_.place, "cpu", {}, "worker.cpu.log");
  }

  [[nodiscard]] std::vector<WorkerPlace> each_gpu() const {
    std::vector<WorkerPlace> places;
    for (const int gpu : options_.gpus) {
      const std::string id = std::to_string(gpu);
      places.push_back(place("GPU " + id, id, {gpu}, fmt::format("worker.gpu{}.log", id)));
    }
    return places;
  }

  [[nodiscard]] WorkerPlace all_gpus() const {
    const std::string ids = core::join(options_.gpus, ",");
    return place("the worker of GPUs " + ids, ids, options_.gpus, "worker.all_gpus.log");
  }

  core::Status run_on(const std::vector<WorkerPlace>& places,
                      const std::vector<const PlannedCase*>& cases) {
    if (cases.empty()) return {};
    SupervisorHooks hooks;
    hooks.request_of = [this](const PlannedCase& one) { return request_of(one); };
    hooks.on_ready = [this](const DeviceFacts& device) { return take_device(device); };
    hooks.on_finished = [this](std::vector<FinishedCase> finished) {
      return take(std::move(finished));
    };
    hooks.on_notice = hooks_.on_notice;
    hooks.on_tick = [this] { tell_progress(); };
    Supervisor supervisor(places, options_.deadlines, std::move(hooks));
    const SupervisorEnd end = ASSAY_TRY(supervisor.run(cases));
    if (result_.end == SupervisorEnd::kAllDone) result_.end = end;
    return {};
  }

  [[nodiscard]] CaseRequest request_of(const PlannedCase& one) const {
    CaseRequest request = options_.request;
    request.operator_name = one.operator_name;
    request.case_json = one.json;
    request.check = one.check;
    request.measure_power = one.measure_power;
    return request;
  }

  // All workers of a run have the same kind of device and the same versions.
  core::Result<std::optional<std::string>> take_device(const DeviceFacts& device) {
    if (!is_begun_) {
      ASSAY_TRY(compare_with(options_.earlier_device, facts_of(device)));
      ASSAY_TRY(state_.begin(device));
      is_begun_ = true;
      set_device(facts_of(device));
      return std::optional<std::string>();
    }
    Settings known = device_;
    const Settings now = facts_of(device);
    for (auto fact = known.begin(); fact != known.end();)
      fact = now.contains(fact->first) ? std::next(fact) : known.erase(fact);
    const std::string others = differences(known, now, "");
    if (others.empty()) return std::optional<std::string>();
    return std::optional<std::string>("it differs from what the run began with: " + others);
  }

  // Another driver deserves a notice. Another device cannot repeat the measurements.
  core::Status compare_with(const Settings& then, const Settings& now) const {
    const std::string others = differences(then, now, "");
    if (others.empty()) return {};
    for (const char* same : {"kind", "name"}) {
      if (then.contains(same) && then.at(same) != now.at(same)) {
        return core::Error{"the points to go by are of another device: its " + others};
      }
    }
    if (hooks_.on_notice) {
      hooks_.on_notice("not all is as it was when the earlier points were measured: " + others);
    }
    return {};
  }

  void set_device(const Settings& facts) {
    device_ = facts;
    heading_.version = device_["version"];
    const std::string framework = device_["framework"];
    heading_.backend = !options_.backend.empty() ? options_.backend
                       : framework.empty()       ? "assay"
                                                 : framework;
  }

  core::Status take(std::vector<FinishedCase> finished) {
    std::vector<store::CaseRecord> records;
    for (FinishedCase& one : finished) {
      note_time(one);
      note_certainty(one);
      // A module logs whose kernel it ran; only assay's own rows take the name that is asked for.
      const bool renames = !options_.backend.empty() && device_["framework"] != kModuleFramework;
      for (model::PerfMeasurement& measured : one.rows) {
        if (renames) measured.row.framework = options_.backend;
      }
      records.push_back(record_of(std::move(one), heading_.backend));
    }
    ASSAY_TRY(state_.append(records));
    for (const store::CaseRecord& record : records)
      count(record);
    return {};
  }

  void note_time(const FinishedCase& one) {
    if (one.outcome != store::CaseOutcome::kMeasured) return;
    CaseTimes sampled;
    for (const model::PerfMeasurement& row : one.rows)
      sampled.kernels_ms +=
          core::sum(row.timing.samples_ms) * static_cast<double>(row.timing.launches_per_sample);
    result_.times.push_back({.operator_name = one.planned->operator_name,
                             .wall_ms = one.wall_ms,
                             .parts = one.times.value_or(sampled)});
  }

  void note_certainty(const FinishedCase& one) {
    const MeasureOptions& asked = options_.request.options;
    if (asked.num_runs > 0) return;
    for (const model::PerfMeasurement& row : one.rows) {
      const model::Timing& timing = row.timing;
      if (!(timing.low_ms > 0)) continue;  // the worker gives no interval
      const double half_ms =
          std::max(timing.high_ms - timing.median_ms, timing.median_ms - timing.low_ms);
      const double part = half_ms / timing.median_ms;
      MissedCertainty& uncertain = result_.uncertain;
      ++uncertain.rows;
      if (part <= asked.certainty) continue;
      ++uncertain.missed;
      if (part <= uncertain.worst) continue;
      uncertain.worst = part;
      uncertain.worst_case = one.planned->id;
    }
  }

  void count(const store::CaseRecord& record) {
    result_.tally.add({.id = record.id,
                       .outcome = record.outcome,
                       .operator_name = record.operator_name,
                       .reason = record.reason,
                       .error_class = record.error_class,
                       .detail = record.detail});
    ++result_.measured_now;
    standing_.doing = record.operator_name;
  }

  void tell_progress() {
    if (!hooks_.on_progress) return;
    const OperatorTally total = result_.tally.total();
    standing_.done = total.expected - total.missing();
    standing_.failed = total.failed;
    standing_.skipped = total.skipped;
    const double elapsed = elapsed_seconds();
    if (result_.measured_now > 0 && elapsed > 0) {
      standing_.cases_per_second = static_cast<double>(result_.measured_now) / elapsed;
      standing_.left_seconds = static_cast<double>(total.missing()) / standing_.cases_per_second;
    }
    hooks_.on_progress(standing_);
  }

  [[nodiscard]] double elapsed_seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  const CollectOptions& options_;
  const Plan& plan_;
  const CollectHooks& hooks_;
  RunState state_;
  fs::path reports_;
  Clock::time_point start_ = Clock::now();
  bool is_begun_ = false;
  Settings device_;  // as facts_of() returns it
  ReportHeading heading_;
  CollectStanding standing_;
  CollectResult result_;
};

}  // namespace

std::string progress_text(const CollectStanding& standing) {
  std::string text =
      fmt::format("{}: {} of {}", standing.doing.empty() ? "starting workers" : standing.doing,
                  standing.done, core::counted(standing.total, "case"));
  if (standing.left_seconds) text += fmt::format(", {:.1f} cases/s", standing.cases_per_second);
  if (standing.failed > 0) text += fmt::format(", {} failed", standing.failed);
  if (standing.skipped > 0) text += fmt::format(", {} skipped", standing.skipped);
  if (standing.left_seconds) {
    text += fmt::format(", {} left", core::duration_text(*standing.left_seconds));
  }
  return text;
}

core::Result<CollectResult> run_collection(const CollectOptions& options,
                                           const Plan& plan,
                                           const CollectHooks& hooks) {
  RunRequest request{.folder = options.folder,
                     .beginning = options.beginning,
                     .settings = options.settings,
                     .record = options.record};
  if (options.again) {
    request.kind = kRerun;
    request.store_file = options.again->store_file;
  }
  RunState state = ASSAY_TRY(RunState::open(request, plan));
  std::vector<std::string> names = operator_names(Tally(plan));
  if (options.again) names = {"rerun"};
  fs::path reports = ASSAY_TRY(make_report_folder(options.folder, names));
  if (!options.again) link_latest(reports);
  Collection collection(options, plan, hooks, std::move(state), std::move(reports));
  const core::Status run = collection.run();
  if (!run.ok()) return collection.with_hint(run.error());
  return std::move(collection).finish();
}

}  // namespace assay::collect
