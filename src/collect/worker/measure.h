// How a work is timed: warm-ups, then samples until the median is certain. Knows no device.
#pragma once

#include <cstdint>
#include <functional>

#include "collect/kernels/device.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

struct MeasureOptions {
  double certainty = 0.01;  // half width of the median's 95 % interval, as a part of it
  std::int64_t min_samples = 7;
  std::int64_t max_samples = 400;
  double min_time_ms = 2;    // of all samples together
  double max_time_ms = 200;  // adaptive sampling ends there, at min_samples at the earliest
  // Shorter launches are put together into samples of this length: the events around a sample take
  // 5 to 9 us of it (H200, graphs).
  double sample_ms = 1;
  std::int64_t num_warmups = 3;
  // Fixed numbers instead of adaptive ones, as the public helper takes them; 0: adaptive.
  std::int64_t num_runs = 0;
  std::int64_t repeat_n = 0;  // launches in a sample; 0: as sample_ms asks
  model::Launch launch = model::Launch::kGraph;
  bool allow_eager = true;  // when it cannot be captured
  model::L2State l2 = model::L2State::kHot;
};

struct Measured {
  model::Timing timing;
  double kernels_ms = 0;  // of all launches: warm-ups, trials, samples
};

core::Result<Measured> measure(Device& device, Work& work, const MeasureOptions& options);

}  // namespace assay::collect
