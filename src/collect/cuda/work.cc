#include "collect/cuda/work.h"

#include "collect/cuda/stopwatch.h"

namespace assay::collect {

core::Status CudaWork::launch() {
  was_launched_ = true;
  const std::int64_t copy = next_copy_;
  next_copy_ = (next_copy_ + 1) % copies();
  return launch_copy(copy);
}

core::Result<Accuracy> CudaWork::check() {
  ASSAY_TRY(spoil());
  rewind();
  ASSAY_TRY(launch());
  ASSAY_TRY(gpu_.wait());
  return compare();
}

core::Result<std::unique_ptr<Stopwatch>> CudaWork::stopwatch(const StopwatchRequest& request) {
  if (request.launch == model::Launch::kEager) return EagerStopwatch::create(*this, request);
  return GraphStopwatch::create(*this, request);
}

}  // namespace assay::collect
