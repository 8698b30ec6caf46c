// The options of `assay collect`, and the requests that follow from them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/summary_output.h"
#include "cli/workers.h"
#include "collect/plan/plan.h"
#include "collect/plan/plan_from_store.h"
#include "collect/run/collection.h"
#include "collect/run/earlier_run.h"
#include "core/result.h"
#include "doctor/clock_lock.h"

namespace assay::cli {

class App;

class CollectArguments {
 public:
  // Declares all options.
  explicit CollectArguments(App& app);

  // Fails for wrong usage.
  [[nodiscard]] core::Status check() const;

  // Returns the operators that are named, or all operators.
  [[nodiscard]] std::vector<const collect::Operator*> operators() const;

  [[nodiscard]] bool names_operators() const { return !named().empty(); }

  // Returns the plan of the operators or of --module. Fails if an axis does not take a value, if
  // the module does not load, or if there is no case at all.
  [[nodiscard]] core::Result<collect::Plan> plan() const;

  // Finds the GPUs and the worker. Fails if there are none.
  [[nodiscard]] core::Result<collect::CollectOptions> collect_options() const;

  // Returns std::nullopt without --lock-clocks. The caller keeps the lock while the collection
  // runs. Has the workers count GPUs as the lock does.
  [[nodiscard]] core::Result<std::optional<doctor::ClockLock>> lock_clocks(
      collect::CollectOptions& options) const;

  // Does nothing when this process is alone or the first of its MPI job. Otherwise the process
  // becomes a worker, and the call returns only on an error.
  [[nodiscard]] core::Status follow_if_launched() const;

  [[nodiscard]] bool lists() const { return list_; }

  [[nodiscard]] bool only_plans() const { return plan_only_; }

  [[nodiscard]] bool refines() const { return refine_; }

  [[nodiscard]] bool runs_on_gpus() const {
    return device_.kind != DeviceKind::kCpu && module_.empty();
  }

  [[nodiscard]] bool resumes() const { return resume_ || retry_failed_; }

  // Returns the cases that --refine adds, of which there may be none.
  [[nodiscard]] core::Result<collect::Refinement> refinement() const;

  // If the error of a predicted point exceeds this limit, points are added beside it. A fraction,
  // not a percentage.
  [[nodiscard]] double refine_limit() const { return refine_limit_percent_ / 100; }

  [[nodiscard]] const Presentation& presentation() const { return presentation_; }

 private:
  void add_what(App& app);
  void add_axes(App& app);
  void add_how(App& app);
  void add_running(App& app);
  void add_refining(App& app);

  [[nodiscard]] std::vector<std::string> named() const;
  [[nodiscard]] collect::Grid grid() const;
  [[nodiscard]] core::Result<collect::PlanOptions> plan_options() const;
  [[nodiscard]] core::Result<collect::Plan> plan_of_models(
      const collect::PlanOptions& options) const;
  [[nodiscard]] core::Status check_module() const;
  [[nodiscard]] core::Status check_choice_of_cases() const;
  [[nodiscard]] core::Status check_refine() const;
  [[nodiscard]] core::Status check_names() const;
  [[nodiscard]] core::Status check_axes() const;
  [[nodiscard]] core::Status check_models() const;
  [[nodiscard]] core::Status choose_worker(const DeviceArguments& device,
                                           collect::CollectOptions& options) const;
  [[nodiscard]] collect::CaseRequest request() const;
  [[nodiscard]] core::Result<collect::RefinedRun> find_refined() const;
  [[nodiscard]] core::Result<collect::CollectOptions> refine_options() const;
  [[nodiscard]] collect::CollectOptions common_options() const;
  [[nodiscard]] collect::Settings settings() const;

  std::set<std::string> given_;  // the options that the user gave, such as "--l2"
  std::vector<std::string> positional_;
  std::vector<std::string> ops_;
  std::map<std::string, std::string> axis_values_;  // values by option name
  collect::Grid grid_ = collect::Grid::kCommon;
  std::vector<std::string> case_filters_;
  std::filesystem::path unless_in_;
  std::optional<std::int64_t> limit_;
  bool refine_ = false;
  std::filesystem::path refine_from_;  // empty for the folder's own store
  double refine_limit_percent_ = store::kHeldOutLimit * 100;
  bool smoke_ = false;
  bool shuffle_ = false;
  std::uint64_t seed_ = 42;
  std::int64_t check_every_ = 100;
  double certainty_percent_ = 1;
  double deadline_seconds_ = 60;
  collect::CaseRequest request_;
  DeviceArguments device_;
  std::filesystem::path module_;
  std::vector<std::string> for_models_;  // files, folders or names
  ModelArguments models_;
  std::string lock_clocks_;
  std::filesystem::path folder_ = "perf";
  std::string backend_;
  bool resume_ = false;
  bool retry_failed_ = false;
  bool new_run_ = false;
  bool plan_only_ = false;
  bool list_ = false;
  Presentation presentation_;
};

}  // namespace assay::cli
