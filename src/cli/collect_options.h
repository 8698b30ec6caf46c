// The options of `assay collect`, and what they say together.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/collect_refining.h"
#include "cli/collect_workers.h"
#include "cli/device_options.h"
#include "cli/summary_output.h"
#include "collect/plan/plan.h"
#include "collect/plan/refine.h"
#include "collect/run/collection.h"
#include "core/result.h"
#include "doctor/clock_lock.h"

namespace assay::cli {

class App;

class CollectArguments {
 public:
  // Declares everything.
  explicit CollectArguments(App& app);

  // Wrong usage.
  [[nodiscard]] core::Status check() const;

  // Those named, or all.
  [[nodiscard]] std::vector<const collect::Operator*> operators() const;

  [[nodiscard]] bool names_operators() const { return !named().empty(); }

  // Of operators or of --module. Errors: a value that its axis does not take, a module that does
  // not load, no case at all.
  [[nodiscard]] core::Result<collect::Plan> plan() const;

  // Finds GPUs and the worker. Errors: there is none.
  [[nodiscard]] core::Result<collect::CollectOptions> collect_options() const;

  // Nothing without --lock-clocks. To be held while the collection runs.
  [[nodiscard]] core::Result<std::optional<doctor::ClockLock>> lock_clocks(
      const std::vector<int>& gpus) const;

  // Nothing when this process is alone or the first of its MPI job. Otherwise it becomes a worker,
  // and only an error comes back.
  [[nodiscard]] core::Status follow_if_launched() const;

  [[nodiscard]] bool lists() const { return list_; }

  [[nodiscard]] bool only_plans() const { return plan_only_; }

  [[nodiscard]] bool refines() const { return refine_; }

  [[nodiscard]] bool resumes() const { return resume_ || retry_failed_; }

  // With --refine, which may find nothing to do.
  [[nodiscard]] core::Result<collect::Refinement> refinement() const;

  // Why a refinement has no case.
  [[nodiscard]] std::string nothing_to_refine(const collect::Refinement& refinement) const;

  [[nodiscard]] const Presentation& presentation() const { return presentation_; }

 private:
  void add_what(App& app);
  void add_axes(App& app);
  void add_how(App& app);
  void add_running(App& app);
  void add_refining(App& app);

  [[nodiscard]] std::vector<std::string> named() const;
  [[nodiscard]] core::Result<collect::PlanOptions> plan_options() const;
  [[nodiscard]] core::Status check_module() const;
  [[nodiscard]] core::Status check_refine() const;
  [[nodiscard]] core::Status check_names() const;
  [[nodiscard]] core::Status check_axes() const;
  [[nodiscard]] core::Status choose_worker(const DeviceArguments& device,
                                           collect::CollectOptions& options) const;
  [[nodiscard]] collect::CaseRequest request() const;
  [[nodiscard]] core::Result<Refined> find_refined() const;
  [[nodiscard]] core::Result<collect::CollectOptions> refine_options() const;
  [[nodiscard]] collect::CollectOptions common_options() const;
  [[nodiscard]] collect::Settings settings() const;

  std::set<std::string> given_;  // options that were, "--l2"
  std::vector<std::string> positional_;
  std::vector<std::string> ops_;
  std::map<std::string, std::string> axis_values_;  // by option name
  collect::Grid grid_ = collect::Grid::kCommon;
  std::vector<std::string> case_filters_;
  std::optional<std::int64_t> limit_;
  bool refine_ = false;
  std::filesystem::path refine_from_;  // empty: the folder's own store
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
