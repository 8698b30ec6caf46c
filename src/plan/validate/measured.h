// Deployments that somebody measured, read from a table with one row for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "plan/engine.h"
#include "plan/speculation.h"

namespace assay::plan {

// How the GPUs of one worker share the model.
struct MeasuredWidths {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;  // groups with requests of their own
  std::int64_t moe_tp = 1;
  std::int64_t moe_ep = 1;

  [[nodiscard]] std::int64_t gpus() const { return tp * pp * dp; }
};

// Equal instances that compute prompts, or that decode.
struct MeasuredPool {
  MeasuredWidths widths = {};
  std::int64_t workers = 0;  // 0: the row does not tell
  std::int64_t batch = 0;    // requests at once, of a group; 0: the row does not tell
  std::string system = {};   // "": that of the deployment
};

struct MeasuredDeployment {
  std::string id;        // where the table has none, what the row tells
  std::int64_t row = 0;  // of the table; the first is 1
  std::string engine;    // as the row has it
  std::string version;
  std::string model;   // "Qwen/Qwen3-32B"
  std::string system;  // "h100_sxm"
  bool is_disaggregated = false;
  bool keeps_windows = false;  // by the settings of `plan files`, where the engine needs some
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t concurrency = 0;  // of all GPUs; 0: the row does not tell
  std::string linear;            // the quantization that the row names; "" for the checkpoint's
  std::string experts;
  std::string cache = {};  // its type, of the files of a plan; "" for the engine's own
  MeasuredWidths widths = {};
  MeasuredPool prefill = {};  // of disaggregated deployments
  MeasuredPool decode = {};
  // Lengths were uniform between this share of the nominal ones and them.
  double least_length = 1;
  std::int64_t prefix_tokens = 0;  // that all prompts begin with
  std::int64_t step_tokens = 0;    // most of a step; 0: the engine's own
  // That the row tells, or its recipe; without rates where nobody tells them.
  Speculation speculation = {};
  // A step held one prompt beside the batch (serve.h); else as many tokens as the engine's default.
  bool has_one_prompt_a_step = false;
  double ttft_ms = 0;
  double tpot_ms = 0;
  // An earlier row has this measurement, too: the same deployment, load and results.
  bool is_copy = false;

  [[nodiscard]] std::int64_t gpus() const {
    if (!is_disaggregated) return widths.gpus();
    return prefill.workers * prefill.widths.gpus() + decode.workers * decode.widths.gpus();
  }
};

// Which field a prediction needs that the row does not have, or that it is a copy of another row;
// "" if it has all.
std::string missing_field(const MeasuredDeployment& measured);

// The columns are those of the public planner's table of measured deployments; empty fields take
// their defaults. `warnings` counts rows whose widths of experts do not fit their GPUs: the groups
// with experts of their own are believed. Error: a column is missing.
core::Result<std::vector<MeasuredDeployment>> parse_measured(std::string_view csv,
                                                             const std::string& name,
                                                             model::Warnings& warnings);

}  // namespace assay::plan
