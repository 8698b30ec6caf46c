// What a sweep measures: fixed when it starts, kept in its folder, the same when it resumes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "sweep/setting.h"

namespace assay::sweep {

struct Plan {
  std::string id;  // of this sweep alone; its processes carry it in their environment
  std::vector<std::string> command;
  std::string config;  // what -c named, or ""
  Settings settings;
  int repeats = 1;
  std::uint64_t seed = 0;                       // of the order
  std::filesystem::path expected_library = {};  // or ""
};

struct PlannedRun {
  std::size_t setting = 0;  // index into Plan::settings
  int repeat = 1;
};

// Every setting once in random order, then every setting again in another, …: so that a machine
// that drifts favours none. More repeats go on from the same order.
std::vector<PlannedRun> run_order(const Plan& plan);

// "16cta_256threads", or "16cta_256threads/repeat2" where settings are repeated.
std::filesystem::path run_folder(const Plan& plan, const PlannedRun& run);

// The same for people: "16cta_256threads, repeat 2".
std::string run_title(const Plan& plan, const PlannedRun& run);

std::string plan_json(const Plan& plan);
core::Result<Plan> parse_plan(const std::string& text);

// "" when `asked` goes on with what `stored` began (more repeats are that, too), else what
// differs, in words. Seed and id are the stored ones and not compared.
std::string plan_difference(const Plan& stored, const Plan& asked);

// A new plan's id and, where none is asked for, seed.
std::uint64_t random_number();

}  // namespace assay::sweep
