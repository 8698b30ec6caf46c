#include "sweep/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/process_family.h"
#include "core/statistics.h"
#include "sweep/one_run.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

using OrderedRecords = std::vector<std::optional<RunRecord>>;  // one for each run of the order

constexpr pid_t kNobody = -1;
constexpr double kYearSeconds = 365.0 * 24 * 3600;

OrderedRecords records_by_order(const fs::path& folder,
                                const Plan& plan,
                                const std::vector<PlannedRun>& order) {
  std::map<std::pair<std::string, int>, RunRecord> known;
  for (RunRecord& record : read_records(folder, plan))
    known.insert_or_assign(std::pair(record.setting, record.repeat), std::move(record));
  OrderedRecords records(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto found = known.find({plan.settings[order[i].setting].name, order[i].repeat});
    if (found != known.end()) records[i] = std::move(found->second);
  }
  return records;
}

bool needs_run(const std::optional<RunRecord>& record, SweepOptions::Failed failed) {
  if (!record) return true;
  return record->status != RunStatus::kOk && failed == SweepOptions::Failed::kRetry;
}

void add_detail(RunRecord& record, const std::string& words) {
  if (words.empty()) return;
  record.detail += (record.detail.empty() ? "" : "; ") + words;
}

// Checks the traces of a run that exited with 0, and notes the result in its record.
void judge_traces(RunRecord& record, const fs::path& folder, const SweepHooks& hooks) {
  record.traces = hooks.check_traces(folder);
  if (record.status != RunStatus::kOk || record.traces.problem.empty()) return;
  record.status = record.traces.whole == 0 && record.traces.expected == 0 ? RunStatus::kNoTraces
                                                                          : RunStatus::kBadTraces;
  add_detail(record, record.traces.problem);
}

class Sweep {
 public:
  Sweep(const SweepFolder& folder,
        const Plan& plan,
        const SweepOptions& options,
        const SweepHooks& hooks)
      : folder_(folder),
        plan_(plan),
        options_(options),
        hooks_(hooks),
        order_(run_order(plan)),
        records_(records_by_order(folder.path(), plan, order_)),
        observer_(options.sources, plan.expected_library) {}

  core::Result<std::vector<RunRecord>> run_all() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (needs_run(records_[i], options_.failed)) ASSAY_TRY(run(i));
    }
    return known_records();
  }

 private:
  core::Status run(std::size_t i) {
    const fs::path name = run_folder(plan_, order_[i]);
    const RunFiles files = ASSAY_TRY(folder_.begin_run(name));
    const auto on_tick = [&](double run_seconds) { hooks_.on_tick(standing(i, run_seconds)); };
    on_tick(0);
    auto made = run_once(plan_, order_[i], files, options_, observer_, on_tick);
    if (!made.ok()) {
      // An unfinished run must not look like a successful one.
      ASSAY_TRY(folder_.set_aside(name));
      return made.error();
    }
    RunRecord record = std::move(made).value();
    record.position = static_cast<int>(i) + 1;
    add_detail(record, ASSAY_TRY(folder_.mend_run(name)));
    judge_traces(record, files.folder, hooks_);
    if (record.status != RunStatus::kOk) add_detail(record, folder_.make_room(name));
    ASSAY_TRY(folder_.end_run(name, record));
    records_[i] = record;
    hooks_.on_end(standing(i, record.duration_s), record);
    return hooks_.on_records(known_records());
  }

  [[nodiscard]] Standing standing(std::size_t i, double run_seconds) const {
    Standing standing{i + 1, order_.size(), run_title(plan_, order_[i]), run_seconds};
    std::vector<double> durations;
    for (const auto& record : records_)
      if (record && record->status == RunStatus::kOk) durations.push_back(record->duration_s);
    if (durations.empty()) return standing;
    const auto left =
        std::count_if(records_.begin() + static_cast<std::ptrdiff_t>(i), records_.end(),
                      [&](const auto& record) { return needs_run(record, options_.failed); });
    const double left_seconds = static_cast<double>(left) * core::median(durations);
    standing.left_seconds = std::max(left_seconds - run_seconds, 0.0);
    return standing;
  }

  [[nodiscard]] std::vector<RunRecord> known_records() const {
    std::vector<RunRecord> known;
    for (const auto& record : records_)
      if (record) known.push_back(*record);
    return known;
  }

  const SweepFolder& folder_;
  const Plan& plan_;
  const SweepOptions& options_;
  const SweepHooks& hooks_;
  std::vector<PlannedRun> order_;
  OrderedRecords records_;
  Observer observer_;
};

}  // namespace

core::Result<std::chrono::milliseconds> time_limit(double seconds) {
  if (seconds > kYearSeconds) {
    return core::Error{fmt::format("{} s is more than a year, {:.0f} s", seconds, kYearSeconds)};
  }
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

std::vector<PendingRun> pending_runs(const fs::path& folder,
                                     const Plan& plan,
                                     SweepOptions::Failed failed) {
  const std::vector<PlannedRun> order = run_order(plan);
  const OrderedRecords records = records_by_order(folder, plan, order);
  std::vector<PendingRun> pending;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (needs_run(records[i], failed)) pending.push_back({i + 1, order[i]});
  return pending;
}

core::Result<std::vector<RunRecord>> run_sweep(const SweepFolder& folder,
                                               const Plan& plan,
                                               const SweepOptions& options,
                                               const SweepHooks& hooks) {
  // Ends the processes that remain if the last session of this sweep was killed with its keeper.
  core::end_family({kNobody, std::string(kMark) + '=' + plan.id}, options.grace);
  return Sweep(folder, plan, options, hooks).run_all();
}

}  // namespace assay::sweep
