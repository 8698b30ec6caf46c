// The run that a folder holds: DIR/perf.db with every case that is finished, and what the run is
// made with. Only one process at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "collect/kernels/device.h"
#include "collect/plan/plan.h"
#include "collect/plan/run_record.h"
#include "collect/run/tally.h"
#include "core/files.h"
#include "core/result.h"
#include "store/database/store.h"

namespace assay::collect {

// kNew: refuses a folder whose last run is not finished; kFresh: begins a new one all the same.
// kResume: goes on with the last run, past its failures; kRetryFailed: these too.
enum class Beginning : std::uint8_t { kNew, kFresh, kResume, kRetryFailed };

inline constexpr const char* kStoreFile = "perf.db";

struct RunRequest {
  std::filesystem::path folder;
  std::string store_file = kStoreFile;  // in the folder
  std::string kind = kCollectRun;
  Beginning beginning = Beginning::kNew;
  Settings settings = {};  // what changes cases or results; a resumed run must have the same
  Settings record = {};    // what else is to be known of it
};

class RunState {
 public:
  // Locks the folder, opens its store, and finds the run to go on with. Errors: the folder is in
  // use or cannot be written, an unfinished run without a resumption, none to resume, one that is
  // not of these settings or this plan (each difference is named).
  static core::Result<RunState> open(const RunRequest& request, const Plan& plan);

  // Cases of the plan that need no measuring any more, as they were left.
  [[nodiscard]] const std::vector<store::StoredCase>& finished() const { return finished_; }

  [[nodiscard]] bool is_finished(const std::string& id) const { return finished_ids_.contains(id); }

  // Of the run to go on with, as facts_of() gives it; empty for a new one.
  [[nodiscard]] Settings known_device() const;

  // Before the first append: begins the run in the store. Error: the run to go on with was measured
  // on another device, or with other versions.
  core::Status begin(const DeviceFacts& device);

  core::Status append(const std::vector<store::CaseRecord>& records);

  [[nodiscard]] const store::Store& store() const { return store_; }

  // 0: not begun.
  [[nodiscard]] std::int64_t run() const { return run_; }

 private:
  RunState(core::FileLock lock, store::Store store, RunRequest request)
      : lock_(std::move(lock)), store_(std::move(store)), request_(std::move(request)) {}

  core::Status find_run(const Plan& plan);
  core::Status refuse_unfinished(std::int64_t run, const store::Run& known) const;
  core::Status check_same(const store::Run& known, const Plan& plan) const;
  core::Status load(std::int64_t run, const Plan& plan);

  core::FileLock lock_;
  store::Store store_;
  RunRequest request_;
  std::string plan_hash_;
  std::int64_t num_cases_ = 0;
  Settings expected_;     // cases by operator
  std::int64_t run_ = 0;  // 0: not begun
  Settings known_facts_;  // of the run to go on with
  std::vector<store::StoredCase> finished_;
  std::unordered_set<std::string> finished_ids_;
};

// What became of the cases that a run had planned, of the operators that are wanted, in the order
// of their names.
core::Result<Tally> tally_of(const store::Store& store,
                             std::int64_t run,
                             const std::function<bool(const std::string&)>& wanted);

}  // namespace assay::collect
