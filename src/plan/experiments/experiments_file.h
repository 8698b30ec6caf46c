// A file of experiments: several searches, with what each asks.
//
//   qwen_h200:                   a name for each
//     model: qwen3-32b           or model_path
//     gpus: 8                    or total_gpus
//     backend: vllm              or backend_name
//
// The fields are those of 'assay plan search'; those that the public planner's files spell in their
// own way have that name, too.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "plan/engine.h"
#include "plan/search/search.h"
#include "plan/speculation.h"

namespace assay::plan {

struct Experiment {
  std::string name;
  std::string model;  // a config.json, or a name that ships
  std::string system = "h200_sxm";
  std::vector<Engine> engines = {Engine::kTrtllm};  // in one ranking
  std::string version = {};                         // of the engine; "": the newest
  std::int64_t gpus = 8;
  std::int64_t prompt_tokens = 4000;
  std::int64_t output_tokens = 1000;
  std::int64_t cached_prefix = 0;
  double least_length = 0.8;
  double ttft_limit_ms = 5000;
  double tpot_limit_ms = 60;
  // Of whole requests; without a limit of their own, TTFT and TPOT then have none.
  double request_limit_ms = std::numeric_limits<double>::infinity();
  double confidence = kUsualConfidence;
  Scheduler scheduler = Scheduler::kSimulation;
  ServingMode mode = ServingMode::kBoth;
  // Each of these limits of a step's tokens is tried with every aggregated worker; none: the
  // engine's own.
  std::vector<std::int64_t> step_tokens = {};
  std::string decode_system = {};  // "": as `system`
  Speculation speculation = {};
};

// In the order of the file, or of its list 'exps' where it has one. Error: the line, and what is
// wrong there: no YAML, a field that no experiment has or that is there twice, a value that the
// field does not take, no model, a version of several engines.
core::Result<std::vector<Experiment>> parse_experiments(std::string_view yaml,
                                                        const std::string& name);

}  // namespace assay::plan
