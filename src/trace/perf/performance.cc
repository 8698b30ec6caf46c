#include "trace/perf/performance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"
#include "trace/architectures.h"

namespace assay::trace {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::optional<GpuArchitecture> architecture_of(const RankAnalysis& rank) {
  if (rank.options.architecture) return rank.options.architecture;
  if (rank.options.compat == Compat::kTraceLens) return std::nullopt;
  return bundled_architecture(rank.trace->gpu_name);
}

std::optional<Roofline> roofline(const Work& work,
                                 const std::string& compute_spec,
                                 const GpuArchitecture& architecture) {
  const auto peak = architecture.peak_tflops.find(compute_spec);
  if (peak == architecture.peak_tflops.end() || !work.bytes || work.flops <= 0) return std::nullopt;
  const double compute_us = work.flops / (peak->second * 1e12) * 1e6;
  const double memory_us = *work.bytes / (architecture.memory_gbps * 1e9) * 1e6;
  return Roofline{std::max(compute_us, memory_us),
                  compute_us >= memory_us ? "COMPUTE_BOUND" : "MEMORY_BOUND"};
}

Spread spread_of(const std::vector<double>& values) {
  std::vector<double> numbers;
  std::copy_if(values.begin(), values.end(), std::back_inserter(numbers),
               [](double value) { return !std::isnan(value); });
  return {core::mean(numbers), core::median(numbers), core::sample_deviation(numbers),
          core::minimum(numbers), core::maximum(numbers)};
}

void Achieved::add(double call_us,
                   const Work* call_work,
                   const std::string& spec,
                   const std::optional<GpuArchitecture>& architecture) {
  const double seconds = call_us * 1e-6;
  const bool rated = call_work != nullptr && call_us > 0;
  kernel_us.push_back(call_us);
  teraflops_per_s.push_back(rated ? call_work->flops / 1e12 / seconds : kNaN);
  terabytes_per_s.push_back(rated && call_work->bytes ? *call_work->bytes / 1e12 / seconds : kNaN);
  const auto bound = call_work != nullptr && architecture
                         ? trace::roofline(*call_work, spec, *architecture)
                         : std::nullopt;
  percent_of_roofline.push_back(rated && bound ? 100 * bound->time_us / call_us : kNaN);
  if (call_work == nullptr || work) return;
  work = *call_work;
  compute_spec = spec;
  roofline = bound;
}

model::Cell gflops_cell(const Achieved& achieved) {
  return achieved.work ? model::Cell{achieved.work->flops / 1e9} : model::Cell{};
}

model::Cell megabytes_cell(const Achieved& achieved) {
  const bool known = achieved.work && achieved.work->bytes;
  return known ? model::Cell{*achieved.work->bytes / 1048576} : model::Cell{};
}

model::Cell intensity_cell(const Achieved& achieved) {
  const bool known = achieved.work && achieved.work->bytes && *achieved.work->bytes > 0;
  return known ? model::Cell{achieved.work->flops / *achieved.work->bytes} : model::Cell{};
}

}  // namespace assay::trace
