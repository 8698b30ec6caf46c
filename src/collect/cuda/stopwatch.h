// Times a work on one GPU with events.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "collect/cuda/work.h"
#include "core/result.h"

namespace assay::collect {

// Events that are destroyed with it.
class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();

  core::Status create(std::int64_t count);
  core::Status record(std::int64_t index, cudaStream_t stream, unsigned flags);
  // Milliseconds; the events have happened.
  core::Result<double> between(std::int64_t begin, std::int64_t end);

 private:
  std::vector<cudaEvent_t> events_;
};

// A graph of some samples with events between them, launched until there are enough: no launch by
// the host falls into a sample.
class GraphStopwatch : public Stopwatch {
 public:
  // Error: the work cannot be captured.
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

// Launches by the host, one by one.
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
