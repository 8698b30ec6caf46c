#include "collect/cuda/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/gpu.h"

namespace assay::collect {
namespace {

// Stands for NaN, too, and can be written as JSON.
constexpr double kHopeless = 1e9;

double units(const Sample& sample) {
  const double difference = std::fabs(sample.value - sample.expected);
  if (difference == 0) return 0;
  if (!(difference <= sample.bound * kHopeless)) return kHopeless;
  return difference / sample.bound;
}

}  // namespace

core::Result<Accuracy> accuracy_of_samples(Gpu& gpu,
                                           std::int64_t count,
                                           std::int64_t columns,
                                           const std::string& output) {
  ASSAY_TRY(launch_status("computing the reference"));
  std::vector<Sample> samples(static_cast<std::size_t>(count));
  ASSAY_TRY(
      cuda_status(cudaMemcpyAsync(samples.data(), gpu.samples(), samples.size() * sizeof(Sample),
                                  cudaMemcpyDeviceToHost, gpu.stream()),
                  "reading the reference"));
  ASSAY_TRY(gpu.wait());
  Accuracy accuracy;
  accuracy.compared = count;
  for (const Sample& sample : samples) {
    if (!accuracy.where.empty() && units(sample) <= accuracy.worst) continue;
    accuracy.worst = units(sample);
    accuracy.where = fmt::format("{}[{}, {}] is {}, should be {}", output, sample.at / columns,
                                 sample.at % columns, sample.value, sample.expected);
  }
  return accuracy;
}

Accuracy worse(const Accuracy& a, const Accuracy& b) {
  Accuracy both = a.worst >= b.worst ? a : b;
  both.compared = a.compared + b.compared;
  return both;
}

}  // namespace assay::collect
