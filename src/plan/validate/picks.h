// Whether the deployments that predictions pick keep their limit on TPOT on silicon.
//
// Measured deployments of one engine, version, model, system, quantization and pair of lengths are
// a group, as a search has candidates. For a limit, the pick is the one of those expected to keep
// it that has the most predicted tokens per second and GPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/validate/validate.h"

namespace assay::plan {

struct PickRule {
  // Candidates keep the limit with this chance, as their error bars have it; none: where the
  // prediction itself keeps it.
  std::optional<double> confidence = std::nullopt;
  // Limits on TPOT in ms; none: each measured TPOT of the group, the most exacting limits.
  std::vector<double> tpot_limits_ms = {};
};

// A decision is one limit of one group. Those where nothing keeps the limit, measured or
// predicted, are none.
struct PickCounts {
  std::int64_t decisions = 0;
  std::int64_t broken = 0;              // the pick takes more than 1.05 times its limit on silicon
  std::int64_t missed = 0;              // nothing was expected to keep it, though something does
  std::vector<double> overshoots = {};  // of broken limits: measured over the limit, less 1
  // Of the others: the share of the best measured throughput that keeps the limit which the pick
  // does not reach.
  std::vector<double> lost = {};

  void add(const PickCounts& other);
};

// The limits of the published study that this compares with.
const std::vector<double>& usual_tpot_limits();

// Groups of at least four judged predictions count; by slice (slice_of).
std::map<std::string, PickCounts> judge_picks(std::span<const Prediction> predictions,
                                              const PickRule& rule);

PickCounts sum_of(const std::map<std::string, PickCounts>& slices);

}  // namespace assay::plan
