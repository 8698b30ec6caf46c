// Predictions beside measured deployments.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/calibrate/calibration.h"
#include "plan/calibrate/calibration_file.h"
#include "plan/price/staged_cost.h"
#include "plan/price/tables.h"
#include "plan/search/search.h"
#include "plan/serve.h"
#include "plan/step.h"
#include "plan/uncertainty/error_bars.h"
#include "plan/validate/measured.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

struct Prediction {
  const MeasuredDeployment* measured = nullptr;
  double ttft_ms = 0;
  double tpot_ms = 0;
  std::string refused = {};   // why there is none
  bool lacks_fields = false;  // nobody can price the row: it does not tell what was deployed
  bool calibrates = false;    // it told the calibration, and cannot judge it
  Calibration calibration = {};
  LoadParts parts = {};
  OwnSigmas sigmas = {};
  LatencyBars bars = {};

  // Output tokens per second of requests in flight, over the same measured: of both latencies.
  [[nodiscard]] double rate_error() const;

  [[nodiscard]] ErrorBar rate_bar() const {
    return plan::rate_bar(bars, ttft_ms, tpot_ms, measured->output_tokens);
  }

  [[nodiscard]] double ttft_error() const { return ttft_ms / measured->ttft_ms - 1; }

  [[nodiscard]] double tpot_error() const { return tpot_ms / measured->tpot_ms - 1; }
};

// The clients that are assumed, where a table does not tell: those of public serving benchmarks,
// which keep a number of requests in flight and send ten times as many in all.
struct AssumedClients {
  Scheduler scheduler = Scheduler::kSimulation;
  std::int64_t requests_each = 10;        // for each request in flight
  double client_ms = kBenchmarkClientMs;  // where no calibration counts
  double least_length = 0;                // lengths are uniform from this share on; 0: as rows tell
  // Rows by which each slice (engine, version, model, system) is calibrated: of one number of GPUs
  // and one pair of lengths, those with the most rows. 0: none.
  std::size_t calibrated_by = 0;
  std::vector<CalibrationEntry> calibrations = {};  // for rows that they match
};

// What predictions need of the world outside.
struct ValidationInputs {
  // What a system has. Error: it is not known.
  std::function<core::Result<const store::SystemFacts*>(const std::string& system)> facts;
  // A model by its path in the table. Error: it is not known.
  std::function<core::Result<const serving::Model*>(const std::string& path)> model;
  // The tables of a system and a version of an engine. Error: the system is not known.
  std::function<core::Result<Tables*>(
      const std::string& system, Engine engine, const std::string& version)>
      tables;
};

std::vector<Prediction> predict(const std::vector<MeasuredDeployment>& measured,
                                const ValidationInputs& inputs,
                                const AssumedClients& clients);

struct FoundCalibrations {
  std::vector<CalibrationEntry> entries = {};
  std::map<std::string, std::int64_t> left_out = {};  // rows, by why they tell nothing
};

// A calibration of each engine, version, model and system, by all of its rows that have a
// prediction. Error: no row has one; it says why.
core::Result<FoundCalibrations> calibrate(const std::vector<MeasuredDeployment>& measured,
                                          const ValidationInputs& inputs,
                                          const AssumedClients& clients);

// "vllm 0.12.0 Qwen/Qwen3-32B h100_sxm": rows that one calibration serves.
std::string slice_of(const MeasuredDeployment& measured);

// How the engine keeps the model's weights and cache: as the checkpoint is quantized, else as the
// row names it. Error: the name is not known.
core::Result<serving::Precision> precision_of(const serving::Model& model,
                                              const MeasuredDeployment& measured);

}  // namespace assay::plan
