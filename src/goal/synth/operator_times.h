// What the making of jobs asks of whoever knows how long operators take: `assay goal synth` answers
// from performance tables.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "model/serving/uses.h"

namespace assay::goal {

// What serving::Amount counts, of one launch.
struct LaunchAmounts {
  double tokens = 0;
  double requests = 0;
  double new_tokens = 0;
  double cached_tokens = 0;
  double expert_tokens = 0;
};

struct LaunchTime {
  double ns = 0;
  double flops = 0;         // 0: none, or unknown
  std::string source;       // "assay h200_sxm"
  bool has_key = true;      // rows have its columns; otherwise it lies between others' rows
  bool is_beyond = false;   // past the measured sizes
  bool is_formula = false;  // bytes over bandwidth
  // Operations per second that bound the time, where rows promise a faster one than a GPU keeps up;
  // 0: none did.
  double sustained_flops = 0;
};

class OperatorTimes {
 public:
  OperatorTimes() = default;
  OperatorTimes(const OperatorTimes&) = delete;
  OperatorTimes& operator=(const OperatorTimes&) = delete;
  virtual ~OperatorTimes() = default;

  // One launch; the use's count does not matter. Error: nothing tells; it names the use.
  virtual core::Result<LaunchTime> time(const serving::OperatorUse& use,
                                        const LaunchAmounts& amounts) = 0;
};

}  // namespace assay::goal
