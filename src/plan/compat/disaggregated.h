// Prompts on some workers and decoding on others, in the public planner's closed form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/compat/aggregated.h"

namespace assay::plan::compat {

// A worker of one phase. Figures are rounded to three places, as the public planner keeps them.
struct PhaseWorker {
  Worker worker = {};
  std::int64_t batch = 1;  // of a group
  double ttft_ms = 0;      // of prompts
  double tpot_ms = 0;      // of decoding
  double requests_per_s = 0;
  double requests_per_s_per_gpu = 0;
  double tokens_per_s_per_user = 0;
  double memory_gib = 0;
};

// Workers that fit, by worker and batch: one prompt at a time, or up to 512 requests that decode.
std::vector<PhaseWorker> prompt_workers(const serving::Model& model,
                                        const Worker& worker,
                                        const Operators& operators,
                                        const SystemFacts& facts,
                                        const Setting& setting);
std::vector<PhaseWorker> decode_workers(const serving::Model& model,
                                        const Worker& worker,
                                        const Operators& operators,
                                        const SystemFacts& facts,
                                        const Setting& setting);

// A unit of workers that is copied as a whole.
struct DisaggregatedPoint {
  PhaseWorker prompts;
  PhaseWorker decodes;
  std::int64_t prompt_workers = 1;
  std::int64_t decode_workers = 1;
  double ttft_ms = 0;
  double requests_per_s = 0;

  [[nodiscard]] std::int64_t gpus() const {
    return prompts.worker.gpus() * prompt_workers + decodes.worker.gpus() * decode_workers;
  }

  [[nodiscard]] std::int64_t concurrency() const {
    return decodes.batch * decodes.worker.dp * decode_workers;
  }
};

// For each limit on TPOT that the public planner tries, the best units of each kind of worker that
// decodes, with a TTFT below the limit and at most `most_gpus`.
std::vector<DisaggregatedPoint> disaggregated_points(const std::vector<PhaseWorker>& prompts,
                                                     const std::vector<PhaseWorker>& decodes,
                                                     const Setting& setting,
                                                     double ttft_limit_ms,
                                                     std::int64_t most_gpus);

// The limits on TPOT that are tried, in ms.
std::vector<double> tried_tpots();

// To three places.
double rounded(double value);

// As the public planner names a worker: "tp4pp1dp1etp1ep4".
std::string parallel_name(const Worker& worker);

}  // namespace assay::plan::compat
