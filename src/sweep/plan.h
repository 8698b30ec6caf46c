// What a sweep measures. The plan is fixed when the sweep starts, is kept in its folder, and stays
// the same when the sweep resumes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "sweep/conditions.h"
#include "sweep/setting.h"

namespace assay::sweep {

struct Plan {
  std::string id;  // unique to this sweep; its processes have it in their environment
  std::vector<std::string> command;
  std::string config;  // the value of -c, or ""
  Settings settings;
  int repeats = 1;
  std::uint64_t seed = 0;                       // for the order of the runs
  std::filesystem::path expected_library = {};  // "" if any library will do
  Conditions conditions = {};                   // when the sweep began
};

struct PlannedRun {
  std::size_t setting = 0;  // index into Plan::settings
  int repeat = 1;
};

// Returns every setting once in random order, then again in another order for each further repeat,
// so that a machine that drifts favours no setting. More repeats only add to the end of the order.
std::vector<PlannedRun> run_order(const Plan& plan);

// Returns "16cta_256threads", or "16cta_256threads/repeat2" if settings are repeated.
std::filesystem::path run_folder(const Plan& plan, const PlannedRun& run);

// Returns the same as a title: "16cta_256threads, repeat 2".
std::string run_title(const Plan& plan, const PlannedRun& run);

std::string plan_json(const Plan& plan);
core::Result<Plan> parse_plan(const std::string& text);

// Returns "" if `asked` can continue the sweep of `stored`, possibly with more repeats, and
// otherwise describes the difference. The ids are not compared.
std::string plan_difference(const Plan& stored, const Plan& asked);

// Returns a number for a new plan's id and, if the user gave no seed, for its seed.
std::uint64_t random_number();

}  // namespace assay::sweep
