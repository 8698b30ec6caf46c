// A kernel with its buffers on a GPU, from which the families of kernels derive, and how it is
// timed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "collect/cuda/buffers.h"
#include "collect/cuda/gpu.h"
#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

class CudaWork : public Work {
 public:
  CudaWork(Gpu& gpu, model::L2State l2) : gpu_(gpu), l2_(l2) {}

  [[nodiscard]] std::vector<OtherKernel> others() const final { return others_; }

  void set_others(std::vector<OtherKernel> others) { others_ = std::move(others); }

  // Launches with the next copy of the buffers.
  core::Status launch() final;

  core::Result<Accuracy> check() final;

  // The two halves of a check, with which the self-test checks graphs: spoil() makes all outputs
  // NaN or the like, compare() compares those of the first copy.
  virtual core::Status spoil() = 0;
  virtual core::Result<Accuracy> compare() = 0;

  // Launches with this copy of the buffers, of which there are copies().
  core::Status launch_with(std::int64_t copy) {
    was_launched_ = true;
    return launch_copy(copy);
  }

  // The next launch uses the first copy.
  void rewind() { next_copy_ = 0; }

  [[nodiscard]] bool was_launched() const { return was_launched_; }

  [[nodiscard]] Gpu& gpu() const { return gpu_; }

  // Returns the number of copies of the buffers, which launches use in turn.
  [[nodiscard]] virtual std::int64_t copies() const = 0;

  // Whether a graph must begin with a cache that has none of the copies. One copy is as large as
  // several caches, or nothing of the work is to be cold.
  [[nodiscard]] bool needs_flush() const {
    return l2_ == model::L2State::kCold || (l2_ == model::L2State::kEngine && copies() > 1);
  }

  // Makes the L2 cache what the first launch after rewind() is to find: nothing, or with kEngine
  // the activations, which a launch of the last copy leaves there.
  core::Status prepare_l2();

  // The work must outlive the stopwatch.
  virtual core::Result<std::unique_ptr<Stopwatch>> stopwatch(const StopwatchRequest& request);

 protected:
  // Enqueues the kernel on the GPU's stream.
  virtual core::Status launch_copy(std::int64_t copy) = 0;

 private:
  Gpu& gpu_;
  model::L2State l2_;
  std::int64_t next_copy_ = 0;
  bool was_launched_ = false;
  std::vector<OtherKernel> others_;
};

// Events of CUDA, which the destructor destroys.
class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();

  core::Status create(std::int64_t count);
  core::Status record(std::int64_t index, cudaStream_t stream, unsigned flags);
  // Returns the milliseconds between two events that have happened.
  core::Result<double> between(std::int64_t begin, std::int64_t end);

 private:
  std::vector<cudaEvent_t> events_;
};

// Launches a graph of some samples with events between them until there are enough, so that the
// host launches nothing within a sample.
class GraphStopwatch : public Stopwatch {
 public:
  // Fails if the work cannot be captured.
  static core::Result<std::unique_ptr<Stopwatch>> create(CudaWork& work,
                                                         const StopwatchRequest& request);
  ~GraphStopwatch() override;

  core::Result<std::vector<double>> sample(std::int64_t count) override;

 private:
  GraphStopwatch(CudaWork& work, std::int64_t launches) : work_(work), launches_(launches) {}

  core::Status build(std::int64_t samples);
  core::Status replay();

  CudaWork& work_;
  std::int64_t launches_;
  std::int64_t samples_in_graph_ = 0;
  cudaGraphExec_t graph_ = nullptr;
  std::unique_ptr<Events> events_;
};

// Launches the samples one by one from the host.
class EagerStopwatch : public Stopwatch {
 public:
  static core::Result<std::unique_ptr<Stopwatch>> create(CudaWork& work,
                                                         const StopwatchRequest& request);

  core::Result<std::vector<double>> sample(std::int64_t count) override;

 private:
  EagerStopwatch(CudaWork& work, std::int64_t launches) : work_(work), launches_(launches) {}

  CudaWork& work_;
  std::int64_t launches_;
  Events events_;
};

}  // namespace assay::collect
