// Times a work: warm-ups first, then samples until the median is certain. Nothing here depends on a
// kind of device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "collect/kernels/device.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

struct MeasureOptions {
  double certainty = 0.01;  // half the width of the median's interval, as a part of the median
  std::int64_t min_samples = 7;
  std::int64_t max_samples = 400;
  double min_time_ms = 2;    // for all samples together
  double max_time_ms = 200;  // ends adaptive sampling once there are min_samples
  // Short launches are joined into samples of this length, because the events around a sample take
  // 5 to 9 us of it (H200, graphs).
  double sample_ms = 1;
  std::int64_t num_warmups = 3;
  // Fixed numbers instead of adaptive ones, as the public helper takes them; 0 means adaptive.
  std::int64_t num_runs = 0;
  std::int64_t repeat_n = 0;  // launches in a sample; 0: as many as sample_ms takes
  model::Launch launch = model::Launch::kGraph;
  bool allow_eager = true;  // launch eagerly what cannot be captured
  model::L2State l2 = model::L2State::kEngine;
};

struct Measured {
  model::Timing timing;
  double kernels_ms = 0;  // the time of all launches: warm-ups, trials and samples
};

core::Result<Measured> measure(Device& device, Work& work, const MeasureOptions& options);

// Times works that are done when their launch returns, by the clock of the processor.
std::unique_ptr<Stopwatch> make_clock_stopwatch(Work& work, std::int64_t launches_per_sample);

}  // namespace assay::collect
