// The run of a folder: DIR/perf.db contains every finished case, the settings of the run and its
// device. A lock keeps other processes from the folder.
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

// The way in which a run begins in a folder that already has one. kNew starts a new run and fails
// if the last one is not finished; kFresh starts one in any case. kResume continues the last run
// without its failed cases; kRetryFailed also tries these again.
enum class Beginning : std::uint8_t { kNew, kFresh, kResume, kRetryFailed };

inline constexpr const char* kStoreFile = "perf.db";

struct RunRequest {
  std::filesystem::path folder;
  std::string store_file = kStoreFile;  // name in the folder
  std::string kind = kCollectRun;
  Beginning beginning = Beginning::kNew;
  Settings settings = {};  // options that change cases or results; a resumed run must have the same
  // More to note about the run. Options among it, such as "--deadline", may change when a run is
  // resumed: the new value holds for what is left, and the record tells when it changed.
  Settings record = {};
};

class RunState {
 public:
  // Locks the folder, opens its store, and finds the run to resume. Errors: the folder is in use or
  // cannot be written; there is an unfinished run that shall not be resumed; there is no run to
  // resume; the run to resume has another plan or other settings, which the message lists.
  static core::Result<RunState> open(const RunRequest& request, const Plan& plan);

  // The cases of the plan that need not be measured any more, as they are in the store.
  [[nodiscard]] const std::vector<store::StoredCase>& finished() const { return finished_; }

  [[nodiscard]] bool is_finished(const std::string& id) const { return finished_ids_.contains(id); }

  // The device of the run to resume, as facts_of() returns it; empty for a new run.
  [[nodiscard]] Settings known_device() const;

  // Begins the run in the store, or notes in its record that it goes on with other options. It is
  // called before the first append(). Error: the run to resume was measured on another device, or
  // with other versions.
  core::Status begin(const DeviceFacts& device);

  core::Status append(const std::vector<store::CaseRecord>& records);

  [[nodiscard]] const store::Store& store() const { return store_; }

  // Its number in the store; 0 before begin().
  [[nodiscard]] std::int64_t run() const { return run_; }

 private:
  RunState(core::FileLock lock, store::Store store, RunRequest request)
      : lock_(std::move(lock)), store_(std::move(store)), request_(std::move(request)) {}

  core::Status find_run(const Plan& plan);
  core::Status refuse_unfinished(std::int64_t run, const store::Run& known) const;
  core::Status check_same(const store::Run& known, const Plan& plan) const;
  core::Status load(std::int64_t run, const Plan& plan);
  core::Status go_on(const Settings& device);
  core::Status note_changes();

  core::FileLock lock_;
  store::Store store_;
  RunRequest request_;
  std::string plan_hash_;
  std::int64_t num_cases_ = 0;
  Settings expected_;     // number of cases of each operator
  std::int64_t run_ = 0;  // 0 before begin()
  Settings known_facts_;  // of the run to resume
  std::vector<store::StoredCase> finished_;
  std::unordered_set<std::string> finished_ids_;
};

// Counts the outcomes of a run's planned cases, for the wanted operators in the order of their
// names.
core::Result<Tally> tally_of(const store::Store& store,
                             std::int64_t run,
                             const std::function<bool(const std::string&)>& wanted);

}  // namespace assay::collect
