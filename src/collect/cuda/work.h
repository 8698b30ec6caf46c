// A kernel with its buffers on a GPU: what the families of kernels derive from.
#pragma once

#include <memory>

#include "collect/cuda/buffers.h"
#include "collect/cuda/gpu.h"
#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

class CudaWork : public Work {
 public:
  CudaWork(Gpu& gpu, model::L2State l2) : gpu_(gpu), l2_(l2) {}

  // The next copy's turn.
  core::Status launch() final;

  core::Result<Accuracy> check() final;

  // The two halves of a check, for looking at what a graph did: all outputs become NaN or the like;
  // those of the first copy are compared.
  virtual core::Status spoil() = 0;
  virtual core::Result<Accuracy> compare() = 0;

  // The next launch uses the first copy.
  void rewind() { next_copy_ = 0; }

  [[nodiscard]] bool was_launched() const { return was_launched_; }

  [[nodiscard]] Gpu& gpu() const { return gpu_; }

  // Of its buffers, used in turn.
  [[nodiscard]] virtual std::int64_t copies() const = 0;

  [[nodiscard]] bool is_cold() const { return l2_ == model::L2State::kCold; }

  // Of several GPUs: its own. The work outlives the watch.
  virtual core::Result<std::unique_ptr<Stopwatch>> stopwatch(const StopwatchRequest& request);

 protected:
  // Enqueues it on the GPU's stream.
  virtual core::Status launch_copy(std::int64_t copy) = 0;

 private:
  Gpu& gpu_;
  model::L2State l2_;
  std::int64_t next_copy_ = 0;
  bool was_launched_ = false;
};

}  // namespace assay::collect
